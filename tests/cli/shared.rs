//! Calendars, price series and event lists: into the service.

use serde_json::json;

use super::support::{fixture, run};

#[test]
fn calendars_and_prices_are_imported_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("us.txt", "date\n2026-12-25\n2026-01-01\n");
    write("us.json", r#"{"dates": ["2026-01-01", "2026-12-25"], "name": "Federal"}"#);
    write("spot.csv", "\u{feff}start,price\n2026-06-01T00:00:00Z,0.1\n2026-06-01T00:30:00Z,-0.2\n");
    write("spot.json", r#"{"step_minutes": 30, "prices": [{"start": "2026-06-01T01:00:00Z", "price": "0.3"}]}"#);
    let json = |arguments: &str| {
        run(folder.path(), &format!("import {arguments} --database-url sqlite://x.db --format json")).done().json()
    };
    let calendar = json("calendar us.txt --id us");
    assert_eq!((&calendar["version"], &calendar["dates"]), (&json!(1), &json!(["2026-01-01", "2026-12-25"])));
    assert_eq!(json("calendar us.txt --id us"), calendar, "the same again");
    assert_eq!(json("calendar us.json --id us")["name"], "Federal");
    assert_eq!(json("calendar us.json --id us --name Holidays")["version"], 3);

    assert_eq!(json("prices spot.csv --id spot")["version"], 1);
    let added = json("prices spot.json --id spot");
    assert_eq!((&added["version"], &added["added"], &added["n_prices"]), (&json!(2), &json!(1), &json!(3)));
    let whole = json("prices spot.csv --id spot --replace-all --step-minutes 30");
    assert_eq!((&whole["removed"], &whole["n_prices"]), (&json!(1), &json!(2)));
    let table = run(folder.path(), "import prices spot.csv --id spot --database-url sqlite://x.db").done().stdout;
    assert!(table.contains("unchanged") && table.contains("spot"), "{table}");
}

#[test]
fn bill_takes_calendars_and_bills_as_the_service_does() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("holidays.txt", "2017-07-04\n2017-12-25\n");
    write(
        "plan.json",
        r#"{"name": "Free holidays", "currency": "USD",
        "schedules": {"tou": {"holidays": ["us"], "periods": [{"period": "free", "days": ["holiday"]}, {"period": "rest"}]}},
        "charges": [{"id": "energy", "kind": "energy", "schedule": "tou", "prices": {"free": "0", "rest": "0.10"}}]}"#,
    );
    let usage = fixture("usage/il-home-60min-2017-dst.csv");
    let bill = |more: &str| {
        let arguments = format!("bill --plan plan.json --usage {usage} --time-zone America/Chicago --period 2017-07");
        run(folder.path(), &format!("{arguments} --format json {more}"))
    };
    let missing = bill("");
    assert_eq!((missing.code, &missing.json()["plans"][0]["code"]), (1, &json!("calendar_missing")));
    let offline = bill("--calendar us=holidays.txt --calendar other=holidays.txt").done();
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --database-url sqlite://x.db")).done();
    at("import customer --id c-1 --time-zone America/Chicago");
    at(&format!("import usage {usage} --customer c-1"));
    at("import plan plan.json");
    at("import calendar holidays.txt --id us");
    let stored = at("compare --customer c-1 --plan plan --period 2017-07 --format json");
    assert_eq!(offline.stdout.trim_end(), stored.result());
    assert_eq!(stored.json()["inputs"]["calendars"], json!({"us": 1}));
    std::fs::write(folder.path().join("holidays.txt"), "2017-07-04\n2017-07-05\n").unwrap();
    at("import calendar holidays.txt --id us");
    let id = stored.json()["id"].as_str().unwrap().to_owned();
    let next = at(&format!("supersede {id} --reason calendar_changed --format json")).json();
    let difference = at(&format!("diff {}", next["id"].as_str().unwrap())).stdout;
    assert!(difference.contains("calendar us from version 1 to 2"), "{difference}");
    assert_eq!(bill("--calendar us=holidays.txt --calendar us=holidays.txt").code, 2);
}

#[test]
fn bill_takes_event_lists_and_bills_as_the_service_does() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "peaks.txt",
        "# called on the day before\n2017-07-19T16:00-05:00/2017-07-19T18:00-05:00\n2017-09-01T21:00Z/PT1H\n",
    );
    write("peaks.csv", "start,end\n2017-07-19T21:00Z,2017-07-19T23:00Z\n2017-09-01T21:00Z,2017-09-01T22:00Z\n");
    write("peaks.json", r#"{"name": "Peaks", "events": ["2017-07-19T21:00Z/PT2H", "2017-07-20T21:00Z/PT1H"]}"#);
    let plan = |during: &str| {
        format!(
            r#"{{"name": "Called hours", "currency": "USD",
        "schedules": {{"s": {{"periods": [{{"period": "called", "during": {during}}}, {{"period": "rest"}}]}}}},
        "charges": [{{"id": "energy", "kind": "energy", "schedule": "s", "prices": {{"called": "1", "rest": "0.10"}}}}]}}"#
        )
    };
    write("plan.json", &plan("\"peaks\""));
    let usage = fixture("usage/il-home-60min-2017-dst.csv");
    let bill = |more: &str| {
        let arguments =
            format!("bill --usage {usage} --time-zone America/Chicago --period 2017-07 --format json --plan");
        run(folder.path(), &format!("{arguments} {more}"))
    };
    let missing = bill("plan.json");
    assert_eq!((missing.code, &missing.json()["plans"][0]["code"]), (1, &json!("event_list_missing")));
    let offline = bill("plan.json --event-list peaks=peaks.txt --event-list other=peaks.txt").done();
    assert_eq!(bill("plan.json --event-list peaks=peaks.csv").done().stdout, offline.stdout);
    write("written.json", &plan(r#"["2017-07-19T21:00Z/PT2H"]"#));
    assert_eq!(bill("plan=written.json").done().stdout, offline.stdout, "as where the plan holds them itself");
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --database-url sqlite://x.db")).done();
    at("import customer --id c-1 --time-zone America/Chicago");
    at(&format!("import usage {usage} --customer c-1"));
    at("import plan plan.json");
    let list = at("import event-list peaks.txt --id peaks --format json").json();
    assert_eq!((&list["version"], &list["name"]), (&json!(1), &json!(null)));
    assert_eq!(list["events"][0], "2017-07-19T21:00:00Z/2017-07-19T23:00:00Z");
    assert_eq!(at("import event-list peaks.csv --id peaks").stdout, "event list peaks stands at version 1\n");
    let stored = at("compare --customer c-1 --plan plan --period 2017-07 --format json");
    assert_eq!(offline.stdout.trim_end(), stored.result());
    assert_eq!(stored.json()["inputs"]["event_lists"], json!({"peaks": 1}));
    assert_eq!(at("import event-list peaks.json --id peaks --format json").json()["name"], "Peaks");
    let id = stored.json()["id"].as_str().unwrap().to_owned();
    let next = at(&format!("supersede {id} --reason event_list_changed --format json"));
    assert_eq!(next.result(), bill("plan.json --event-list peaks=peaks.json").done().stdout.trim_end());
    let difference = at(&format!("diff {}", next.json()["id"].as_str().unwrap())).stdout;
    assert!(difference.contains("event list peaks from version 1 to 2"), "{difference}");
    at(&format!("evidence {id} --output old.zip"));
    let verified = run(folder.path(), "verify old.zip --format json").done().json();
    assert_eq!((&verified["verified"], &verified["evidence"]["format_version"]), (&json!(true), &json!(2)));
    assert_eq!(bill("plan.json --event-list peaks=peaks.txt --event-list peaks=peaks.txt").code, 2);
}

#[test]
fn bill_takes_prices_and_bills_as_the_service_does() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, prices) = (fixture("plans/hourly-price.json"), fixture("prices/hourly-2017-03.csv"));
    let usage = fixture("usage/il-home-60min-2017-dst.csv");
    let period = "2017-03-06/2017-03-20";
    let bill = |more: &str| {
        let arguments = format!("bill --plan {plan} --usage {usage} --time-zone America/Chicago --period {period}");
        run(folder.path(), &format!("{arguments} {more}"))
    };
    let missing = bill("--format json");
    assert_eq!((missing.code, &missing.json()["plans"][0]["code"]), (1, &json!("price_series_missing")));
    // As two other engines bill it: 366.2 kWh come to 50.1700703, 14 days to 5.32.
    let offline = bill(&format!("--format json --prices spot={prices} --expect 55.49")).done();
    let table = bill(&format!("--prices spot={prices}")).done().stdout;
    assert!(table.contains("366.2") && table.contains("spot, mean 0.137002") && table.contains("50.17007"), "{table}");
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --database-url sqlite://x.db")).done();
    at("import customer --id c-1 --time-zone America/Chicago");
    at(&format!("import usage {usage} --customer c-1"));
    at(&format!("import plan {plan}"));
    at(&format!("import prices {prices} --id spot"));
    let stored = at(&format!("compare --customer c-1 --plan hourly-price --period {period} --format json"));
    assert_eq!(offline.stdout.trim_end(), stored.result());
    assert_eq!(stored.json()["inputs"]["price_series"], json!({"spot": 1}));
}

#[test]
fn rates_of_octopus_are_a_plan_and_its_prices() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let rate = |price: f64, from: &str, to: &str| json!({"value_exc_vat": price, "value_inc_vat": price * 1.5, "valid_from": from, "valid_to": to, "payment_method": null});
    let rates = json!({"code": "E-1R-AGILE-C", "standing-charges": [{"value_exc_vat": 20, "value_inc_vat": 40, "valid_from": null, "valid_to": null}],
        "standard-unit-rates": [rate(10.0, "2026-06-01T12:00:00Z", "2026-06-01T23:00:00Z"), rate(20.0, "2026-05-31T23:00:00Z", "2026-06-01T12:00:00Z")]});
    write("agile.json", &rates.to_string());
    let hours = (0..24).map(|hour| format!("2026-06-01T{hour:02}:00:00+01:00,1\n"));
    write("day.csv", &("start,kwh\n".to_owned() + &hours.collect::<String>()));
    let bill = |more: &str| {
        let arguments =
            "bill --plan agile.json --usage day.csv --time-zone Europe/London --period 2026-06-01/2026-06-02";
        run(folder.path(), &format!("{arguments} --format json {more}"))
    };
    let missing = bill("").json();
    let message = missing["plans"][0]["message"].as_str().unwrap();
    assert!(message.contains("octopus_e_1r_agile_c"), "{missing}");
    // 13 hours at 0.30, 11 at 0.15, 0.40 a day; without VAT 0.20, 0.10, 0.20, and 5 %.
    let offline = bill("--prices octopus_e_1r_agile_c=agile.json --expect 5.95").done();
    bill("--prices octopus_e_1r_agile_c=agile.json --vat exc --expect 4.10").done();
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --database-url sqlite://x.db")).done();
    at("import customer --id c-1 --time-zone Europe/London");
    at("import usage day.csv --customer c-1");
    at("import plan agile.json");
    at("import prices agile.json --id octopus_e_1r_agile_c");
    let stored = at("compare --customer c-1 --plan agile --period 2026-06-01/2026-06-02 --format json");
    assert_eq!(offline.stdout.trim_end(), stored.result());
}

#[test]
fn a_wrong_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("us.txt"), "2026-01-01\n2026-02-30\n").unwrap();
    std::fs::write(folder.path().join("spot.csv"), "start,price\n2026-06-01T00:00:00Z,1\n2026-06-01,1\n").unwrap();
    std::fs::write(folder.path().join("peaks.txt"), "2026-06-01T12:00Z/PT1H\n\n2026-06-01/PT1H\n").unwrap();
    let refusals =
        [("calendar us.txt --id us", 2), ("prices spot.csv --id spot", 3), ("event-list peaks.txt --id peaks", 3)];
    for (arguments, line) in refusals {
        let refused = run(folder.path(), &format!("import {arguments} --database-url sqlite://x.db --format json"));
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        let problem = refused.json();
        assert_eq!((&problem["code"], &problem["line"]), (&json!("input_unreadable"), &json!(line)), "{problem}");
    }
}
