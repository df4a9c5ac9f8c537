//! Documents that include others.

use super::*;
use crate::tariff::NotBilled;

#[test]
fn includes() {
    let charge = |charge: &str| format!(r#"{{"id": "a", "kind": "fixed", "price": "1"}}{charge}"#);
    let including = |include: &str, more: &str| with(&format!(r#", "include": {include}"#), &charge(more));
    for (include, faults) in [
        ("[]", &[("wrong_type", "/include")][..]),
        (r#"{"network": 1}"#, &[("wrong_type", "/include/network")]),
        (r#"{"network": "a plan"}"#, &[("bad_name", "/include/network")]),
        (r#"{"network": "net@2"}"#, &[("bad_name", "/include/network")]),
        (r#"{"Network": "net"}"#, &[("bad_name", "/include/Network")]),
        (r#"{"net": "a", "net_work": "b"}"#, &[("duplicate_name", "/include/net_work")]),
        (r#"{"a": "net"}"#, &[("duplicate_name", "/charges/0/id")]),
    ] {
        refused(&including(include, ""), faults);
    }
    let network = r#"{"network": "net"}"#;
    let own =
        |members: &str| including(network, &format!(r#", {{"id": "b", "kind": "tax", "percent": "5"{members}}}"#));
    refused(&own(r#", "group": "network""#), &[("duplicate_name", "/charges/1/group")]);
    refused(&own(r#", "group": "network_taxes""#), &[("duplicate_name", "/charges/1/group")]);
    refused(&own(r#", "on": ["net"]"#), &[("unknown_name", "/charges/1/on/0")]);
    let tariff = accepted(&own(r#", "on": ["network_energy", "network_standing", "a"]"#));
    assert_eq!(tariff.not_included().unwrap().0[0].code, "included_plan_missing");
    assert_eq!(tariff.not_included().unwrap().0[0].pointer, "/include/network");
    let many: Vec<String> = (0..17).map(|i| format!(r#""n{i}": "net""#)).collect();
    refused(&including(&format!("{{{}}}", many.join(", ")), ""), &[("too_many", "/include")]);
    accepted(r#"{"name": "n", "currency": "GBP", "include": {"import": "a", "export": "b"}}"#);
    refused(r#"{"name": "n", "currency": "GBP"}"#, &[("missing_field", "/charges")]);
    refused(r#"{"name": "n", "currency": "GBP", "charges": []}"#, &[("missing_field", "/charges")]);
}

/// A tariff with the plans that it includes, each of version 7.
fn including(document: &str, included: &[(&str, &str)]) -> Result<Tariff, Vec<(String, String, String)>> {
    let tariff = accepted(document);
    let plans: Vec<IncludedTariff> = tariff
        .includes()
        .map(|(name, plan_id)| {
            let (_, document) = included.iter().find(|(id, _)| *id == plan_id.as_str()).unwrap();
            let tariff = Arc::new(including(document, included).unwrap());
            IncludedTariff { name: name.to_owned(), plan_id: plan_id.clone(), version: 7, tariff }
        })
        .collect();
    let faults = |errors: TariffErrors| errors.0.into_iter().map(|e| (e.code, e.pointer, e.message)).collect();
    tariff.including(plans).map_err(faults)
}

#[test]
fn an_included_plan_keeps_its_names_and_gives_its_charges() {
    let network = r#"{"name": "Network", "currency": "GBP", "time_zone": "Europe/London",
        "rounding": {"lines": "0.01"}, "conventions": {"daily_amounts": "average_month"},
        "schedules": {"tou": {"holidays": ["gb"], "periods": [{"period": "all"}]}}, "measures": {"m": "2"},
        "not_billed": [{"field": "/reactive", "reason": "no meter", "optional": true}],
        "charges": [{"id": "standing", "kind": "fixed", "price": "m", "group": "fixed"},
          {"id": "use", "kind": "energy", "schedule": "tou", "prices": {"all": "1"}, "label": "Use of network"},
          {"id": "duty", "kind": "tax", "percent": "1"}]}"#;
    let supply = r#"{"name": "Supply", "currency": "GBP", "include": {"network": "net", "again": "net"}, "measures": {"m": "3"},
        "schedules": {"tou": {"periods": [{"period": "day"}]}},
        "charges": [{"id": "standing", "kind": "fixed", "price": "m", "capacity": "kva"},
          {"id": "vat", "kind": "tax", "percent": "5"},
          {"id": "levy", "kind": "tax", "percent": "5", "on": ["network", "again_fixed", "standing"]}]}"#;
    let tariff = including(supply, &[("net", network)]).unwrap();
    let plan = tariff.plan();
    let ids: Vec<&str> = plan.charges.iter().map(|charge| charge.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "again_standing",
            "again_use",
            "again_duty",
            "network_standing",
            "network_use",
            "network_duty",
            "standing",
            "vat",
            "levy"
        ]
    );
    assert_eq!(plan.charges[0].label, "again standing");
    assert_eq!(plan.charges[1].label, "Use of network");
    let on = |charge: usize| plan.referred_charges(&plan.charges[charge]).into_iter().collect::<Vec<_>>();
    assert_eq!([on(2), on(5), on(7), on(8)], [vec![0, 1], vec![3, 4], vec![0, 1, 2, 3, 4, 5, 6], vec![0, 3, 4, 5, 6]]);
    let sources: Vec<_> = plan.charges.iter().map(|charge| charge.source).collect();
    assert_eq!(sources, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!((plan.sources[0].lines.is_some(), plan.sources[2].lines.is_some()), (true, false));
    assert!(plan.sources[1].conventions.daily_amounts.is_some() && plan.sources[2].conventions.daily_amounts.is_none());
    assert!(tariff.calendars().contains("gb") && tariff.attributes().contains("kva"));
    let named = NotBilled { field: "network: /reactive".to_owned(), reason: "no meter".to_owned(), optional: true };
    assert_eq!(plan.not_billed[1], named);
    let place = plan.place_of_charge(4);
    assert_eq!(
        (place.pointer.as_str(), place.within.unwrap().as_str()),
        ("/include/network", "in the included plan \"net\" at /charges/1")
    );
    assert_eq!(plan.place_of_charge(7).pointer, "/charges/1");
    let places = [0, 1, 2].map(|schedule| plan.place_of_schedule(schedule).pointer);
    assert_eq!(places, ["/include/again", "/include/network", "/schedules/tou"]);
    assert_eq!(tariff.canonical_json(), accepted(supply).canonical_json());

    // Of a plan that is included by an included one.
    let tenant = r#"{"name": "Flat", "currency": "GBP", "include": {"house": "supply"},
        "charges": [{"id": "share", "kind": "subtotal", "measure": {"amount": ["house_network_use", "house_again"]}, "price": "1"}]}"#;
    let tariff = including(tenant, &[("net", network), ("supply", supply)]).unwrap();
    let plan = tariff.plan();
    assert_eq!((plan.charges[4].id.as_str(), plan.charges[9].id.as_str()), ("house_network_use", "share"));
    assert_eq!(plan.referred_charges(&plan.charges[9]).into_iter().collect::<Vec<_>>(), [0, 1, 2, 4]);
    assert_eq!(plan.place_of_charge(4).pointer, "/include/house");
}

#[test]
fn what_only_the_whole_shows_is_refused_by_the_place_of_the_include() {
    let plan =
        |currency: &str, charges: &str| format!(r#"{{"name": "n", "currency": "{currency}", "charges": [{charges}]}}"#);
    let energy = r#"{"id": "energy", "kind": "energy", "price": "1"}"#;
    let supply = |on: &str| {
        format!(
            r#"{{"name": "n", "currency": "GBP", "include": {{"network": "net"}},
              "charges": [{{"id": "vat", "kind": "tax", "percent": "5", "on": {on}}}]}}"#
        )
    };
    let faults = including(&supply(r#"["network"]"#), &[("net", &plan("EUR", energy))]).unwrap_err();
    assert_eq!((faults[0].0.as_str(), faults[0].1.as_str()), ("currencies_differ", "/include/network"));
    let faults = including(&supply(r#"["network_levy"]"#), &[("net", &plan("GBP", energy))]).unwrap_err();
    assert_eq!((faults[0].0.as_str(), faults[0].1.as_str()), ("unknown_name", "/charges/0/on/0"));
    let many: Vec<String> = (0..1_000).map(|i| format!(r#"{{"id": "c{i}", "kind": "fixed", "price": "1"}}"#)).collect();
    let faults = including(&supply(r#"["network"]"#), &[("net", &plan("GBP", &many.join(",")))]).unwrap_err();
    assert_eq!((faults[0].0.as_str(), faults[0].1.as_str()), ("too_many", "/charges"));
    // A document that is put to it under another name is not the one that it includes.
    let tariff = accepted(&supply(r#"["network"]"#));
    assert_eq!(tariff.including(Vec::new()).unwrap_err().0[0].code, "included_plan_missing");
}
