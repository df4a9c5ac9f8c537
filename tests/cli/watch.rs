use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::{run, samebill};

/// A day of half hours of one meter, as NEM12, `kwh` in each.
fn nem12(meter: &str, day: &str, kwh: &str) -> String {
    let values = [kwh; 48].join(",");
    format!("100,NEM12,202601010000,A,B\n200,{meter},E1,E1,E1,N1,M1,kWh,30,\n300,{day},{values},A,,,,\n900\n")
}

fn put_customer(folder: &Path, id: &str, meter: &str) {
    let document =
        format!(r#"{{"time_zone": "Australia/Brisbane", "meter_points": [{{"id": "{meter}", "channel": "import"}}]}}"#);
    fs::write(folder.join("customer.json"), document).unwrap();
    run(folder, &format!("import customer customer.json --id {id}")).done();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn report(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Readings of a customer and their energy, by bills of one unit a kWh.
fn kwh_of(folder: &Path, id: &str) -> String {
    let plan = r#"{"name": "One", "currency": "AUD", "charges": [{"id": "energy", "kind": "energy", "price": "1"}]}"#;
    fs::write(folder.join("one.json"), plan).unwrap();
    run(folder, "import plan one.json").done();
    let asked = format!("compare --customer {id} --period 2026-01-01/2026-01-11 --plan one --format json");
    run(folder, &asked).done().json()["result"]["usage"]["import_kwh"].as_str().unwrap().to_owned()
}

#[test]
fn files_go_to_their_customers_and_then_to_done_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    put_customer(folder.path(), "c-1", "NMI1");
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    fs::write(inbox.join("a.csv"), nem12("NMI1", "20260101", "1")).unwrap();
    fs::write(inbox.join("unknown.csv"), nem12("NMI9", "20260101", "1")).unwrap();
    fs::write(
        inbox.join("broken.csv"),
        "100,NEM12,202601010000,A,B\n200,NMI1,E1,E1,E1,N1,M1,kWh,30,\n300,20260101,1\n",
    )
    .unwrap();
    fs::write(inbox.join("growing.csv.part"), "100,NEM12").unwrap();
    let told = run(folder.path(), "watch inbox --once --every 1").done().stdout;
    assert!(told.contains("done/a.csv: done (48 added, 0 replaced, 0 unchanged; 1 meter points done"), "{told}");
    assert_eq!(names(&inbox), ["done", "growing.csv.part", "refused"]);
    assert_eq!(names(&inbox.join("done")), ["a.csv", "a.csv.report.json"]);
    assert_eq!(
        names(&inbox.join("refused")),
        ["broken.csv", "broken.csv.report.json", "unknown.csv", "unknown.csv.report.json"]
    );
    let broken = report(&inbox.join("refused/broken.csv.report.json"));
    assert_eq!((&broken["outcome"], &broken["answer"]["line"]), (&"refused".into(), &3.into()));
    let unknown = report(&inbox.join("refused/unknown.csv.report.json"));
    assert_eq!(unknown["answer"]["not_stored"][0]["meter_point_id"], "NMI9");

    // The same name with other content keeps both; the same content changes nothing.
    fs::write(inbox.join("a.csv"), nem12("NMI1", "20260102", "1")).unwrap();
    run(folder.path(), "watch inbox --once --every 1").done();
    assert_eq!(names(&inbox.join("done")).len(), 4);
    fs::write(inbox.join("again.csv"), nem12("NMI1", "20260101", "1")).unwrap();
    let told = run(folder.path(), "watch inbox --once --every 1").done().stdout;
    assert!(told.contains("0 added, 0 replaced, 48 unchanged"), "{told}");
}

#[test]
fn a_file_waits_while_it_grows_and_while_its_customer_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    fs::write(inbox.join("a.csv"), nem12("NMI1", "20260101", "1")).unwrap();
    let waits = run(folder.path(), "watch inbox --once --every 1 --customer c-1");
    assert_eq!(waits.code, 1);
    assert!(waits.stderr.contains("customer_not_found") && inbox.join("a.csv").exists(), "{}", waits.stderr);
    put_customer(folder.path(), "c-1", "NMI1");
    run(folder.path(), "watch inbox --once --every 1 --customer c-1").done();
    assert!(inbox.join("done/a.csv").exists());
}

/// Kills the watcher again and again, whatever it is at.
#[test]
fn killed_at_any_moment_nothing_is_lost_or_counted_twice() {
    let folder = tempfile::tempdir().unwrap();
    put_customer(folder.path(), "c-1", "NMI1");
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    for day in 1..=10 {
        fs::write(inbox.join(format!("{day:02}.csv")), nem12("NMI1", &format!("202601{day:02}"), "0.5")).unwrap();
    }
    // As a run leaves it that is killed while it writes a report.
    fs::create_dir(inbox.join("done")).unwrap();
    fs::write(inbox.join("done/.01.csv.report.json.part"), "{").unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut wait_ms = 40;
    while names(&inbox).len() > 2 {
        assert!(Instant::now() < deadline, "left: {:?}", names(&inbox));
        let mut command = samebill(folder.path());
        command.args(["watch", "inbox", "--every", "0"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_ms = 40 + (wait_ms + 17) % 400;
    }
    let done = names(&inbox.join("done"));
    assert_eq!(done.iter().filter(|name| !name.ends_with(".report.json")).count(), 10, "{done:?}");
    assert_eq!(done.iter().filter(|name| name.ends_with(".report.json")).count(), 10, "{done:?}");
    assert_eq!(kwh_of(folder.path(), "c-1"), "240");
}
