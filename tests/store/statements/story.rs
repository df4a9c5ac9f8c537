//! A story in which every method of the store is called, and every condition of its lists is set.

use std::collections::BTreeSet;

use samebill::store::*;
use samebill::usage::Channel;
use samebill::words::*;

use crate::database::{Db, cause, customer, date, document, hours, import_source, midnight, plan, usage_import};

/// Names of the methods of the traits, from their text.
pub(super) fn methods_of_the_store() -> BTreeSet<&'static str> {
    let traits = [include_str!("../../../src/store/mod.rs"), include_str!("../../../src/store/imports.rs")];
    let lines = traits.into_iter().flat_map(str::lines);
    let methods: BTreeSet<&str> = lines.filter_map(|line| line.strip_prefix("    fn ")?.split('(').next()).collect();
    assert!(methods.len() > 45, "{methods:?}");
    methods
}

/// Calls every method, and says which.
pub(super) fn call_everything(db: &Db) -> BTreeSet<&'static str> {
    let mut called = BTreeSet::new();
    macro_rules! call {
        ($name:ident($($argument:expr),* $(,)?)) => {{
            called.insert(stringify!($name));
            db.store.$name($($argument),*)
        }};
    }
    let tenant = &db.tenant;
    let c_1 = customer("c-1");
    call!(check_ready()).unwrap();

    // Customers, with a cycle, attributes and a meter point.
    let point = MeterPoint { id: "m-1".to_owned(), channel: Channel::import() };
    let with_point = CustomerDocument {
        meter_points: vec![point],
        billing_cycle: Some("north".to_owned()),
        ..document(Some("Ada"))
    };
    call!(put_customer(tenant, &c_1, &document(None), db.now())).unwrap();
    call!(put_customer(tenant, &c_1, &with_point, db.now())).unwrap();
    call!(put_customer(tenant, &c_1, &with_point, db.now())).unwrap();
    call!(customer(tenant, &c_1)).unwrap().unwrap();
    call!(list_customers(tenant, Some(&customer("a")), 10)).unwrap();
    call!(customer_document(tenant, &c_1, 1)).unwrap().unwrap();
    call!(customer_versions(tenant, &c_1, 0)).unwrap();

    // Plans in several versions, with tags.
    let flat: PlanId = "flat".parse().unwrap();
    let tagged = NewPlanVersion { tags: vec!["green".to_owned()], ..plan("1", None, Some("2026-07-01")) };
    call!(put_plan(tenant, &flat, &tagged, db.now())).unwrap();
    call!(put_plan(tenant, &flat, &tagged, db.now())).unwrap();
    call!(put_plan(tenant, &"other".parse().unwrap(), &plan("2", None, None), db.now())).unwrap();
    call!(plan_versions(tenant, &[&flat])).unwrap();
    let some = |text: &str| Some(text.to_owned());
    for filter in [
        PlanFilter::default(),
        PlanFilter { q: some("f"), ..PlanFilter::default() },
        PlanFilter { provider: some("p"), ..PlanFilter::default() },
        PlanFilter { territory: some("t"), ..PlanFilter::default() },
        PlanFilter { tag: some("green"), ..PlanFilter::default() },
        PlanFilter { in_force_on: Some(date("2026-06-01")), ..PlanFilter::default() },
        PlanFilter {
            q: some("f"),
            provider: some("p"),
            territory: some("t"),
            tag: some("green"),
            in_force_on: Some(date("2026-06-01")),
        },
    ] {
        call!(list_plans(tenant, &filter, None, 10)).unwrap();
        call!(list_plans(tenant, &filter, Some(&flat), 10)).unwrap();
    }

    // Periods of a cycle and without one.
    let period = |id: &str, start: &str, end: &str, cycle: Option<&str>| RegisteredPeriod {
        id: id.parse().unwrap(),
        start: date(start),
        end: date(end),
        cycle: cycle.map(str::to_owned),
    };
    let june = period("june", "2026-06-01", "2026-07-01", Some("north"));
    call!(register_period(tenant, &june, db.now())).unwrap();
    call!(register_period(tenant, &june, db.now())).unwrap();
    call!(register_period(tenant, &period("may", "2026-05-01", "2026-06-01", None), db.now())).unwrap();
    let overlapping = period("late-june", "2026-06-15", "2026-07-15", Some("north"));
    call!(register_period(tenant, &overlapping, db.now())).unwrap_err();
    call!(period(tenant, &"june".parse().unwrap())).unwrap().unwrap();
    call!(list_periods(tenant, None, 10)).unwrap();
    call!(cycle_periods(tenant, "north", &(date("2026-01-01")..date("2027-01-01")))).unwrap();

    // Calendars, price series and event lists.
    let window = midnight("2026-06-01")..midnight("2026-07-01");
    let shared = |after_version: u32, content: &str| NewSharedInput {
        after_version,
        content: content.as_bytes().to_vec(),
        summary: "{}".to_owned(),
        changed: Some(midnight("2026-06-01")..midnight("2026-07-01")),
    };
    let us: InputName = "us".parse().unwrap();
    for kind in SharedKind::ALL {
        call!(put_shared_input(tenant, kind, &us, &shared(0, "first"), db.now())).unwrap().unwrap();
        call!(shared_inputs(tenant, kind, &[&us])).unwrap();
        call!(shared_input_version(tenant, kind, &us, 1)).unwrap().unwrap();
        call!(shared_input_versions(tenant, kind, &us)).unwrap();
        call!(list_shared_inputs(tenant, kind, Some(&"a".parse().unwrap()), 10)).unwrap();
    }

    // Readings: added, corrected, looked at, taken back.
    let usage = |days, kwh| usage_import(hours(days, kwh), OnConflict::default());
    let add = usage("2026-06-01".."2026-07-01", 1_000_000);
    call!(preview_import(tenant, &c_1, &add, db.now())).unwrap();
    call!(import_usage(tenant, &c_1, &add, db.now())).unwrap();
    let again = UsageImport { id: ImportId::new(), ..add.clone() };
    call!(import_usage(tenant, &c_1, &again, db.now())).unwrap();
    let stored = call!(usage(tenant, &c_1, window.clone())).unwrap();
    call!(readings(tenant, &c_1, Some(window.clone()))).unwrap();
    call!(readings(tenant, &c_1, None)).unwrap();

    // A comparison with plans and shared inputs, stored twice, read in every way.
    let question = |references: &[&str]| {
        let mut new = db.question("c-1", references);
        let recorded = |kind| RecordedShared { kind, id: us.clone(), version: 1, used: window.clone() };
        new.inputs.shared = SharedKind::ALL.map(recorded).to_vec();
        let (start, end) = (date("2026-01-01"), date("2026-07-01"));
        new.inputs.cycle = Some(RecordedCycle { id: "north".to_owned(), start, end, n_periods: 1 });
        new
    };
    let first = question(&["flat", "other@1"]);
    let Inserted::Created(row) = call!(insert_comparison(&first, db.now())).unwrap() else { panic!("not created") };
    let rival = NewComparison { id: ComparisonId::new(), ..first.clone() };
    assert_eq!(call!(insert_comparison(&rival, db.now())).unwrap(), Inserted::Lost);
    call!(current_by_key(tenant, &first.key_digest)).unwrap().unwrap();
    call!(comparison(tenant, row.id)).unwrap().unwrap();

    // Corrected, made stale, a correction taken back, superseded.
    let wrong = usage("2026-06-10".."2026-06-11", 9_000_000);
    call!(import_usage(tenant, &c_1, &wrong, db.now())).unwrap();
    let outdated = NewComparison { id: ComparisonId::new(), ..first.clone() };
    assert_eq!(call!(insert_comparison(&outdated, db.now())).unwrap(), Inserted::InputsChanged);
    call!(usage_at(tenant, &c_1, window.clone(), &stored.blocks)).unwrap().unwrap();
    call!(usage_at_revision(tenant, &c_1, window.clone(), 1)).unwrap();
    call!(usage_changes(tenant, &c_1, 2)).unwrap();
    call!(usage_revisions(tenant, &c_1, 0, 10)).unwrap();
    call!(preview_revert(tenant, wrong.id, ImportId::new(), db.now())).unwrap();
    call!(revert_import(tenant, wrong.id, ImportId::new(), db.now())).unwrap();
    call!(put_plan(tenant, &flat, &plan("3", None, None), db.now())).unwrap();
    for kind in SharedKind::ALL {
        call!(put_shared_input(tenant, kind, &us, &shared(1, "second"), db.now())).unwrap().unwrap();
    }
    assert_eq!(call!(newer_plan_versions(tenant, row.id)).unwrap().len(), 1);
    assert_eq!(call!(newer_shared_inputs(tenant, row.id)).unwrap().len(), 3);
    let newest = || {
        let mut new = question(&["flat", "other@1"]);
        for input in &mut new.inputs.shared {
            input.version = 2;
        }
        new
    };
    // Other versions of the same contents: the record of the row moves forward.
    let mut same = newest();
    same.inputs.digest = row.inputs.digest;
    let unchanged = call!(supersede(row.id, &same, &cause(false), db.now())).unwrap();
    assert!(matches!(unchanged, Superseded::Unchanged(_)), "{unchanged:?}");
    call!(import_usage(tenant, &c_1, &usage("2026-06-20".."2026-06-21", 2_000_000), db.now())).unwrap();
    let second = newest();
    let superseded = call!(supersede(row.id, &second, &cause(false), db.now())).unwrap();
    let Superseded::Created(successor) = superseded else { panic!("{superseded:?}") };
    let already = call!(supersede(row.id, &second, &cause(false), db.now())).unwrap();
    assert_eq!(already, Superseded::Already(successor.id));

    // Lists.
    let whole_june = BillingPeriod::new(date("2026-06-01"), date("2026-07-01")).unwrap();
    let reference: PlanReference = "flat".parse().unwrap();
    let none = ComparisonFilter::default;
    for filter in [
        none(),
        ComparisonFilter { customer_id: Some(c_1.clone()), ..none() },
        ComparisonFilter { period: Some(whole_june), ..none() },
        ComparisonFilter { plan: Some(reference.clone()), ..none() },
        ComparisonFilter { current: Some(true), ..none() },
        ComparisonFilter { current: Some(false), ..none() },
        ComparisonFilter { stale: Some(true), ..none() },
        ComparisonFilter { stale: Some(false), ..none() },
        ComparisonFilter { created_from: Some(db.now()), ..none() },
        ComparisonFilter { created_to: Some(db.now()), ..none() },
    ] {
        call!(list_comparisons(tenant, &filter, None, 10)).unwrap();
        call!(list_comparisons(tenant, &filter, Some((db.now(), row.id)), 10)).unwrap();
    }
    assert_eq!(call!(chain(tenant, &first.key_digest)).unwrap().len(), 2);
    call!(as_of(tenant, &c_1, db.now(), None, None)).unwrap();
    call!(as_of(tenant, &c_1, db.now(), Some(&whole_june), Some(&reference))).unwrap();

    // A file of many meter points: begun, stored, refused, done; and one that is reverted.
    call!(customers_of_meter_points(tenant, &["m-1", "m-2"])).unwrap();
    let row_of = |(place, id): (u32, &str)| MeterPointRow {
        place,
        meter_point_id: Some(id.to_owned()),
        n_readings: 24,
        state: MeterPointState::Pending,
        customer_id: None,
        part_id: None,
        code: None,
        detail: None,
    };
    let file = |digest: u8| MeterPointsImport {
        id: ImportId::new(),
        on_conflict: OnConflict::default(),
        source: import_source(digest),
        resume_key: [digest; 32],
        meter_points: (0..).zip(["m-1", "m-2"]).map(row_of).collect(),
    };
    let whole = call!(begin_meter_points(tenant, &file(5), db.now())).unwrap().id;
    assert_eq!(call!(begin_meter_points(tenant, &file(5), db.now())).unwrap().id, whole);
    let point = ShareMeterPoint { place: 0, id: "m-1".to_owned(), channels: vec![Channel::import()], n_readings: 24 };
    let share = CustomerShare {
        import_id: whole,
        customer_id: c_1.clone(),
        meter_points: vec![point],
        import: usage("2026-08-01".."2026-08-02", 1_000),
    };
    assert!(matches!(call!(import_share(tenant, &share, db.now())).unwrap(), ShareOutcome::Done(_)));
    assert_eq!(call!(import_share(tenant, &share, db.now())).unwrap(), ShareOutcome::Already);
    let refusal = MeterPointRefusal {
        place: 1,
        state: MeterPointState::Unmapped,
        customer_id: None,
        code: "meter_point_unmapped".to_owned(),
        detail: "nobody lists it".to_owned(),
    };
    call!(refuse_meter_points(tenant, whole, &[refusal])).unwrap();
    call!(finish_meter_points(tenant, whole)).unwrap();
    let states = [MeterPointState::Done, MeterPointState::Unmapped];
    call!(import_meter_points(tenant, whole, &states, Some(0), 10)).unwrap();
    call!(import_meter_points(tenant, whole, &[], None, 10)).unwrap();
    let reverted = call!(begin_meter_points(tenant, &file(6), db.now())).unwrap().id;
    call!(revert_meter_points(tenant, reverted)).unwrap();
    call!(import(tenant, whole)).unwrap();
    for filter in [
        ImportFilter::default(),
        ImportFilter { customer_id: Some(c_1.clone()), ..ImportFilter::default() },
        ImportFilter { part_of: Some(whole), ..ImportFilter::default() },
        ImportFilter { sha256: Some([5; 32]), ..ImportFilter::default() },
        ImportFilter { state: Some(ImportState::Done), ..ImportFilter::default() },
    ] {
        call!(list_imports(tenant, &filter, None, 10)).unwrap();
        call!(list_imports(tenant, &filter, Some(whole), 10)).unwrap();
    }
    called
}
