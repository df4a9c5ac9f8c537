use std::path::Path;

use super::support::{fixture, run};

#[test]
fn an_inspection_is_a_table_json_and_csv() {
    let file = fixture("usage/qualities.csv");
    let table = run(Path::new("."), &format!("inspect {file}")).done();
    assert!(table.stdout.starts_with("csv: one series") && table.stdout.contains("estimated"), "{}", table.stdout);
    let json = run(Path::new("."), &format!("inspect {file} --format json")).done().json();
    assert_eq!(json["format"], "csv");
    assert_eq!(json["series"][0]["feeds"], "import");
    assert!(json["series"][0]["quality"]["estimated"].as_u64().is_some_and(|n| n > 0), "{json}");
    let csv = run(Path::new("."), &format!("inspect {file} --format csv")).done();
    assert!(
        csv.stdout.starts_with("series,direction,unit,minutes,intervals,kWh,from,to,gaps,feeds\nimport,import,kWh,")
    );
}

#[test]
fn what_contradicts_itself_is_told_and_not_refused() {
    let json = run(Path::new("."), &format!("inspect {} --format json", fixture("usage/conflicting-repeat.csv")))
        .done()
        .json();
    let series = &json["series"][0];
    assert_eq!((&series["problems"][0]["code"], &series["problems"][0]["line"]), (&"conflict".into(), &3.into()));
    assert_eq!(series["overlaps"][0]["start"], "2026-06-01T00:30:00Z");
    assert_eq!(series["overlaps"][0]["end"], "2026-06-01T01:00:00Z");
}

#[test]
fn gaps_are_ranges() {
    let json = run(Path::new("."), &format!("inspect {} --format json", fixture("usage/gap.csv"))).done().json();
    assert_eq!(json["series"][0]["n_gaps"], 1);
    assert_eq!(json["series"][0]["gaps"][0]["start"], "2026-06-01T00:30:00Z");
    assert_eq!(json["series"][0]["gaps"][0]["end"], "2026-06-01T00:45:00Z");
}

#[test]
fn a_picture_shows_the_day_and_the_year() {
    let file = fixture("usage/il-home-60min-2017-dst.csv");
    let plot = run(Path::new("."), &format!("inspect {file} --time-zone America/Chicago --plot")).done().stdout;
    assert!(plot.contains("import: mean day, kW by half hour (America/Chicago)"), "{plot}");
    assert!(plot.contains("import: kWh by day, 4.4 ░▒▓█ 97.0") && plot.contains("   Sun "), "{plot}");
}

#[test]
fn what_cannot_be_read_says_which_flag_to_give() {
    let local = fixture("usage/spring-local-60min.csv");
    let refused = run(Path::new("."), &format!("inspect {local}"));
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--time-zone"), "{}", refused.stderr);
    let wrong = run(Path::new("."), &format!("inspect {local} --as nonsense"));
    assert!(wrong.stderr.contains("known are") && wrong.stderr.contains("nem12"), "{}", wrong.stderr);
    for flag in ["--unit therm", "--stamp middle", "--date-order dm", "--channel E1", "--time-zone Moon/Base"] {
        assert_eq!(run(Path::new("."), &format!("inspect {local} {flag}")).code, 2, "{flag}");
    }
}
