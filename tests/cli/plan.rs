//! Plan documents themselves.

use super::support::{fixture, run};

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
