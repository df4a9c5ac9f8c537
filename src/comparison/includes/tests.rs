//! Which version is in force on which days, and tariffs put together.

use super::*;
use crate::store::NewPlanVersion;
use crate::words::Timestamp;

fn version(number: u32, from: Option<&str>, to: Option<&str>) -> PlanVersion {
    PlanVersion {
        plan_id: "flat".parse().unwrap(),
        version: number,
        content: NewPlanVersion {
            document: "{}".to_owned(),
            source: None,
            media_type: "application/json".to_owned(),
            in_force_from: from.map(|date| date.parse().unwrap()),
            in_force_to: to.map(|date| date.parse().unwrap()),
            name: "Flat".to_owned(),
            currency: "GBP".to_owned(),
            provider: None,
            territory: None,
            tags: Vec::new(),
        },
        created_at: Timestamp::from_micros(0),
    }
}

fn stretches(versions: &[PlanVersion]) -> Result<Vec<(u32, String)>, Vec<String>> {
    let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
    versions_in_force(june, &versions.iter().collect::<Vec<_>>())
        .map(|all| all.iter().map(|(v, days)| (v.version, format!("{}/{}", days.start(), days.end()))).collect())
        .map_err(|days| days.iter().map(|d| format!("{}/{}", d.start, d.end)).collect())
}

#[test]
fn on_each_day_the_highest_version_that_applies_is_in_force() {
    let all = [
        version(1, None, None),
        version(2, Some("2026-06-11"), None),
        version(3, Some("2026-06-20"), Some("2026-06-21")),
    ];
    let expected = [
        (1, "2026-06-01/2026-06-11"),
        (2, "2026-06-11/2026-06-20"),
        (3, "2026-06-20/2026-06-21"),
        (2, "2026-06-21/2026-07-01"),
    ];
    assert_eq!(stretches(&all).unwrap(), expected.map(|(v, days)| (v, days.to_owned())));
}

#[test]
fn days_without_a_version_are_named() {
    let all = [version(1, Some("2026-06-02"), Some("2026-06-11")), version(2, Some("2026-06-12"), Some("2026-06-30"))];
    let expected = ["2026-06-01/2026-06-02", "2026-06-11/2026-06-12", "2026-06-30/2026-07-01"];
    assert_eq!(stretches(&all).unwrap_err(), expected);
}

/// A plan of one charge under the names of what it includes.
fn including(includes: &[(&str, &str)]) -> Arc<Tariff> {
    let include: BTreeMap<&str, &str> = includes.iter().copied().collect();
    let charges = serde_json::json!([{"id": "own", "kind": "fixed", "price": "1"}]);
    let document = serde_json::json!({"name": "n", "currency": "GBP", "include": include, "charges": charges});
    Arc::new(Tariff::from_json(&document.to_string()).unwrap())
}

type Days = (Option<&'static str>, Option<&'static str>);

/// A version of a plan and its days.
type InForce = (Days, Arc<Tariff>);

/// Versions of plans, from 1 on.
fn library(plans: &[(&str, &[InForce])]) -> Library {
    let date = |text: Option<&str>| text.map(|text| text.parse().unwrap());
    let editions = |versions: &[InForce]| {
        let edition = |(number, (days, tariff)): (u32, &InForce)| Edition {
            number,
            days: (date(days.0), date(days.1)),
            tariff: Some(Arc::clone(tariff)),
        };
        (1..).zip(versions).map(edition).collect()
    };
    Library(plans.iter().map(|(id, versions)| (id.parse().unwrap(), editions(versions))).collect())
}

/// The stretches of June with the ids of the charges and the versions of included plans, or the faults.
fn june(library: &Library, tariff: &Arc<Tariff>) -> Result<Vec<String>, Vec<(String, String, String)>> {
    let days = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
    let version = VersionInForce { version: 1, days, tariff: Arc::clone(tariff) };
    let plan = PlanToBill { reference: "top".parse().unwrap(), versions: vec![version] };
    let (plans, recorded) = put_together(library, &TariffCache::new(10), &"local".parse().unwrap(), vec![plan]);
    let mut stretches = Vec::new();
    for version in &plans[0].versions {
        if let Some(errors) = version.tariff.not_included() {
            return Err(errors.0.iter().map(|e| (e.code.clone(), e.pointer.clone(), e.message.clone())).collect());
        }
        let ids: Vec<&str> = version.tariff.plan().charges.iter().map(|charge| charge.id.as_str()).collect();
        let of = |included: &IncludedTariff| format!("{}@{}", included.plan_id, included.version);
        let included: Vec<String> = version.tariff.included().iter().map(of).collect();
        let start = version.days.start();
        stretches.push(format!("{start} {} of {}", ids.join(" "), included.join(" ")));
    }
    for plan in recorded {
        stretches.push(format!("{} {:?} of {}", plan.plan_id, plan.versions, plan.newest_version));
    }
    Ok(stretches)
}

const ALWAYS: Days = (None, None);

#[test]
fn a_stretch_is_cut_where_an_included_plan_changes() {
    let leaf = including(&[]);
    let versions = [
        (ALWAYS, Arc::clone(&leaf)),
        ((Some("2026-06-11"), None), Arc::clone(&leaf)),
        ((Some("2027-01-01"), None), leaf),
    ];
    let middle = including(&[("b", "low")]);
    let library = library(&[
        ("low", &versions),
        ("middle", &[(ALWAYS, Arc::clone(&middle)), ((Some("2026-06-20"), Some("2026-06-21")), middle)]),
    ]);
    assert_eq!(
        june(&library, &including(&[("a", "middle"), ("z", "low")])).unwrap(),
        [
            "2026-06-01 a_b_own a_own z_own own of middle@1 low@1",
            "2026-06-11 a_b_own a_own z_own own of middle@1 low@2",
            "2026-06-20 a_b_own a_own z_own own of middle@2 low@2",
            "2026-06-21 a_b_own a_own z_own own of middle@1 low@2",
            "low [1, 2] of 3",
            "middle [1, 2] of 2",
        ]
    );
}

#[test]
fn what_cannot_be_included_is_told_at_its_place() {
    let fault = |plans: &[(&str, &[InForce])], tariff: &Arc<Tariff>| {
        let mut faults = june(&library(plans), tariff).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults.remove(0)
    };
    let one = including(&[("a", "one")]);
    let (code, pointer, message) = fault(&[], &one);
    assert_eq!((code.as_str(), pointer.as_str()), ("included_plan_missing", "/include/a"));
    assert!(message.contains("\"one\"") && message.contains("import it"), "{message}");

    let (code, pointer, message) =
        fault(&[("one", &[((Some("2026-06-02"), Some("2026-06-30")), including(&[]))])], &one);
    assert_eq!((code.as_str(), pointer.as_str()), ("included_plan_not_in_force", "/include/a"));
    assert!(message.contains("from 2026-06-01 to 2026-06-02, from 2026-06-30 to 2026-07-01"), "{message}");

    let (code, pointer, message) = fault(&[("one", &[(ALWAYS, including(&[("b", "two")]))])], &one);
    assert_eq!((code.as_str(), pointer.as_str()), ("included_plan_missing", "/include/a"));
    assert!(message.starts_with("in the included plan \"one\" at /include/b: the plan \"two\""), "{message}");

    let back = [(ALWAYS, including(&[("c", "top")]))];
    let (code, _, message) = fault(&[("one", &back)], &one);
    assert_eq!(code, "include_cycle");
    assert!(message.ends_with("in a circle: top, one, top"), "{message}");
    let own = fault(&[("one", &[(ALWAYS, including(&[("c", "one")]))])], &one);
    assert!(own.2.ends_with("in a circle: top, one, one"), "{}", own.2);

    let chain: Vec<(String, [InForce; 1])> =
        (1..=5).map(|n| (format!("p{n}"), [(ALWAYS, including(&[("x", &format!("p{}", n + 1))]))])).collect();
    let mut plans: Vec<(&str, &[InForce])> =
        chain.iter().map(|(id, versions)| (id.as_str(), versions.as_slice())).collect();
    let top = including(&[("x", "p1")]);
    assert_eq!(fault(&plans, &top).0, "too_deep");
    let leaf = [(ALWAYS, including(&[]))];
    plans[3] = ("p4", &leaf);
    assert_eq!(june(&library(&plans), &top).unwrap()[0], "2026-06-01 x_x_x_x_own x_x_x_own x_x_own x_own own of p1@1");
}

#[test]
fn of_files_only_those_that_no_other_includes_are_compared() {
    let plan = |id: &str, includes: &[(&str, &str)]| PlanToBill {
        reference: id.parse().unwrap(),
        versions: vec![VersionInForce {
            version: 1,
            days: BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap(),
            tariff: including(includes),
        }],
    };
    let compared = |plans: Vec<PlanToBill>| -> Vec<(String, usize)> {
        let of = |plan: &PlanToBill| {
            let tariff = &plan.versions[0].tariff;
            (plan.reference.to_string(), if tariff.not_included().is_some() { 0 } else { tariff.plan().charges.len() })
        };
        put_together_files(plans).iter().map(of).collect()
    };
    let named = |all: &[(&str, usize)]| all.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect::<Vec<_>>();
    let files =
        vec![plan("net", &[]), plan("a", &[("n", "net")]), plan("b", &[("n", "net"), ("m", "net")]), plan("c", &[])];
    assert_eq!(compared(files), named(&[("a", 2), ("b", 3), ("c", 1)]));
    assert_eq!(compared(vec![plan("a", &[("n", "net")])]), named(&[("a", 0)]));
    assert_eq!(compared(vec![plan("a", &[("n", "b")]), plan("b", &[("n", "a")])]), named(&[("a", 0), ("b", 0)]));
    assert_eq!(compared(vec![plan("a", &[("n", "a")])]), named(&[("a", 0)]));
}
