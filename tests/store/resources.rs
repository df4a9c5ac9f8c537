//! Customers, plans, billing periods.

use samebill::store::*;
use samebill::words::*;

use crate::database::{customer, date, document, plan};
use crate::on_both_engines;

on_both_engines! {
    fn a_customer_gets_a_version_only_when_its_document_changes(db: &Db) {
        let (tenant, id) = (&db.tenant, customer("c-1"));
        assert!(db.store.customer(tenant, &id).unwrap().is_none());
        let put = |name| db.store.put_customer(tenant, &id, &document(name), db.now()).unwrap();
        assert!(matches!(put(None), Put::Created(Customer { version: 1, usage_revision: 0, .. })));
        assert!(matches!(put(None), Put::Unchanged(Customer { version: 1, .. })));
        assert!(matches!(put(Some("Ann")), Put::Changed(Customer { version: 2, .. })));
        assert!(matches!(put(None), Put::Changed(Customer { version: 3, .. })));
        let versions = db.store.customer_versions(tenant, &id, 1).unwrap();
        assert_eq!(versions.iter().map(|(version, _)| *version).collect::<Vec<_>>(), [2, 3]);
        let head = db.store.customer(tenant, &id).unwrap().unwrap();
        assert_eq!((head.version, &head.document), (3, &document(None)));
        assert_eq!(head.updated_at, versions[1].1);
        assert!(head.created_at < head.updated_at);
    }

    fn every_version_of_a_customer_can_be_read(db: &Db) {
        db.put_customer("c-1");
        db.store.put_customer(&db.tenant, &customer("c-1"), &document(Some("Ada")), db.now()).unwrap();
        let read = |version| db.store.customer_document(&db.tenant, &customer("c-1"), version).unwrap();
        assert_eq!((read(1), read(2), read(3)), (Some(document(None)), Some(document(Some("Ada"))), None));
    }

    fn lists_are_ordered_bytewise_and_go_on_after_an_id(db: &Db) {
        for id in ["b", "a-1", "B", "a", "~", "a.1", "Z9", "a_1", "9"] {
            db.put_customer(id);
            db.put_plan(id, "p", None, None);
        }
        let ids = ["9", "B", "Z9", "a", "a-1", "a.1", "a_1", "b", "~"];
        let listed = db.store.list_customers(&db.tenant, None, 100).unwrap();
        assert_eq!(listed.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ids);
        let listed = db.store.list_customers(&db.tenant, Some(&customer("a")), 3).unwrap();
        assert_eq!(listed.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["a-1", "a.1", "a_1"]);
        let listed = db.store.list_plans(&db.tenant, &PlanFilter::default(), Some(&"Z9".parse().unwrap()), 2).unwrap();
        assert_eq!(listed.iter().map(|p| p.plan_id.as_str()).collect::<Vec<_>>(), ["a", "a-1"]);
    }

    fn nothing_crosses_from_one_tenant_to_another(db: &Db) {
        let other: TenantId = "other".parse().unwrap();
        db.put_customer("c-1");
        db.put_plan("flat", "p", None, None);
        assert!(db.store.customer(&other, &customer("c-1")).unwrap().is_none());
        assert!(db.store.list_customers(&other, None, 9).unwrap().is_empty());
        assert!(db.store.plan_versions(&other, &[&"flat".parse().unwrap()]).unwrap().is_empty());
        assert!(db.store.list_plans(&other, &PlanFilter::default(), None, 9).unwrap().is_empty());
        let put = db.store.put_customer(&other, &customer("c-1"), &document(None), db.now()).unwrap();
        assert!(matches!(put, Put::Created(_)));
        let (new, row) = db.create("c-1", &["flat"]);
        assert!(db.store.comparison(&other, row.id).unwrap().is_none());
        assert!(db.store.current_by_key(&other, &new.key_digest).unwrap().is_none());
        assert!(db.store.list_comparisons(&other, &ComparisonFilter::default(), None, 9).unwrap().is_empty());
        assert!(db.store.chain(&other, &new.key_digest).unwrap().is_empty());
    }

    fn a_plan_gets_a_version_only_when_body_or_dates_change(db: &Db) {
        let id: PlanId = "flat".parse().unwrap();
        let put = |document, from| db.store.put_plan(&db.tenant, &id, &plan(document, from, None), db.now()).unwrap();
        assert!(matches!(put("one", None), Put::Created(PlanVersion { version: 1, .. })));
        assert!(matches!(put("one", None), Put::Unchanged(PlanVersion { version: 1, .. })));
        assert!(matches!(put("two", None), Put::Changed(PlanVersion { version: 2, .. })));
        assert!(matches!(put("two", Some("2026-06-01")), Put::Changed(PlanVersion { version: 3, .. })));
        assert!(matches!(put("one", None), Put::Changed(PlanVersion { version: 4, .. })));
        let plans = db.store.plan_versions(&db.tenant, &[&id, &"none".parse().unwrap()]).unwrap();
        assert_eq!(plans.len(), 1);
        let versions = &plans[&id];
        assert_eq!(versions.iter().map(|v| v.version).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(versions[2].content, plan("two", Some("2026-06-01"), None));
    }

    fn a_thousand_plans_are_read_at_once(db: &Db) {
        let ids: Vec<PlanId> = (0..1_000).map(|n| format!("p-{n}").parse().unwrap()).collect();
        for id in ids.iter().step_by(100) {
            db.put_plan(id.as_str(), "p", None, None);
        }
        let ids: Vec<&PlanId> = ids.iter().collect();
        assert_eq!(db.store.plan_versions(&db.tenant, &ids).unwrap().len(), 10);
        assert!(db.store.plan_versions(&db.tenant, &[]).unwrap().is_empty());
    }

    fn plans_are_found_by_what_their_newest_version_says(db: &Db) {
        let put = |id: &str, name: &str, provider: &str, tags: &[&str], from: Option<&str>| {
            let new = NewPlanVersion {
                name: name.to_owned(),
                provider: Some(provider.to_owned()),
                territory: Some("North".to_owned()),
                tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
                ..plan(&format!("{name} {tags:?}"), from, None)
            };
            db.store.put_plan(&db.tenant, &id.parse().unwrap(), &new, db.now()).unwrap();
        };
        put("green-1", "Grüner STROM 100%", "Acme", &["green", "x\"y"], None);
        put("night", "Night_Saver", "Acme", &["tou"], Some("2026-06-01"));
        put("flat", "Flat", "Bolt", &["old"], None);
        put("flat", "Flat again", "Bolt", &["new", "new"], None);
        let find = |filter: PlanFilter| -> Vec<String> {
            let found = db.store.list_plans(&db.tenant, &filter, None, 10).unwrap();
            found.into_iter().map(|plan| plan.plan_id.to_string()).collect()
        };
        let q = |q: &str| find(PlanFilter { q: Some(q.to_owned()), ..PlanFilter::default() });
        assert_eq!(q("grÜner strom"), ["green-1"]);
        assert_eq!(q("0%"), ["green-1"]);
        assert_eq!(q("%"), ["green-1"]);
        assert_eq!(q("t_s"), ["night"]);
        assert_eq!(q("GREEN-"), ["green-1"]);
        assert_eq!(q("\\"), [""; 0]);
        let tag = |tag: &str| find(PlanFilter { tag: Some(tag.to_owned()), ..PlanFilter::default() });
        assert_eq!((tag("tou"), tag("old"), tag("new"), tag("y")), (vec!["night".into()], vec![], vec!["flat".into()], vec![]));
        assert_eq!(find(PlanFilter { provider: Some("Acme".into()), ..PlanFilter::default() }), ["green-1", "night"]);
        assert_eq!(find(PlanFilter { provider: Some("acme".into()), ..PlanFilter::default() }), [""; 0]);
        assert_eq!(find(PlanFilter { territory: Some("North".into()), q: Some("flat".into()), ..PlanFilter::default() }), ["flat"]);
        let on = |day| find(PlanFilter { in_force_on: Some(date(day)), ..PlanFilter::default() });
        assert_eq!(on("2026-05-31"), ["flat", "green-1"]);
        assert_eq!(on("2026-06-01"), ["flat", "green-1", "night"]);
    }

    fn two_people_who_put_a_plan_at_once_make_two_versions(db: &Db) {
        let id: PlanId = "flat".parse().unwrap();
        std::thread::scope(|scope| {
            for n in 0..16 {
                let id = &id;
                scope.spawn(move || {
                    db.store.put_plan(&db.tenant, id, &plan(&format!("{n}"), None, None), db.now()).unwrap()
                });
            }
        });
        let plans = db.store.plan_versions(&db.tenant, &[&id]).unwrap();
        assert_eq!(plans[&id].iter().map(|v| v.version).collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
    }

    fn two_people_who_put_a_customer_at_once_make_one(db: &Db) {
        let barrier = std::sync::Barrier::new(16);
        let created: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        db.store.put_customer(&db.tenant, &customer("c"), &document(None), db.now()).unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|t| usize::from(matches!(t.join().unwrap(), Put::Created(_)))).sum()
        });
        assert_eq!(created, 1);
        assert_eq!(db.count("customer_versions"), 1);
    }

    fn a_registered_period_never_changes(db: &Db) {
        let period = |id: &str, start: &str, end: &str, cycle: Option<&str>| RegisteredPeriod {
            id: id.parse().unwrap(),
            start: date(start),
            end: date(end),
            cycle: cycle.map(str::to_owned),
        };
        let register = |period: &RegisteredPeriod| db.store.register_period(&db.tenant, period, db.now());
        let june = period("north-06", "2026-06-11", "2026-07-14", Some("north"));
        assert!(matches!(register(&june), Ok(Put::Created(_))));
        assert!(matches!(register(&june), Ok(Put::Unchanged(_))));
        let moved = period("north-06", "2026-06-11", "2026-07-15", Some("north"));
        assert!(matches!(register(&moved), Err(StoreError::Conflict { code: "period_registered", .. })));
        let overlapping = period("north-07", "2026-07-13", "2026-08-12", Some("north"));
        assert!(matches!(register(&overlapping), Err(StoreError::Conflict { code: "period_overlap", .. })));
        let next = period("north-07", "2026-07-14", "2026-08-12", Some("north"));
        assert!(matches!(register(&next), Ok(Put::Created(_))));
        let other_cycle = period("south-07", "2026-07-01", "2026-08-01", Some("south"));
        assert!(matches!(register(&other_cycle), Ok(Put::Created(_))));
        let no_cycle = period("any", "2026-07-01", "2026-08-01", None);
        assert!(matches!(register(&no_cycle), Ok(Put::Created(_))));
        assert_eq!(db.store.period(&db.tenant, &june.id).unwrap(), Some(june.clone()));
        assert_eq!(db.store.period(&db.tenant, &"none".parse().unwrap()).unwrap(), None);
        let found = db.store.cycle_periods(&db.tenant, "north", &(date("2026-06-20")..date("2026-07-15"))).unwrap();
        assert_eq!(found.iter().map(BillingPeriod::start).collect::<Vec<_>>(), [june.start, next.start]);
        let found = db.store.cycle_periods(&db.tenant, "north", &(date("2026-06-20")..date("2026-07-14"))).unwrap();
        assert_eq!(found.len(), 1);
        let listed = db.store.list_periods(&db.tenant, None, 10).unwrap();
        assert_eq!(listed.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(), ["any", "north-06", "north-07", "south-07"]);
    }

    /// From the second round on the cycle is there already.
    fn two_people_who_register_periods_that_overlap_do_not_both_succeed(db: &Db) {
        for round in 1..=12 {
            let barrier = std::sync::Barrier::new(4);
            let registered: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|n| {
                        let period = RegisteredPeriod {
                            id: format!("p-{round}-{n}").parse().unwrap(),
                            start: date(&format!("2026-{round:02}-01")),
                            end: date(&format!("2026-{round:02}-28")),
                            cycle: Some("c".to_owned()),
                        };
                        let barrier = &barrier;
                        scope.spawn(move || {
                            barrier.wait();
                            db.store.register_period(&db.tenant, &period, db.now())
                        })
                    })
                    .collect();
                threads.into_iter().map(|t| usize::from(t.join().unwrap().is_ok())).sum()
            });
            assert_eq!(registered, 1, "round {round}");
        }
    }
}
