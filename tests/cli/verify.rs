//! `samebill evidence` and `samebill verify`, as a user runs them.

use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use serde_json::json;
use zip::write::SimpleFileOptions;

use super::support::{fixture, run};

/// Every zip of an earlier release.
#[test]
fn evidence_of_every_release_verifies_for_ever() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/evidence");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let zips: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "zip")).collect();
    assert!(zips.iter().any(|path| path.ends_with("first-release.zip")));
    for path in zips {
        let told = run(Path::new("."), &format!("verify {} --format json", path.display())).done().json();
        assert_eq!(told["verified"], true, "{}: {told}", path.display());
    }
}

/// The zip with one entry changed.
fn changed(zip: &[u8], name: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        let entry = entry.name().unwrap().into_owned();
        let text = if entry == name { change(text) } else { text };
        writer.start_file(entry, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_verification_is_told_in_every_form() {
    let file = fixture("evidence/first-release.zip");
    let folder = tempfile::tempdir().unwrap();
    let table = run(folder.path(), &format!("verify {file}")).done().stdout;
    assert!(table.contains("customer c-1, 2026-05-03/2026-07-04, free, net@1, spot:1, supply"), "{table}");
    assert!(
        table.contains("superseded 20") && table.ends_with("verified: the same inputs give the same bytes\n"),
        "{table}"
    );
    let told = run(folder.path(), &format!("verify {file} --format json")).done().json();
    let checks: Vec<_> = told["checks"].as_array().unwrap().iter().map(|check| check["check"].clone()).collect();
    assert_eq!(json!(checks), json!(["entries", "question", "inputs", "result"]));
    assert_eq!((&told["evidence"]["customer_id"], &told["differences"]), (&json!("c-1"), &json!([])));
    let csv = run(folder.path(), &format!("verify {file} --format csv")).done().stdout;
    assert!(csv.starts_with("check,passed,entry,detail,") && csv.lines().count() == 5, "{csv}");

    let zip = std::fs::read(file).unwrap();
    let path = folder.path().join("changed.zip");
    std::fs::write(&path, changed(&zip, "plans/net@1.json", |text| text.replace("\"0.05\"", "\"0.04\""))).unwrap();
    let refused = run(folder.path(), "verify changed.zip");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for part in ["FAILS", "plans/net@1.json", "net@1", "2026-05-03", "rate", "0.04", "0.05", "NOT VERIFIED"] {
        assert!(refused.stdout.contains(part), "{part}: {}", refused.stdout);
    }
    assert_eq!(refused.stderr, "samebill: not_verified: changed.zip: entries, inputs, result not as they should be\n");
    let refused = run(folder.path(), "verify changed.zip --format json");
    assert_eq!(
        (refused.code, &refused.json()["code"], &refused.json()["verified"]),
        (1, &json!("not_verified"), &json!(false))
    );
    assert_eq!(refused.json()["checks"][0]["entry"], "plans/net@1.json");
    let csv = run(folder.path(), "verify changed.zip --format csv");
    assert!(csv.code == 1 && csv.stdout.contains("result,false,result.json,/plans/1/"), "{}", csv.stdout);
}

#[test]
fn an_engine_of_another_version_is_named() {
    let zip = std::fs::read(fixture("evidence/first-release.zip")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let of_engine_9 = |text: String| text.replace("\"engine\": 1", "\"engine\": 9");
    let zip = changed(&changed(&zip, "manifest.json", of_engine_9), "inputs.json", of_engine_9);
    std::fs::write(folder.path().join("nine.zip"), &zip).unwrap();
    let told = run(folder.path(), "verify nine.zip --format json").json();
    assert_eq!((&told["this_engine"], &told["evidence"]["engine"]), (&json!(1), &json!(9)));
    let result = told["checks"].as_array().unwrap().iter().find(|check| check["check"] == "result").unwrap();
    let detail = result["detail"].as_str().unwrap();
    assert!(
        result["passed"] == true && detail.contains("engine 1 of this program; the answer is of engine 9"),
        "{detail}"
    );
    let other = changed(&zip, "result.json", |text| text.replacen("\"tax\":\"", "\"tax\":\"1", 1));
    std::fs::write(folder.path().join("other.zip"), other).unwrap();
    let told = run(folder.path(), "verify other.zip").stdout;
    assert!(told.contains("a program with that engine has to verify it"), "{told}");
}

#[test]
fn what_is_no_evidence_is_refused_with_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let zip = std::fs::read(fixture("evidence/first-release.zip")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("cut.zip", &zip[..zip.len() / 2]);
    write("foreign.zip", &changed(&zip, "manifest.json", |_| "{}".to_owned()));
    write(
        "newer.zip",
        &changed(&zip, "manifest.json", |text| text.replace("\"format_version\": 1", "\"format_version\": 3")),
    );
    write("rows.zip", &changed(&zip, "readings.csv", |text| text.replacen(",measured", "", 1)));
    // Zeros without an end, and a document of them: read within bounds.
    write("row.zip", &changed(&zip, "readings.csv", |text| text + &"0".repeat(30_000_000)));
    write("bomb.zip", &changed(&zip, "inputs.json", |_| " ".repeat(40_000_000)));
    write("text.csv", b"start,kwh\n");
    for (file, code, part) in [
        ("gone.zip", "unreadable_file", "gone.zip"),
        (".", "unreadable_file", "directory"),
        ("text.csv", "no_evidence", "no zip archive"),
        ("cut.zip", "no_evidence", "no zip archive"),
        ("foreign.zip", "no_evidence", "no evidence of samebill"),
        ("newer.zip", "newer_evidence", "reads up to version 2"),
        ("rows.zip", "evidence_unreadable", "readings.csv: line "),
        ("row.zip", "evidence_unreadable", "a row that is too long"),
        ("bomb.zip", "evidence_too_large", "inputs.json has more than"),
    ] {
        let refused = run(folder.path(), &format!("verify {file} --format json"));
        assert_eq!((refused.code, refused.json()["code"].as_str()), (1, Some(code)), "{file}: {}", refused.stdout);
        assert!(refused.stderr.contains(part), "{file}: {}", refused.stderr);
    }
}

#[test]
fn evidence_is_written_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let here = |arguments: &str| run(folder.path(), arguments);
    std::fs::write(folder.path().join("c.json"), r#"{"time_zone": "UTC"}"#).unwrap();
    here("import customer c.json --id c-1 --database-url sqlite://e.db").done();
    here(&format!("import plan {} --id a --database-url sqlite://e.db", fixture("plans/jackson-emc-a.json"))).done();
    let usage = fixture("usage/il-home-60min-2017-dst.csv");
    here(&format!("import usage {usage} --customer c-1 --database-url sqlite://e.db")).done();
    let ask = "compare --customer c-1 --period 2017-07 --plan a --format json --database-url sqlite://e.db";
    let answer = here(ask).done();
    let id = answer.json()["id"].as_str().unwrap().to_owned();

    let told = here(&format!("evidence {id} --format json --database-url sqlite://e.db")).done().json();
    let name = format!("samebill-evidence-{id}.zip");
    let zip = std::fs::read(folder.path().join(&name)).unwrap();
    assert_eq!((&told["file"], &told["bytes"]), (&json!(name), &json!(zip.len())));
    assert_eq!(here(&format!("verify {name} --format json")).done().json()["verified"], true);
    let said = here(&format!("evidence {id} --output again.zip --database-url sqlite://e.db")).done().stdout;
    assert!(said.contains("samebill verify again.zip"), "{said}");
    assert_eq!(std::fs::read(folder.path().join("again.zip")).unwrap(), zip, "the same bytes");
    let piped = super::support::samebill(folder.path())
        .args(["evidence", &id, "--output", "-", "--database-url", "sqlite://e.db"])
        .output()
        .unwrap();
    assert_eq!(piped.stdout, zip);
    let refused = here("evidence 0198c0de-0000-7000-8000-000000000001 --database-url sqlite://e.db");
    assert!(refused.code == 1 && refused.stderr.contains("comparison_not_found"), "{}", refused.stderr);
    assert!(here(&format!("evidence {id} --output no/such.zip --database-url sqlite://e.db")).code == 1);
}
