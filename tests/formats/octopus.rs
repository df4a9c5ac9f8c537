//! Answers of the APIs of Octopus Energy. Times carry their offset: London's clock changes are in the fixture of Great
//! Britain, Japan has none.

use samebill::usage::{ReadOptions, inspect, open};

use super::told::{check_changes, fixture, mutate, told};

const SAID: &str = " | electricity_assumed";

fn page() -> String {
    fixture("octopus_json/clock_changes.json")
}

#[test]
fn a_page_is_read_over_clock_changes_newest_first() {
    let expected = format!("consumption 8 2.424 gaps=1{SAID}");
    let plain = ReadOptions::default();
    assert_eq!(told(page(), &plain), expected);
    assert_eq!(told(format!("\u{feff}\r\n{}", page().replace('\n', "\r\n")), &plain), expected, "mark and CRLF");
    assert_eq!(told(page().replace('\n', ""), &plain), expected, "on one line");
    let found = inspect(open(std::io::Cursor::new(page()), &plain).unwrap(), &[]).unwrap();
    let series = &found.series[0];
    assert_eq!(series.first_start.as_deref(), Some("2026-03-29T00:00:00Z"));
    assert_eq!(series.last_end.as_deref(), Some("2026-10-25T02:00:00Z"));
    let gap = &series.gaps[0];
    assert_eq!((gap.start.as_str(), gap.end.as_str()), ("2026-03-29T02:00:00Z", "2026-10-25T00:00:00Z"));
    let in_wh = ReadOptions { unit: Some("Wh".parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(told(page(), &in_wh), "consumption 8 0.002424 gaps=1");
}

#[test]
fn a_change_of_a_page_is_told() {
    let base = page();
    let row = format!("{}\n", base.lines().nth(6).unwrap());
    let twice = format!("{row}{row}");
    let other = format!("{row}{}", row.replace("0.404", "0.405"));
    let series = |told: &str| format!("consumption {told}{SAID}");
    check_changes(
        &base,
        &ReadOptions::default(),
        &[
            (&row, "", &format!("{} count_differs", series("7 2.02 gaps=2"))),
            (&row, &twice, &format!("{} count_differs", series("8 2.424 repeats=1 gaps=1"))),
            (&row, &other, &format!("{} count_differs", series("8 2.424 gaps=1 conflict@7+8"))),
            (
                "2026-10-25T01:00:00Z\", \"interval_end\": \"2026-10-25T01:30:00Z",
                "2026-10-25T01:00:00Z\", \"interval_end\": \"2026-10-25T02:00:00Z",
                &series("7 2.019 gaps=1 overlap@6+7"),
            ),
            ("0.404", "-0.404", &series("8 1.616 gaps=1")),
            ("0.404", "\"0.404\"", &series("8 2.424 gaps=1")),
            ("0.404", "0.12345678901234", &series("8 2.143457 gaps=1")),
            ("0.404", "null", &series("7 2.02 blank=1 gaps=2")),
            ("0.404", "4.04e-1", "bad_number@7 /results/1/consumption"),
            ("0.404", "\"much\"", "bad_number@7 /results/1/consumption"),
            ("0.404", "{}", "bad_number@7 /results/1/consumption"),
            ("0.404", "", "bad_json@7"),
            ("0.404, ", "0.404, \"cost\": 1, ", "unknown_column@7 /results/1"),
            ("\"consumption\": 0.404, ", "", "bad_json@7 /results/1"),
            ("2026-10-25T01:00:00Z", "2026-10-25T01:00:00", "time_zone_needed@7 /results/1/interval_start"),
            ("2026-10-25T01:30:00Z\"}", "2026-10-25T01:20:30Z\"}", "bad_time@7 /results/1/interval_end"),
            ("2026-10-25T01:00:00Z", "2026-10-25T00:43:00Z", "interval_length@7 /results/1/interval_end"),
            ("2026-10-25T01:00:00Z", "9999-10-25T01:00:00Z", "bad_time@7 /results/1/interval_start"),
            (
                "\"next\": null",
                "\"next\": \"https://api.example/?page=2\"",
                &format!("{} more_pages", series("8 2.424 gaps=1")),
            ),
            ("\"count\": 8", "\"count\": 9", &format!("{} count_differs", series("8 2.424 gaps=1"))),
            ("\"count\": 8", "\"sum\": 9", "unknown_column@2 /sum"),
            (" ]\n}", " ]\n}}", "bad_json@15"),
        ],
    );
    assert_eq!(
        told(r#"{"count": 0, "next": null, "previous": null, "results": []}"#, &ReadOptions::default()),
        "no_readings"
    );
}

#[test]
fn supply_points_of_japan_stay_apart() {
    let base = fixture("octopus_japan_json/two_supply_points.json");
    let (one, two) = ("0100000000000000000001/other", "0100000000000000000002/other");
    let plain = ReadOptions::default();
    assert_eq!(told(&base, &plain), format!("{one} 3 0.6; {two} 2 3"));
    let unnamed = base.replace("\"spin\"", "\"number\"");
    assert_eq!(told(unnamed, &plain), "other 3 0.6; supply point 2/other 2 3");
    let row = format!("{}\n", base.lines().nth(4).unwrap());
    let newer = |version: &str| format!("{row}{}", row.replace("0.250", "0.350").replace("\"1\"", version));
    let first = |told: &str| format!("{one} {told}; {two} 2 3");
    let end = "/data/account/properties/0/electricitySupplyPoints/0/halfHourlyReadings/0";
    check_changes(
        &base,
        &plain,
        &[
            (&row, "", &first("2 0.35")),
            (&row, &format!("{row}{row}"), &first("3 0.6 repeats=1")),
            (&row, &newer("\"1\""), &first("3 0.6 conflict@5+6")),
            (&row, &newer("2"), &first("3 0.7 older=1")),
            (&row, &newer("\"LATEST\""), &first("3 0.7 older=1")),
            (&row, &newer("\"0\""), &first("3 0.6 older=1")),
            ("0.250", "-0.250", &first("3 0.1")),
            ("0.250", "0.25000000000001", &first("3 0.6")),
            ("\"0.250\"", "null", &first("2 0.35 blank=1 gaps=1")),
            ("\"0.250\"", "\"\"", &format!("bad_number@5 {end}/value")),
            ("2026-03-28T15:30:00Z", "2026-03-28T15:17:00Z", &format!("interval_length@5 {end}/endAt")),
            ("2026-03-28T15:00:00Z", "2026-03-28T15:00:00", &format!("time_zone_needed@5 {end}/startAt")),
            ("2026-03-28T15:00:00Z", "noon", &format!("bad_time@5 {end}/startAt")),
            ("\"costEstimate\"", "\"emission\"", &format!("unknown_column@5 {end}")),
        ],
    );
}

#[test]
fn answers_cut_anywhere_are_refused() {
    for base in [page(), fixture("octopus_japan_json/two_supply_points.json")] {
        let begin = base.find("At\"").or(base.find("interval_start")).unwrap() + 20;
        for n in (begin..base.trim_end().len()).step_by(3) {
            let found = told(&base[..n], &ReadOptions::default());
            assert!(found.starts_with("bad_json@"), "{n}: {found}");
        }
    }
}

#[test]
fn hostile_answers_are_refused_early() {
    let plain = ReadOptions::default();
    let head = "{\"results\": [{\"interval_start\": \"";
    assert_eq!(told(format!("{head}{}", "x".repeat(3 << 20)), &plain), "bad_json@1");
    let named = ReadOptions { format: Some("octopus_japan_json".to_owned()), ..ReadOptions::default() };
    assert_eq!(told("{\"a\":".repeat(100_000), &named), "bad_json@1");
    assert_eq!(told("[".repeat(100_000), &named), "bad_json@1");
    assert_eq!(told("", &named), "bad_json@1");
    assert_eq!(told("{}", &named), "no_readings");
}

#[test]
fn whatever_comes_is_read_or_refused() {
    for (format, base) in
        [("octopus_json", page()), ("octopus_japan_json", fixture("octopus_japan_json/two_supply_points.json"))]
    {
        let options = ReadOptions { format: Some(format.to_owned()), ..ReadOptions::default() };
        mutate(base.as_bytes(), &options, 300);
    }
}
