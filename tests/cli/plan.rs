//! Plan documents themselves.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use super::support::{PostgresDatabase, fixture, run, samebill};

#[test]
fn the_schema_of_plan_documents_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::read_to_string(fixture("schemas/plan.schema.json")).unwrap();
    assert_eq!(run(folder.path(), "plan schema").done().stdout, file);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
}

#[test]
fn a_plan_is_explained_in_words_without_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let explain = |arguments: &str| run(folder.path(), &format!("plan explain {arguments}"));
    let plan = fixture("plans/worked/es-enygas-20td.json");
    let text = explain(&plan).done().stdout;
    assert!(text.starts_with("Enygas 2.0TD, three periods\n"), "{text}");
    assert!(text.contains("- peak (weekdays 10:00-14:00 and 18:00-22:00): 0.2404 EUR/kWh\n"), "{text}");
    assert!(text.contains("\nSat ░░░░░") && text.contains("\n█   0.2404 EUR/kWh  peak\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours where nobody looks");
    assert!(text.lines().filter(|line| !line.contains("https://")).all(|line| line.chars().count() <= 80), "{text}");

    let json = explain(&format!("{plan} --format json")).done().json();
    assert_eq!(
        (&json["valid"], &json["format"], &json["needs"]["calendars"][0]),
        (&true.into(), &"own".into(), &"es".into())
    );
    let csv = explain(&format!("{plan} --format csv")).done().stdout;
    assert!(csv.starts_with("charge_id,kind,label,words\npower_peak,fixed,\"Power, peak\","), "{csv}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
}

#[test]
fn a_foreign_plan_is_explained_with_the_flags_that_import_it() {
    let folder = tempfile::tempdir().unwrap();
    let urdb = r#"{"label": "x", "energyratestructure": [[{"rate": 0.1}], [{"rate": 0.2}]], "energyweekdayschedule": WEEKDAYS,
        "energyweekendschedule": WEEKENDS, "coincidentrateunit": "kW", "coincidentratestructure": [[{"rate": 5}]]}"#;
    let day = |on: &str| format!("[{}]", vec![format!("[{}]", vec![on; 24].join(",")); 12].join(","));
    let urdb = urdb.replace("WEEKDAYS", &day("1")).replace("WEEKENDS", &day("0"));
    std::fs::write(folder.path().join("urdb.json"), urdb).unwrap();
    let refused = run(folder.path(), "plan explain urdb.json");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("coincident") && refused.stderr.contains("--allow-unbilled"), "{}", refused.stderr);
    let text = run(folder.path(), "plan explain urdb.json --allow-unbilled").done().stdout;
    let (_, unbilled) = text.split_once("\nWhat is not billed\n").unwrap();
    assert!(unbilled.starts_with("* coincidentratestructure: "), "{text}");
    assert!(text.contains("\n█   0.2 USD/kWh"), "{text}");
}

/// A stored plan in words: in its newest version, in another one, and with the plans that it includes.
fn stored_plans_are_explained(database_url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let flat = |price: &str| {
        format!(
            r#"{{"name": "Flat at {price}", "currency": "GBP", "charges": [{{"id": "energy", "kind": "energy", "price": "{price}"}}]}}"#
        )
    };
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --database-url {database_url}"));
    for price in ["0.25", "0.26"] {
        write("new.json", &flat(price));
        at("import plan new.json --id flat").done();
    }
    write("supply.json", r#"{"name": "Supply", "currency": "GBP", "include": {"network": "flat"}}"#);
    at("import plan supply.json").done();
    let newest = at("plan explain flat").done().stdout;
    assert_eq!(newest, run(folder.path(), "plan explain new.json").done().stdout);
    assert!(newest.starts_with("Flat at 0.26\n"), "{newest}");
    let first = at("plan explain flat@1 --format json").done().json();
    assert_eq!((first["valid"].as_bool(), first["name"].as_str()), (Some(true), Some("Flat at 0.25")));
    let supply = at("plan explain supply").done().stdout;
    assert!(supply.contains("0.26 GBP/kWh"), "{supply}");
    for unknown in ["plan explain other", "plan explain flat@3"] {
        let refused = at(unknown);
        assert!(refused.code == 1 && refused.stderr.starts_with("samebill: plan_not_found: "), "{}", refused.stderr);
        assert!(refused.stderr.contains("there is no such file either"), "{}", refused.stderr);
    }
    assert_eq!(at("plan explain flat --allow-unbilled").code, 2, "that was said when it was imported");
    // A file that exists is meant, whatever plans there are; a folder is none.
    write("flat", &flat("0.99"));
    assert!(at("plan explain flat").done().stdout.starts_with("Flat at 0.99\n"));
    std::fs::remove_file(folder.path().join("flat")).unwrap();
    std::fs::create_dir(folder.path().join("flat")).unwrap();
    assert_eq!(at("plan explain flat").done().stdout, newest);
}

#[test]
fn stored_plans_are_explained_from_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    stored_plans_are_explained(&format!("sqlite://{}", folder.path().join("plans.db").display()));
}

#[test]
fn stored_plans_are_explained_from_postgresql() {
    let Some(database) = PostgresDatabase::create() else { return };
    run(Path::new("."), &format!("migrate --database-url {}", database.url())).done();
    stored_plans_are_explained(&database.url());
}

#[test]
fn a_name_of_no_file_makes_no_database() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in [("flat", "no database samebill.db"), ("plans/flat.json", "no plan is called so")] {
        let refused = run(folder.path(), &format!("plan explain {name}"));
        assert!(refused.code == 1 && refused.stderr.starts_with("samebill: unreadable_file: "), "{}", refused.stderr);
        assert!(refused.stderr.contains(more), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_stored_plan_is_explained_from_the_database_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let plan = fixture("plans/worked/es-enygas-20td.json");
    run(folder.path(), &format!("import plan {plan} --id enygas")).done();
    let told = run(folder.path(), "plan explain enygas@1").done().stdout;
    assert_eq!(told, run(folder.path(), &format!("plan explain {plan}")).done().stdout);
}

#[test]
fn a_plan_is_explained_from_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let plan = fixture("plans/worked/es-enygas-20td.json");
    let mut explain = samebill(folder.path())
        .args(["plan", "explain", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    explain.stdin.take().unwrap().write_all(&std::fs::read(&plan).unwrap()).unwrap();
    let told = String::from_utf8(explain.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(told, run(folder.path(), &format!("plan explain {plan}")).done().stdout);
}
