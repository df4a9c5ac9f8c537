//! Dry runs, records, undoing, many meter points and coverage, from the command line.

use std::path::Path;

use serde_json::json;

use super::support::{fixture, run};

const HOURS: &str = "start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-01T01:00:00Z,2\n2026-06-01T03:00:00Z,4\n";

fn customer(folder: &Path) {
    run(folder, "import customer --id c-1 --time-zone UTC").done();
    std::fs::write(folder.join("june.csv"), HOURS).unwrap();
}

#[test]
fn a_dry_run_shows_days_and_an_import_can_be_listed_shown_and_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    customer(folder);
    let would = run(folder, "import usage june.csv --customer c-1 --dry-run").done().stdout;
    assert!(would.contains("nothing was stored") && would.contains("2026-06-01"), "{would}");
    let would = run(folder, "import usage june.csv --customer c-1 --dry-run --format csv").done().stdout;
    assert_eq!(would.lines().nth(1), Some("2026-06-01,import,3,0,0,0,7"));
    assert_eq!(run(folder, "imports list --format json").done().json()["items"], json!([]));

    let did = run(folder, "import usage june.csv --customer c-1 --fill zero --format json").done().json();
    assert_eq!((&did["added"], &did["filled"]), (&json!(4), &json!(1)));
    let id = did["import_id"].as_str().unwrap();
    let again = run(folder, "import usage june.csv --customer c-1").done().stdout;
    assert!(again.contains("nothing changed") && again.contains(&format!("the same file as import {id}")), "{again}");
    let list = run(folder, "imports list --customer c-1 --state done").done().stdout;
    assert!(list.contains(id) && list.contains("june.csv"), "{list}");
    let shown = run(folder, &format!("imports show {id}")).done().stdout;
    assert!(shown.contains("june.csv") && shown.contains("0 before, 1 after"), "{shown}");

    let coverage = run(folder, "coverage --customer c-1 --format csv").done().stdout;
    assert!(coverage.lines().nth(1).unwrap().starts_with("import,2026-06,30,720,4,60,7,3,0,0,1,0,"), "{coverage}");
    let coverage = run(folder, "coverage --customer c-1").done().stdout;
    assert!(coverage.contains("2026-06"), "{coverage}");

    let would = run(folder, &format!("imports revert {id} --dry-run --format json")).done().json();
    assert_eq!((&would["removed"], &would["days"][0]["kwh_after"]), (&json!(4), &json!("0")));
    let did = run(folder, &format!("imports revert {id} --format json")).done().json();
    assert_eq!((&did["removed"], &did["reverts"]), (&json!(4), &json!(id)));
    let twice = run(folder, &format!("imports revert {id}")).done().stdout;
    assert!(twice.contains("taken back before"), "{twice}");
    let reverted = run(folder, "imports list --format csv").done().stdout;
    assert!(reverted.contains(",revert,done,c-1,"), "{reverted}");
    let refused = run(folder, "imports show 0198c0de-0000-7000-8000-000000000001 --format json");
    assert_eq!((refused.code, &refused.json()["code"]), (1, &json!("import_not_found")));
    assert_eq!(run(folder, "coverage --customer c-1").done().stdout.trim(), "no reading");
}

#[test]
fn a_file_of_many_meter_points_goes_to_those_who_list_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let document = json!({"time_zone": "Australia/Brisbane", "meter_points": [
        {"id": "4001234567", "channel": "import"}, {"id": "4001234567", "channel": "export"}]});
    std::fs::write(folder.join("solar.json"), document.to_string()).unwrap();
    run(folder, "import customer solar.json").done();
    let import = format!("import usage {} --by-meter-point", fixture("usage/nem12/two_days.csv"));
    let did = run(folder, &format!("{import} --format json")).done().json();
    assert_eq!(
        (&did["state"], &did["meter_points"]["done"], &did["customers"]),
        (&json!("done"), &json!(1), &json!(1))
    );
    run(folder, "import customer --id solar --time-zone Australia/Brisbane").done();
    let told = run(folder, &import).done().stdout;
    assert!(told.contains("1 unmapped") && told.contains("meter_point_unmapped"), "{told}");
    let id = told.lines().last().unwrap().strip_prefix("import ").unwrap();
    let shown = run(folder, &format!("imports show {id}")).done().stdout;
    assert!(shown.contains("1 unmapped") && shown.contains("4001234567"), "{shown}");
    let listed = run(folder, "imports list").done().stdout;
    assert!(listed.contains("(many)"), "{listed}");
    let parts =
        run(folder, &format!("imports list --part-of {} --format json", did["id"].as_str().unwrap())).done().json();
    assert_eq!(parts["items"][0]["customer_id"], "solar");
}
