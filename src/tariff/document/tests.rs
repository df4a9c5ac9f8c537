//! What a document may hold, and every fault with its place.

mod include;

use std::fmt::Write;
use std::sync::Arc;

use super::schema::tests as schema;
use crate::tariff::{IncludedTariff, Tariff, TariffErrors};

/// A plan of these charges and further members.
fn with(more: &str, charges: &str) -> String {
    format!(r#"{{"name": "n", "currency": "USD"{more}, "charges": [{charges}]}}"#)
}

/// A plan of one energy charge with these members.
fn energy(members: &str) -> String {
    let more = r#", "schedules": {"tou": {"periods": [{"period": "on", "hours": ["14:00-19:00"]}, {"period": "off"}]},
        "season": {"periods": [{"period": "summer", "months": [6, 7]}, {"period": "winter"}]}},
        "measures": {"named": {"demand": {}}}"#;
    with(more, &format!(r#"{{"id": "e", "kind": "energy", {members}}}"#))
}

fn faults(document: &str) -> Vec<(String, String)> {
    match Tariff::from_json(document) {
        Ok(_) => Vec::new(),
        Err(TariffErrors(errors)) => errors.into_iter().map(|e| (e.code, e.pointer)).collect(),
    }
}

#[track_caller]
fn refused(document: &str, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> = expected.iter().map(|(c, p)| ((*c).to_owned(), (*p).to_owned())).collect();
    assert_eq!(faults(document), expected, "{document}");
    schema::refuses(document, &expected);
}

#[track_caller]
fn accepted(document: &str) -> Tariff {
    schema::takes(document);
    Tariff::from_json(document).unwrap_or_else(|e| panic!("{e}\n{document}"))
}

#[test]
fn members_of_the_plan() {
    refused("[]", &[("wrong_type", "")]);
    refused("{", &[("invalid_json", "")]);
    refused("{}", &[("missing_field", "/name"), ("missing_field", "/currency"), ("missing_field", "/charges")]);
    let charge = r#"{"id": "e", "kind": "energy", "price": "0.1"}"#;
    refused(&with(r#", "colour": "red""#, charge), &[("unknown_field", "/colour")]);
    refused(&with(r#", "name": "m""#, charge), &[("duplicate_member", "/name")]);
    refused(&with(r#", "time_zone": "Mars/Olympus""#, charge), &[("unknown_time_zone", "/time_zone")]);
    refused(&with(r#", "tags": "a""#, charge), &[("wrong_type", "/tags")]);
    refused(
        &with(r#", "conventions": {"tier_scope": "both"}"#, charge),
        &[("unknown_choice", "/conventions/tier_scope")],
    );
    refused(&with(r#", "conventions": {"rounding": "none"}"#, charge), &[("unknown_field", "/conventions/rounding")]);
    refused(&with(r#", "rounding": {"lines": "0"}"#, charge), &[("out_of_range", "/rounding/lines")]);
    refused(
        &with(r#", "rounding": {"total": {"to": "1", "mode": "near"}}"#, charge),
        &[("unknown_choice", "/rounding/total/mode")],
    );
    refused(&with(r#", "not_billed": [{"field": "x"}]"#, charge), &[("missing_field", "/not_billed/0/reason")]);
    let optional = with(r#", "not_billed": [{"field": "x", "reason": "r", "optional": "yes"}]"#, charge);
    refused(&optional, &[("wrong_type", "/not_billed/0/optional")]);
    refused(
        r#"{"name": "n", "currency": "USd", "charges": [{"id": "e", "kind": "energy", "price": "1"}]}"#,
        &[("unknown_currency", "/currency")],
    );
    refused(&with("", ""), &[("missing_field", "/charges")]);
    let tariff = accepted(&with(
        r#", "provider": "P", "territory": "US-IL", "tags": ["a"], "source": "s", "notes": "n""#,
        charge,
    ));
    assert_eq!((tariff.provider(), tariff.territory(), tariff.tags().len()), (Some("P"), Some("US-IL"), 1));
    assert_eq!((tariff.name(), tariff.currency(), tariff.look_back_months()), ("n", "USD", 0));
}

#[test]
fn every_fault_of_a_document_is_named() {
    let charges = r#"{"id": "E", "kind": "energy", "price": 0.1}, {"id": "f", "kind": "fixd", "price": "x"},
        {"id": "g", "kind": "fixed", "price": "1e3", "highest": 3}"#;
    refused(
        &with(r#", "extra": 1"#, charges),
        &[
            ("unknown_field", "/extra"),
            ("bad_name", "/charges/0/id"),
            ("not_a_text", "/charges/0/price"),
            ("unknown_choice", "/charges/1/kind"),
            ("not_a_number", "/charges/2/price"),
            ("unknown_field", "/charges/2/highest"),
        ],
    );
}

#[test]
fn schedules() {
    let schedule = |rule: &str| {
        with(
            &format!(r#", "schedules": {{"s": {{"periods": [{rule}]}}}}"#),
            r#"{"id": "e", "kind": "energy", "price": "1"}"#,
        )
    };
    let place = |field: &str| format!("/schedules/s/periods/0/{field}");
    for (rule, code, field) in [
        (r#"{"period": "P"}"#, "bad_name", "period"),
        ("{}", "missing_field", "period"),
        (r#"{"period": "p", "months": [0]}"#, "out_of_range", "months/0"),
        (r#"{"period": "p", "months": [13]}"#, "out_of_range", "months/0"),
        (r#"{"period": "p", "months": []}"#, "missing_field", "months"),
        (r#"{"period": "p", "season": "06-31/07-01"}"#, "bad_date", "season"),
        (r#"{"period": "p", "season": "06-01/06-01"}"#, "bad_date", "season"),
        (r#"{"period": "p", "days": "workdays"}"#, "unknown_choice", "days"),
        (r#"{"period": "p", "days": ["monday"]}"#, "unknown_choice", "days/0"),
        (r#"{"period": "p", "days": []}"#, "missing_field", "days"),
        (r#"{"period": "p", "hours": ["7:00-8:00"]}"#, "bad_window", "hours/0"),
        (r#"{"period": "p", "hours": ["07:00-07:00"]}"#, "bad_window", "hours/0"),
        (r#"{"period": "p", "hours": ["24:00-01:00"]}"#, "bad_window", "hours/0"),
        (r#"{"period": "p", "hours": ["23:60-24:00"]}"#, "bad_window", "hours/0"),
        (r#"{"period": "p", "hours": []}"#, "missing_field", "hours"),
        (r#"{"period": "p", "during": "Peaks"}"#, "bad_name", "during"),
        (r#"{"period": "p", "during": "2026-07-15T14:00Z/PT1H"}"#, "bad_name", "during"),
        (r#"{"period": "p", "during": []}"#, "missing_field", "during"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00-04:00"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00/2026-07-15T15:00"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00Z/2026-07-15T14:00Z"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00:30Z/PT1H"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00Z/P1D"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00Z/PT"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00Z/PT0M"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["1969-07-15T14:00Z/PT1H"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-7-15T14:00Z/PT1H"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": ["2026-07-15T14:00+0100/PT1H"]}"#, "bad_interval", "during/0"),
        (r#"{"period": "p", "during": [5]}"#, "wrong_type", "during/0"),
        (r#"{"period": "p", "colour": 1}"#, "unknown_field", "colour"),
        (r#"{"period": "p", "days": ["holiday"]}"#, "unknown_name", "days/0"),
    ] {
        refused(&schedule(rule), &[(code, &place(field))]);
    }
    refused(&schedule(""), &[("missing_field", "/schedules/s/periods")]);
    let calendar = with(
        r#", "schedules": {"s": {"holidays": ["us"], "periods": [{"period": "p"}]}}"#,
        r#"{"id": "e", "kind": "energy", "price": "1"}"#,
    );
    assert!(accepted(&calendar).calendars().contains("us"));
    refused(&calendar.replace("\"us\"", "\"U.S.\""), &[("bad_name", "/schedules/s/holidays/0")]);
    accepted(&schedule(r#"{"period": "p", "hours": ["22:30-06:30", "12:00-24:00", "00:00-00:00"]}"#.replace(r#", "00:00-00:00""#, "").as_str()));
    let many = vec![r#"{"period": "p"}"#; 10_001].join(",");
    assert!(faults(&schedule(&many)).contains(&("too_many".to_owned(), "/schedules".to_owned())));
}

#[test]
fn ladders() {
    refused(&energy(r#""price": "1", "steps": [{"price": "1"}]"#), &[("conflicting_fields", "/charges/0")]);
    refused(&with("", r#"{"id": "e", "kind": "energy"}"#), &[("missing_price", "/charges/0")]);
    refused(&energy(r#""steps": []"#), &[("missing_price", "/charges/0/steps")]);
    refused(&energy(r#""steps": [{"price": "1"}, {"price": "2"}]"#), &[("open_inner_step", "/charges/0/steps/0")]);
    refused(&energy(r#""steps": [{"to": "5"}]"#), &[("missing_price", "/charges/0/steps/0")]);
    refused(
        &energy(r#""steps": [{"to": "5", "price": "1"}, {"to": "5", "price": "1"}]"#),
        &[("bounds_fall", "/charges/0/steps/1/to")],
    );
    refused(
        &energy(r#""steps": [{"price": "1", "percent": "1"}]"#),
        &[("conflicting_fields", "/charges/0/steps/0/percent")],
    );
    refused(&energy(r#""price": "0.1234567890123456789""#), &[("too_many_digits", "/charges/0/price")]);
    refused(&energy(r#""price": "1234567890123456789""#), &[("too_many_digits", "/charges/0/price")]);
    refused(&energy(r#""percent": "0.12345678901""#), &[("too_many_digits", "/charges/0/percent")]);
    refused(&energy(r#""schedule": "tou", "prices": {"on": "1"}"#), &[("missing_price", "/charges/0/prices")]);
    refused(
        &energy(r#""schedule": "tou", "prices": {"on": "1", "off": "2", "shoulder": "3"}"#),
        &[("unknown_name", "/charges/0/prices/shoulder")],
    );
    refused(&energy(r#""prices": {"on": "1"}"#), &[("missing_price", "/charges/0/prices")]);
    refused(&energy(r#""schedule": "tou", "price": "1""#), &[("missing_price", "/charges/0")]);
    refused(&energy(r#""schedule": "tuo", "period": "on", "price": "1""#), &[("unknown_name", "/charges/0/schedule")]);
    refused(
        &energy(r#""schedule": "tou", "period": "shoulder", "price": "1""#),
        &[("unknown_name", "/charges/0/period")],
    );
    refused(&energy(r#""period": "on", "price": "1""#), &[("missing_field", "/charges/0/period")]);
    refused(
        &energy(r#""measure": "named", "schedule": "tou", "prices": {"on": "1", "off": "1"}"#),
        &[("composed_under_hours", "/charges/0/prices")],
    );
    accepted(&energy(r#""measure": "named", "schedule": "season", "prices": {"summer": "1", "winter": "1"}"#));
    refused(
        &energy(r#""measure": "named", "resets": "day", "steps": [{"price": "1"}]"#),
        &[("composed_under_hours", "/charges/0/resets")],
    );
    refused(
        &energy(r#""resets": "day", "chosen_by": "days", "steps": [{"price": "1"}]"#),
        &[("conflicting_fields", "/charges/0/chosen_by")],
    );
    let mut steps = String::new();
    for i in 1..=1_001 {
        write!(steps, r#"{{"to": "{i}", "price": "1"}},"#).unwrap();
    }
    let steps = steps.trim_end_matches(',');
    refused(&energy(&format!(r#""steps": [{steps}]"#)), &[("too_many", "/charges/0/steps")]);
}

#[test]
fn measures() {
    let measure = |measure: &str| energy(&format!(r#""price": "1", "measure": {measure}"#));
    for (text, code, place) in [
        ("5", "not_a_text", ""),
        ("true", "wrong_type", ""),
        (r#""unknown""#, "unknown_name", ""),
        (r#""5x""#, "not_a_number", ""),
        ("{}", "one_key", ""),
        (r#"{"energy": {}, "days": {}}"#, "one_key", ""),
        (r#"{"power": {}}"#, "unknown_field", "/power"),
        (r#"{"energy": {"chanel": "import"}}"#, "unknown_field", "/energy/chanel"),
        (r#"{"energy": {"channel": "Import"}}"#, "bad_name", "/energy/channel"),
        (r#"{"energy": {"schedule": "tou"}}"#, "missing_field", "/energy/schedule"),
        (r#"{"energy": {"period": "on"}}"#, "missing_field", "/energy/period"),
        (r#"{"days": {}}"#, "missing_field", "/days"),
        (r#"{"demand": {"window_minutes": 0}}"#, "out_of_range", "/demand/window_minutes"),
        (r#"{"demand": {"highest": 1.5}}"#, "out_of_range", "/demand/highest"),
        (r#"{"demand": {"sliding": true}}"#, "missing_field", "/demand/sliding"),
        (r#"{"demand": {"day_value": "mean"}}"#, "conflicting_fields", "/demand/day_value"),
        (r#"{"net_energy": {"carry_until": "13-01"}}"#, "bad_date", "/net_energy/carry_until"),
        (r#"{"amount": ["nobody"]}"#, "unknown_name", "/amount/0"),
        (r#"{"amount": ["f", "fees"]}"#, "duplicate_name", "/amount"),
        (r#"{"by_date": {}}"#, "missing_field", "/by_date"),
        (r#"{"by_date": {"2026-13": "1"}}"#, "bad_date", "/by_date/2026-13"),
        (r#"{"by_date": {"2026-01": "1", "2026-01-01": "2"}}"#, "duplicate_name", "/by_date"),
        (r#"{"sum": []}"#, "missing_field", "/sum"),
        (r#"{"divide": ["1"]}"#, "wrong_type", "/divide"),
        (r#"{"round": {"of": "1"}}"#, "missing_field", "/round/to"),
        (r#"{"over_months": {"of": "1", "last": 0, "take": "max"}}"#, "out_of_range", "/over_months/last"),
        (r#"{"over_months": {"of": "1", "last": 1, "take": "least"}}"#, "unknown_choice", "/over_months/take"),
    ] {
        let document =
            measure(text).replace("]}", r#", {"id": "f", "kind": "fixed", "group": "fees", "price": "1"}]}"#);
        // The last list of the document is that of the charges.
        let document = if document.matches(r#""id": "f""#).count() == 1 {
            document
        } else {
            let end = measure(text);
            format!(r#"{}, {{"id": "f", "kind": "fixed", "group": "fees", "price": "1"}}]}}"#, &end[..end.len() - 2])
        };
        let got = faults(&document);
        assert_eq!(got, [(code.to_owned(), format!("/charges/0/measure{place}"))], "{document}");
    }
    let nested = format!("{}\"1\"{}", r#"{"sum": ["#.repeat(101), "]}".repeat(101));
    assert_eq!(faults(&measure(&nested))[0].0, "too_deep");
    let far = r#"{"over_months": {"of": {"over_months": {"of": {"demand": {}}, "last": 30, "take": "max"}}, "last": 30, "take": "max"}}"#;
    refused(&measure(far), &[("out_of_range", "/charges")]);
}

#[test]
fn names_and_circles() {
    let fixed = |id: &str, measure: &str| {
        format!(r#"{{"id": "{id}", "kind": "subtotal", "price": "1", "measure": {measure}}}"#)
    };
    let twice = format!("{},{}", fixed("a", r#""1""#), fixed("a", r#""1""#));
    refused(&with("", &twice), &[("duplicate_name", "/charges/1/id")]);
    let circle = format!(
        "{},{},{}",
        fixed("a", r#"{"amount": ["b"]}"#),
        fixed("b", r#"{"amount": ["c"]}"#),
        fixed("c", r#"{"amount": ["a"]}"#)
    );
    refused(&with("", &circle), &[("cycle", "/charges/0")]);
    let own = fixed("a", r#"{"amount": ["a"]}"#);
    refused(&with("", &own), &[("cycle", "/charges/0")]);
    let measures = r#", "measures": {"x": {"sum": ["1", "y"]}, "y": {"sum": ["1", "x"]}}"#;
    assert_eq!(faults(&with(measures, &fixed("a", r#""x""#)))[0].0, "cycle");
    // Each of two hundred taxes is on the one before it.
    let mut charges = fixed("c0", r#""1""#);
    for i in 1..200 {
        write!(charges, r#",{{"id": "c{i}", "kind": "tax", "percent": "1", "on": ["c{}"]}}"#, i - 1).unwrap();
    }
    assert_eq!(faults(&with("", &charges))[0].0, "too_deep");
    // A hundred sums of two equal parts are not two to the hundredth measures.
    let mut measures = r#"{"m0": {"demand": {}}"#.to_owned();
    for i in 1..100 {
        write!(measures, r#", "m{i}": {{"sum": ["m{0}", {{"divide": ["m{0}", "m{0}"]}}]}}"#, i - 1).unwrap();
    }
    let deep = with(&format!(r#", "measures": {measures}}}"#), &fixed("a", r#""m49""#));
    accepted(&deep);
}

#[test]
fn kinds_take_their_own_members_only() {
    let charge = |kind: &str, members: &str| with("", &format!(r#"{{"id": "a", "kind": "{kind}", {members}}}"#));
    refused(&charge("energy", r#""price": "1", "highest": 2"#), &[("unknown_field", "/charges/0/highest")]);
    refused(&charge("fixed", r#""price": "1", "channel": "import""#), &[("unknown_field", "/charges/0/channel")]);
    refused(&charge("minimum", r#""price": "1""#), &[("missing_field", "/charges/0/floor")]);
    refused(&charge("minimum", r#""floor": "1", "measure": "1""#), &[("conflicting_fields", "/charges/0/floor")]);
    refused(&charge("subtotal", r#""price": "1""#), &[("missing_field", "/charges/0/measure")]);
    refused(
        &charge("demand", r#""price": "1", "ratchet": {"percent": "80"}"#),
        &[("missing_field", "/charges/0/ratchet/last")],
    );
    refused(
        &charge("fixed", r#""price": "1", "from": "2026-01-01", "to": "2026-01-01""#),
        &[("bad_date", "/charges/0/to")],
    );
    refused(&charge("fixed", r#""price": "1", "from": "1 May""#), &[("bad_date", "/charges/0/from")]);
    let tariff = accepted(&charge("fixed", r#""price": "1", "capacity": "contract_kw""#));
    assert!(tariff.attributes().contains("contract_kw"));
    let tariff =
        accepted(&charge("demand", r#""price": "1", "ratchet": {"percent": "80", "last": 11}, "at_least": "5""#));
    assert_eq!(tariff.look_back_months(), 11);
    let tariff =
        accepted(&charge("energy", r#""resets": "year", "steps": [{"to": "5", "price": "1"}, {"price": "2"}]"#));
    assert_eq!(tariff.look_back_months(), 12);
}

#[test]
fn conditions() {
    let charge = |condition: &str| {
        with("", &format!(r#"{{"id": "a", "kind": "fixed", "price": "1", "condition": {condition}}}"#))
    };
    for (condition, words) in [
        (r#"{"attribute": "direct_debit"}"#, "direct_debit is true"),
        (r#"{"attribute": "direct_debit", "is": false}"#, "direct_debit is false"),
        (r#"{"attribute": "method", "is": "Direct-Debit"}"#, "method is Direct-Debit"),
        (r#"{"attribute": "kw", "at_least": "10"}"#, "kw is at least 10"),
        (r#"{"attribute": "kw", "at_most": "9.50"}"#, "kw is at most 9.5"),
        (r#"{"attribute": "kw", "at_least": "10", "at_most": "10"}"#, "kw is at least 10 and at most 10"),
    ] {
        let tariff = accepted(&charge(condition));
        assert_eq!(tariff.plan().charges[0].condition.as_ref().unwrap().to_string(), words);
        assert_eq!(tariff.attributes().len(), 1, "{condition}");
    }
    for (condition, code, place) in [
        ("true", "wrong_type", ""),
        ("{}", "missing_field", "/attribute"),
        (r#"{"attribute": "Direct debit"}"#, "bad_name", "/attribute"),
        (r#"{"attribute": "a", "is": "10"}"#, "wrong_type", "/is"),
        (r#"{"attribute": "a", "is": null}"#, "wrong_type", "/is"),
        (r#"{"attribute": "a", "is": "x", "at_least": "1"}"#, "conflicting_fields", "/is"),
        (r#"{"attribute": "a", "at_least": 1}"#, "not_a_text", "/at_least"),
        (r#"{"attribute": "a", "at_least": "2", "at_most": "1"}"#, "out_of_range", ""),
        (r#"{"attribute": "a", "below": "1"}"#, "unknown_field", "/below"),
    ] {
        refused(&charge(condition), &[(code, &format!("/charges/0/condition{place}"))]);
    }
}

#[test]
fn rules_within_instants() {
    let rule = |during: &str| {
        let more = format!(r#", "schedules": {{"s": {{"periods": [{{"period": "p", "during": [{during}]}}]}}}}"#);
        with(&more, r#"{"id": "e", "kind": "energy", "price": "1"}"#)
    };
    let bounds = |during: &str| accepted(&rule(during)).plan().schedules[0].bounds().to_vec();
    // 2026-07-15T18:00Z
    let two = 1_784_138_400;
    for during in [
        r#""2026-07-15T14:00-04:00/2026-07-15T15:00-04:00""#,
        r#""2026-07-15T18:00Z/PT1H""#,
        r#""2026-07-15T18:00:00Z/2026-07-15T19:00:00+00:00""#,
        r#""2026-07-15T18:30:00Z/PT30M", "2026-07-15T20:00+02:00/PT0H30M""#,
    ] {
        assert_eq!(bounds(during), [two, two + 3600], "{during}");
    }
    let many = vec![r#""2026-07-15T18:00Z/PT1M""#; 10_001].join(", ");
    refused(&rule(&many), &[("too_many", "/schedules/s/periods/0/during")]);
}

#[test]
fn rules_within_the_events_of_a_list() {
    let plan = |lists: &[&str]| {
        let rules: Vec<String> = lists.iter().map(|list| format!(r#"{{"period": "p", "during": "{list}"}}"#)).collect();
        let more = format!(r#", "schedules": {{"s": {{"periods": [{}]}}}}"#, rules.join(", "));
        with(&more, r#"{"id": "e", "kind": "energy", "price": "1"}"#)
    };
    let tariff = accepted(&plan(&["peaks", "days", "peaks"]));
    assert!(tariff.event_lists().iter().eq(["days", "peaks"]));
    assert_eq!(tariff.plan().schedules[0].bounds(), [0; 0], "none until they are known");
    let events = |stretches: Vec<(i64, i64)>| {
        crate::words::Instants::new(stretches.into_iter().map(|(start, end)| start..end).collect())
    };
    let lists =
        [("peaks".to_owned(), events(vec![(0, 60), (120, 180)])), ("other".to_owned(), events(vec![(300, 360)]))]
            .into();
    let tariff = tariff.with_events(&lists);
    let schedule = &tariff.plan().schedules[0];
    assert_eq!(schedule.bounds(), [0, 60, 120, 180]);
    assert!(schedule.is_touched(&(150..151)) && !schedule.is_touched(&(60..120)));
    let names: Vec<String> = (0..17).map(|n| format!("l{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    accepted(&plan(&names[..16]));
    refused(&plan(&names), &[("too_many", "/schedules/s/periods/16/during")]);
}

#[test]
fn prices_by_series() {
    let full = r#""price": {"series": "spot", "factor": "1.05", "adder": {"by_date": {"2026-01": "0.02"}}}"#;
    assert_eq!(accepted(&energy(full)).price_series().iter().collect::<Vec<_>>(), ["spot"]);
    for good in [
        r#""channel": "heat_pump", "price": {"series": "spot"}"#,
        r#""schedule": "tou", "period": "on", "price": {"series": "spot"}"#,
        r#""schedule": "tou", "prices": {"on": {"series": "spot"}, "off": "0.1"}"#,
        r#""schedule": "tou", "steps": {"on": [{"price": {"series": "a"}, "amount": "1"}], "off": [{"to": "5", "price": "1"}, {"price": "2"}]}"#,
        r#""measure": {"energy": {"schedule": "tou", "period": "on"}}, "price": {"series": "spot"}"#,
    ] {
        assert_eq!(accepted(&energy(good)).price_series().len(), 1, "{good}");
    }
    let place = "/charges/0/price";
    for (members, code, pointer) in [
        (r#""price": {"series": "Spot"}"#, "bad_name", "/charges/0/price/series"),
        (r#""price": {"series": "spot", "factor": 2}"#, "not_a_text", "/charges/0/price/factor"),
        (r#""price": {"series": "spot", "times": "2"}"#, "unknown_field", "/charges/0/price/times"),
        (r#""price": {"sum": ["1", {"series": "spot"}]}"#, "unknown_field", "/charges/0/price/sum/1/series"),
        (r#""measure": {"net_energy": {}}, "price": {"series": "spot"}"#, "series_without_energy", place),
        (r#""measure": "named", "price": {"series": "spot"}"#, "series_without_energy", place),
        (r#""steps": [{"to": "5", "price": {"series": "spot"}}]"#, "series_with_steps", "/charges/0/steps/0/price"),
        (
            r#""schedule": "tou", "steps": {"on": [{"to": "5", "price": "1"}, {"price": {"series": "spot"}}], "off": [{"price": "1"}]}"#,
            "series_with_steps",
            "/charges/0/steps/on/1/price",
        ),
        (
            r#""measure": {"energy": {"schedule": "tou", "period": "on"}}, "schedule": "season", "prices": {"summer": {"series": "spot"}}"#,
            "series_without_energy",
            "/charges/0/prices/summer",
        ),
    ] {
        refused(&energy(members), &[(code, pointer)]);
    }
    let demand = r#"{"id": "d", "kind": "demand", "price": {"series": "spot"}}"#;
    refused(&with("", demand), &[("series_without_energy", place)]);
    let charge = r#"{"id": "e", "kind": "energy", "price": "0.1"}"#;
    refused(&with(r#", "price_series": []"#, charge), &[("unknown_field", "/price_series")]);
}

#[test]
fn the_same_document_has_the_same_canonical_text() {
    let a = r#"{"currency": "USD", "name": "n", "charges": [{"kind": "energy", "price": "0.10", "id": "e"}]}"#;
    let b =
        "{\"name\":\"n\",\n\"currency\":\"USD\",\"charges\":[{\"id\":\"e\",\"kind\":\"energy\",\"price\":\"0.10\"}]}";
    let (a, b) = (accepted(a), accepted(b));
    assert_eq!(a.canonical_json(), b.canonical_json());
    assert_eq!(accepted(a.canonical_json()).canonical_json(), a.canonical_json());
}
