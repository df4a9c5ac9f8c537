use std::path::Path;

use super::support::{fixture, run};

fn bill(arguments: &str) -> String {
    let (plan, usage) = (fixture("plans/worked/uk-bulb-2017-08.json"), fixture("usage/uk-home-30min-2013-dst.csv"));
    format!("bill --plan {plan} --usage {usage} {arguments}")
}

#[test]
fn a_bill_is_a_table_json_and_csv() {
    let folder = tempfile::tempdir().unwrap();
    let table = run(folder.path(), &bill("--time-zone Europe/London --period 2013-10")).done();
    assert!(table.stdout.contains("52.88") && table.stdout.contains("Standing charge"), "{}", table.stdout);
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 100), "{}", table.stdout);
    assert_eq!(table.stderr, "", "nothing was assumed");

    let json = run(folder.path(), &bill("--time-zone Europe/London --period 2013-10 --format json")).done();
    let result = json.json();
    assert_eq!(result["plans"][0]["plan_id"], "uk-bulb-2017-08");
    assert_eq!(result["plans"][0]["total"], "52.88");
    assert_eq!(result["usage"]["expected_intervals"], 1490);
    assert_eq!(json.stdout.lines().count(), 1);

    let csv = run(folder.path(), &bill("--time-zone Europe/London --period 2013-10 --format csv")).done();
    let mut lines = csv.stdout.lines();
    assert!(lines.next().unwrap().starts_with("plan_id,start,end,charge_id,kind,"));
    assert!(lines.next().unwrap().starts_with("uk-bulb-2017-08,2013-10-01,2013-11-01,energy,energy,Energy,1,"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
}

#[test]
fn a_year_has_twelve_periods() {
    let result = run(Path::new("."), &bill("--time-zone Europe/London --period 2013 --format json")).done().json();
    assert_eq!(result["plans"][0]["periods"].as_array().unwrap().len(), 12);
}

#[test]
fn what_was_assumed_is_said() {
    let assumed = run(Path::new("."), &bill("--time-zone Europe/London")).done();
    assert!(assumed.stderr.contains("period 2013-01-01/2014-01-01, the whole months"), "{}", assumed.stderr);
    let nothing = run(Path::new("."), &bill("--time-zone Europe/London --period 2013")).done();
    assert_eq!(assumed.stdout, nothing.stdout);

    let leap = fixture("usage/il-home-60min-2016-leap.csv");
    let plan = fixture("plans/fpl-rs-1.json");
    let assumed = run(Path::new("."), &format!("bill --plan {plan} --usage {leap} --period 2016-02")).done();
    assert!(assumed.stderr.contains("time zone Etc/GMT+6"), "{}", assumed.stderr);

    let days = fixture("usage/gap.csv");
    let refused = run(Path::new("."), &format!("bill --plan {plan} --usage {days}"));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("covers no whole local day"), "{}", refused.stderr);
}

#[test]
fn an_expected_total_decides_the_exit_code() {
    let check =
        |flags: &str| run(Path::new("."), &bill(&format!("--time-zone Europe/London --period 2013-10 {flags}")));
    check("--expect 52.88").done();
    check("--expect 52.87 --tolerance 0.01").done();
    let wrong = check("--expect 52.87 --tolerance 0.001");
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("not_as_expected") && wrong.stderr.contains("0.01"), "{}", wrong.stderr);
    assert!(wrong.stdout.contains("52.88"), "the bill is shown all the same");
    let two = fixture("plans/fpl-rs-1.json");
    assert_eq!(check(&format!("--plan {two} --expect 1")).code, 2);
}

#[test]
fn a_refused_file_is_exit_code_1_with_its_line() {
    let plan = fixture("plans/fpl-rs-1.json");
    for (file, flags, reason, line) in [
        ("conflicting-repeat.csv", "", "conflict", Some(3)),
        ("cut-row.csv", "", "bad_row", Some(4)),
        ("header-alone.csv", "", "no_readings", None),
        ("spring-skipped-hour.csv", "--time-zone America/Chicago", "local_time_does_not_exist", Some(3)),
        ("spring-skipped-hour.csv", "", "time_zone_needed", Some(2)),
        ("unknown-column.csv", "", "unknown_column", Some(1)),
    ] {
        let usage = fixture(&format!("usage/{file}"));
        let refused = run(Path::new("."), &format!("bill --plan {plan} --usage {usage} {flags} --format json"));
        assert_eq!(refused.code, 1, "{file}: {}", refused.stderr);
        let problem = refused.json();
        assert_eq!(problem["code"], "usage_unreadable", "{file}");
        assert_eq!((problem["reason"].as_str(), problem["line"].as_u64()), (Some(reason), line), "{file}");
        assert!(refused.stderr.contains(file), "{file}: {}", refused.stderr);
    }
}

#[test]
fn plans_that_cannot_be_read_are_refused_with_their_faults() {
    let folder = tempfile::tempdir().unwrap();
    let usage = fixture("usage/uk-home-30min-2013-dst.csv");
    let refused = |plan: &str| {
        let arguments = format!("bill --plan {plan} --usage {usage} --time-zone Europe/London --format json");
        let refused = run(folder.path(), &arguments);
        assert_eq!(refused.code, 1, "{plan}: {}", refused.stderr);
        refused.json()
    };
    assert_eq!(refused("no-such.json")["code"], "unreadable_file");
    let unknown = r#"{"name": "x", "currency": "GBP", "charges": [], "pirce": 1}"#;
    std::fs::write(folder.path().join("unknown.json"), unknown).unwrap();
    let problem = refused("unknown.json");
    assert_eq!(problem["code"], "plan_invalid");
    assert!(problem["errors"].as_array().is_some_and(|errors| !errors.is_empty()), "{problem}");
    std::fs::write(folder.path().join("cut.json"), r#"{"name": "x", "#).unwrap();
    assert_eq!(refused("cut.json")["code"], "plan_invalid");
}

#[test]
fn a_period_without_readings_is_refused_with_its_gaps() {
    let refused = run(Path::new("."), &bill("--time-zone Europe/London --period 2012-06 --format json"));
    assert_eq!(refused.code, 1);
    let problem = refused.json();
    assert_eq!(problem["code"], "usage_incomplete");
    assert!(problem["gaps"].as_array().is_some_and(|gaps| !gaps.is_empty()), "{problem}");
}

#[test]
fn plans_are_named_by_their_files_or_by_hand() {
    let plan = fixture("plans/worked/uk-bulb-2017-08.json");
    let twice = run(Path::new("."), &bill(&format!("--plan {plan} --time-zone Europe/London --period 2013-10")));
    assert_eq!(twice.code, 2, "two plans of one name: {}", twice.stderr);
    let named = bill(&format!("--plan other={plan} --time-zone Europe/London --period 2013-10 --format json"));
    let result = run(Path::new("."), &named).done().json();
    let ids: Vec<&str> = result["plans"].as_array().unwrap().iter().map(|p| p["plan_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["other", "uk-bulb-2017-08"]);
}

#[test]
fn a_convention_is_a_flag() {
    let february = |flags: &str| {
        let arguments = bill(&format!("--time-zone Europe/London --period 2013-02 --format json {flags}"));
        let result = run(Path::new("."), &arguments).done().json();
        let lines = result["plans"][0]["periods"][0]["line_items"].as_array().unwrap().clone();
        let standing = lines.iter().find(|line| line["charge_id"] == "standing").unwrap().clone();
        standing["amount"].as_str().unwrap().to_owned()
    };
    assert!(february("").starts_with("6.8768"), "28 x 0.2456: {}", february(""));
    let sam = february("--conventions sam");
    assert!(sam.starts_with("7.4703"), "365/12 x 0.2456: {sam}");
    let flag = february("--conventions sam --daily-amounts actual_days");
    assert_eq!(flag, february(""), "a flag wins over the preset");
}

#[test]
fn a_plan_that_another_one_includes_is_part_of_it() {
    let usage = fixture("usage/uk-home-30min-2013-dst.csv");
    let (supply, network) = (fixture("plans/include/supply.json"), fixture("plans/include/network.json"));
    let bill = |plans: &str| {
        let asked = "--time-zone Europe/London --period 2013-10";
        run(Path::new("."), &format!("bill {plans} --usage {usage} {asked}"))
    };
    let table = bill(&format!("--plan {supply} --plan {network} --expect 96.46")).done();
    assert!(table.stdout.contains("Use of network") && table.stdout.contains("VAT"), "{}", table.stdout);
    assert_eq!(table.stdout.matches("(network)").count(), 0, "{}", table.stdout);
    let csv = bill(&format!("--plan {supply} {network} --format csv")).done();
    assert!(csv.stdout.lines().nth(1).unwrap().ends_with(",GBP,network"), "{}", csv.stdout);

    let without = bill(&format!("--plan {supply}"));
    assert_eq!(without.code, 1);
    assert!(without.stderr.contains("/include/network") && without.stderr.contains("import it"), "{}", without.stderr);
}

#[test]
fn half_hours_are_added_to_the_hours_of_prices() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, prices) = (fixture("plans/hourly-price.json"), fixture("prices/hourly-2017-03.csv"));
    // 1 kWh in each hour, once as such and once in two unequal halves.
    let (mut hours, mut halves) = ("start,kwh\n".to_owned(), "start,kwh\n".to_owned());
    for hour in 0..24 {
        let at = format!("2017-03-07T{hour:02}");
        hours.extend([at.as_str(), ":00:00Z,1\n"]);
        halves.extend([at.as_str(), ":00:00Z,0.25\n", at.as_str(), ":30:00Z,0.75\n"]);
    }
    let total = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        let asked = format!(
            "bill --plan {plan} --usage {name} --prices spot={prices} --time-zone Etc/UTC --period 2017-03-07/2017-03-08 --format json"
        );
        run(folder.path(), &asked).done().json()["plans"][0]["total"].as_str().unwrap().to_owned()
    };
    let file = std::fs::read_to_string(&prices).unwrap();
    let day: Vec<rust_decimal::Decimal> =
        file.lines().filter_map(|line| line.strip_prefix("2017-03-07T")?.split_once(',')?.1.parse().ok()).collect();
    assert_eq!(day.len(), 24);
    // 5 % for losses and 2.17 cents on each of 24 kWh, and 38 cents for the day.
    let energy = day.iter().sum::<rust_decimal::Decimal>() * "1.05".parse::<rust_decimal::Decimal>().unwrap();
    let expected = (energy + "0.9008".parse::<rust_decimal::Decimal>().unwrap()).round_dp(2).normalize();
    let of_hours = total("hours.csv", &hours);
    assert_eq!(of_hours.parse::<rust_decimal::Decimal>().unwrap().normalize(), expected);
    assert_eq!(total("halves.csv", &halves), of_hours);
}
