use std::process::Stdio;

use serde_json::Value;

use super::support::{PostgresDatabase, run, samebill};

#[test]
fn of_six_started_at_once_one_applies_and_none_fails() {
    let Some(database) = PostgresDatabase::create() else { return };
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..6)
        .map(|_| {
            samebill(folder.path())
                .args(["migrate", "--format", "json", "--database-url", &database.url()])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let applied: Vec<usize> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            report["applied"].as_array().unwrap().len()
        })
        .collect();
    assert_eq!(applied.iter().filter(|n| **n > 0).count(), 1, "{applied:?}");
    let again = run(folder.path(), &format!("migrate --database-url {}", database.url())).done();
    assert!(again.stdout.contains("already"), "{}", again.stdout);
}

#[test]
fn a_file_is_migrated_too_and_a_database_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = run(folder.path(), "migrate --database-url sqlite://new.db --format json").done().json();
    assert!(!first["applied"].as_array().unwrap().is_empty());
    let second = run(folder.path(), "migrate --database-url sqlite://new.db --format json").done().json();
    assert_eq!(second["applied"].as_array().unwrap().len(), 0);
    for url in ["mysql://x", "sqlite:///no/such/folder/x.db", "postgres://nobody@127.0.0.1:1/none"] {
        let refused = run(folder.path(), &format!("migrate --database-url {url} --format json"));
        assert_eq!(refused.code, 1, "{url}: {}", refused.stderr);
        assert!(refused.json()["code"].is_string(), "{url}");
    }
}

#[test]
fn a_new_database_is_partitioned_where_that_is_asked_for() {
    let (Some(parted), Some(plain)) = (PostgresDatabase::create(), PostgresDatabase::create()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let migrate =
        |more: &str, url: &str| run(folder.path(), &format!("migrate {more} --database-url {url} --format json"));
    assert!(!migrate("--partitioned", &parted.url()).done().json()["applied"].as_array().unwrap().is_empty());
    assert_eq!(migrate("", &parted.url()).done().json()["applied"], serde_json::json!([]));
    std::fs::write(folder.path().join("s.toml"), "database_partitioned = true\n").unwrap();
    assert_eq!(migrate("--config s.toml", &parted.url()).done().json()["applied"], serde_json::json!([]));
    migrate("", &plain.url()).done();
    let refused = migrate("--config s.toml", &plain.url());
    assert!(refused.code == 1 && refused.stderr.contains("not partitioned"), "{}", refused.stderr);
    // The same answers.
    run(folder.path(), &format!("import customer --id c-1 --time-zone UTC --database-url {}", parted.url())).done();
}
