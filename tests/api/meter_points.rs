//! Files of many meter points: whose they are, what is left, and what a stop, a second caller or a revert makes of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::helpers::{Client, Reply, TestApp, at_once};
use crate::on_both_engines;

/// NEM12, one day of half hours for each register: meter point, suffix, Wh an interval.
pub(crate) fn nem12(registers: &[(&str, &str, u32)]) -> String {
    let mut text = "100,NEM12,202607011200,MDP1,RET1\n".to_owned();
    for (meter, suffix, wh) in registers {
        writeln!(text, "200,{meter},{suffix},1,{suffix},N1,METER1,Wh,30,20260801").unwrap();
        let values = vec![wh.to_string(); 48].join(",");
        writeln!(text, "300,20260610,{values},A,,,20260701120000,").unwrap();
    }
    text + "900\n"
}

pub(crate) fn send(client: &Client, file: &str, query: &str) -> Reply {
    client.send("POST", &format!("/v1/imports{query}"), &[("content-type", "text/csv")], file.as_bytes())
}

#[track_caller]
fn put(client: &Client, id: &str, points: &[(&str, &str)]) {
    let points: Vec<Value> = points.iter().map(|(id, channel)| json!({"id": id, "channel": channel})).collect();
    client.put_customer(id, &json!({"time_zone": "Australia/Brisbane", "meter_points": points}));
}

/// Readings of 10 June by channel: how many, and kWh of one.
fn stored(client: &Client, customer: &str) -> Vec<(String, u64, String)> {
    let months = client.get(&format!("/v1/customers/{customer}/usage/coverage")).expect(200).json();
    let months = months["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    months.map(|m| (text(&m["channel"]), m["intervals"].as_u64().unwrap(), text(&m["kwh"]))).collect()
}

fn points_of(client: &Client, import: &Value, query: &str) -> Vec<Value> {
    let id = import["id"].as_str().expect("an id");
    client.get(&format!("/v1/imports/{id}/meter-points{query}")).expect(200).json()["items"].as_array().unwrap().clone()
}

fn revision(client: &Client, customer: &str) -> Value {
    client.get(&format!("/v1/customers/{customer}")).expect(200).json()["usage_revision"].clone()
}

/// Customers `c-0` to `c-{n-1}` with a meter point each, and a file of all of them.
pub(crate) fn many(client: &Client, n: usize) -> String {
    let names: Vec<String> = (0..n).map(|i| format!("60000{i:05}")).collect();
    for (i, name) in names.iter().enumerate() {
        put(client, &format!("c-{i}"), &[(name, "import")]);
    }
    let registers: Vec<(&str, &str, u32)> = names.iter().map(|name| (name.as_str(), "E1", 500)).collect();
    nem12(&registers)
}

on_both_engines! {
    fn each_meter_point_goes_to_the_customer_that_lists_it(app: &TestApp) {
        put(app, "c-1", &[("6001000001", "import"), ("6001000001", "export")]);
        put(app, "c-2", &[("6001000002", "import"), ("6001000002/E2", "controlled_load")]);
        put(app, "c-3", &[("6001000003", "import")]);
        put(app, "c-4", &[("6001000003", "import")]);
        put(app, "c-5", &[("6001000005", "import")]);
        put(app, "c-6", &[("6001000006", "import"), ("6001000007", "import")]);
        let file = nem12(&[
            ("6001000001", "E1", 500), ("6001000001", "B1", 250), ("6001000002", "E1", 100), ("6001000002", "E2", 1_000),
            ("6001000003", "E1", 1), ("6001000004", "E1", 1), ("6001000005", "E1", 1), ("6001000005", "B1", 1),
            ("6001000006", "E1", 1), ("6001000007", "E1", 1),
        ]);
        let would = send(app, &file, "?dry_run=true").expect(200).json();
        assert_eq!((app.database.count("imports"), app.database.count("usage_blocks")), (0, 0));
        let reply = send(app, &file, "?file_name=june.csv").expect(201);
        let did = reply.json();
        for member in ["counts", "meter_points", "customers", "not_stored", "sha256", "format", "stale_comparison_ids"] {
            assert_eq!(would[member], did[member], "{member}");
        }
        assert_eq!(reply.header("location").unwrap(), format!("/v1/imports/{}", did["id"].as_str().unwrap()));
        assert_eq!((&did["kind"], &did["state"], &did["format"], &did["file_name"]), (&json!("meter_points"), &json!("done"), &json!("nem12"), &json!("june.csv")));
        assert_eq!(did["meter_points"], json!({"pending": 0, "done": 3, "unmapped": 1, "refused": 4}));
        assert_eq!(did["counts"]["added"], 4 * 48);
        let row = |channel: &str, kwh: &str| (channel.to_owned(), 48, kwh.to_owned());
        assert_eq!(stored(app, "c-1"), [row("export", "12"), row("import", "24")]);
        assert_eq!(stored(app, "c-2"), [row("controlled_load", "48"), row("import", "4.8")]);
        for refused in ["c-3", "c-4", "c-5", "c-6"] {
            assert_eq!(stored(app, refused), []);
        }
        let told: Vec<(Value, Value)> = did["not_stored"].as_array().unwrap().iter().map(|p| (p["meter_point_id"].clone(), p["code"].clone())).collect();
        let why = |id: &str, code: &str| (json!(id), json!(code));
        assert_eq!(told, [
            why("6001000003", "meter_point_ambiguous"), why("6001000004", "meter_point_unmapped"),
            why("6001000005", "meter_point_channel_not_listed"), why("6001000006", "usage_overlap"), why("6001000007", "usage_overlap"),
        ]);
        let detail = did["not_stored"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("c-3, c-4"), "{detail}");

        let done = points_of(app, &did, "?state=done");
        assert_eq!((done.len(), &done[1]["meter_point_id"], &done[2]["meter_point_id"]), (3, &json!("6001000002"), &json!("6001000002/E2")));
        assert_eq!((&done[0]["customer_id"], &done[0]["n_readings"]), (&json!("c-1"), &json!(96)));
        assert_eq!(done[1]["part_id"], done[2]["part_id"]);
        let part = app.get(&format!("/v1/imports/{}", done[0]["part_id"].as_str().unwrap())).expect(200).json();
        assert_eq!((&part["part_of"], &part["customer_id"], &part["kind"], &part["counts"]["added"]), (&did["id"], &json!("c-1"), &json!("usage"), &json!(96)));
        assert_eq!(part["choices"], json!({"import": ["6001000001/E1"], "export": ["6001000001/B1"]}));
        let top = app.get("/v1/imports").expect(200).json();
        assert_eq!((top["items"].as_array().unwrap().len(), &top["items"][0]["id"]), (1, &did["id"]));
        let parts = app.get(&format!("/v1/imports?part_of={}", did["id"].as_str().unwrap())).expect(200).json();
        assert_eq!(parts["items"].as_array().unwrap().len(), 2);
        let page = app.get(&format!("/v1/imports/{}/meter-points?limit=3", did["id"].as_str().unwrap())).expect(200).json();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (3, &json!("2")));

        // What was missing is mended, and the same file goes on where it can.
        put(app, "c-4", &[]);
        put(app, "c-7", &[("6001000004", "import")]);
        put(app, "c-5", &[("6001000005", "import"), ("6001000005", "export")]);
        let again = send(app, &file, "").expect(201).json();
        assert_ne!(again["id"], did["id"]);
        assert_eq!(again["meter_points"], json!({"pending": 0, "done": 6, "unmapped": 0, "refused": 2}));
        assert_eq!((&again["counts"]["unchanged"], &again["counts"]["added"]), (&json!(4 * 48), &json!(4 * 48)));
        assert_eq!((revision(app, "c-1"), revision(app, "c-3")), (json!(1), json!(1)));
        let sheet = app.send("POST", "/v1/imports", &[("content-type", "text/csv"), ("accept", "text/csv")], file.as_bytes()).expect(200);
        let sheet = String::from_utf8(sheet.body).unwrap();
        let lines: Vec<&str> = sheet.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "place,meter_point_id,state,customer_id,n_readings,import_id,code,detail"));
        assert!(lines[1].contains(",6001000006,refused,c-6,0,,usage_overlap,"), "{sheet}");
    }

    fn a_file_of_many_at_once_is_stored_once_for_each_customer(app: &TestApp) {
        let file = many(app, 20);
        let replies = at_once(4, |_| send(app, &file, ""));
        for reply in &replies {
            assert!(matches!(reply.status, 200 | 201), "{}", String::from_utf8_lossy(&reply.body));
        }
        let left = app.get("/v1/imports?state=incomplete").expect(200).json();
        assert_eq!(left["items"], json!([]));
        let ids: BTreeSet<String> = replies.iter().map(Reply::id).collect();
        for i in 0..20 {
            assert_eq!(revision(app, &format!("c-{i}")), json!(1), "c-{i}");
        }
        assert_eq!(app.database.count("usage_revisions"), 20);
        // A caller that came when another was done began a record of its own.
        assert_eq!(app.database.count("imports WHERE part_of IS NOT NULL"), 20 * i64::try_from(ids.len()).unwrap());
    }

    fn a_file_of_many_is_reverted_in_all_its_parts(app: &TestApp) {
        let file = many(app, 5);
        let did = send(app, &file, "").expect(201).json();
        app.import("c-1", "start,kwh\n2026-06-09T14:00:00Z,9\n2026-06-09T14:30:00Z,9\n").expect(200);
        let path = format!("/v1/imports/{}/revert", did["id"].as_str().unwrap());
        assert_eq!(app.send("POST", &format!("{path}?dry_run=true"), &[], &[]).expect(400).json()["parameter"], "dry_run");
        let reverted = app.send("POST", &path, &[], &[]).expect(200).json();
        assert_eq!((&reverted["state"], &reverted["parts"], &reverted["removed"], &reverted["newer"]), (&json!("reverted"), &json!(5), &json!(5 * 48 - 2), &json!(2)));
        assert_eq!((stored(app, "c-0"), stored(app, "c-1").len()), (vec![], 1));
        let again = app.send("POST", &path, &[], &[]).expect(200).json();
        assert_eq!((&again["parts"], &again["removed"]), (&json!(0), &json!(0)));
        let anew = send(app, &file, "").expect(201).json();
        assert_eq!((&anew["counts"]["added"], &anew["counts"]["kept"]), (&json!(5 * 48 - 2), &json!(0)));
    }

    fn declared_zeros_and_rules_hold_for_every_customer(app: &TestApp) {
        let file = many(app, 2);
        send(app, &file, "").expect(201);
        let other = file.replace("500", "400");
        let kept = send(app, &other, "?on_conflict=keep").expect(201).json();
        assert_eq!((&kept["counts"]["kept"], &kept["on_conflict"]), (&json!(96), &json!("keep")));
        let refused = send(app, &other, "?on_conflict=refuse").expect(201).json();
        assert_eq!((&refused["meter_points"]["refused"], &refused["not_stored"][0]["code"]), (&json!(2), &json!("usage_conflict")));
        let gap = file.replace("300,20260610", "300,20260612");
        let filled = send(app, &format!("{}{}", file.trim_end_matches("900\n"), gap.split_once('\n').unwrap().1), "?fill=zero").expect(201).json();
        assert_eq!((&filled["counts"]["filled"], &filled["counts"]["added"]), (&json!(96), &json!(192)));
    }

    /// A file as a market sends it: 99 meter points of two registers each, with the totals that its README gives.
    fn a_sample_of_many_meters_is_stored_to_the_last_reading(app: &TestApp) {
        let root = std::env::var_os("SAMEBILL_SHARED").map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), Into::into);
        let Ok(zip) = std::fs::read(root.join("samples/nem12/many_meters.zip")) else {
            assert!(std::env::var_os("CI").is_none(), "the samples are not in {}", root.display());
            eprintln!("NOT RUN: the samples are not in {}; set SAMEBILL_SHARED", root.display());
            return;
        };
        let send = || app.send("POST", "/v1/imports", &[("content-type", "application/zip")], &zip).expect(201).json();
        for i in 1..=99 {
            put(app, &format!("c-{i}"), &[(&format!("nmi{i}"), "import")]);
        }
        let unsure = send();
        assert_eq!(unsure["meter_points"], json!({"pending": 0, "done": 0, "unmapped": 0, "refused": 99}));
        assert_eq!(unsure["not_stored"][0]["code"], "channel_needed", "which of two registers is the import is not guessed");
        for i in 1..=99 {
            put(app, &format!("c-{i}"), &[(&format!("nmi{i}"), "import"), (&format!("nmi{i}/E2"), "controlled_load")]);
        }
        let did = send();
        assert_eq!((&did["meter_points"]["done"], &did["customers"], &did["counts"]["added"]), (&json!(198), &json!(99), &json!(57_024)));
        let months: Vec<(String, u64, String)> = (1..=99).flat_map(|i| stored(app, &format!("c-{i}"))).collect();
        assert_eq!(months.iter().map(|(_, intervals, _)| intervals).sum::<u64>(), 57_024);
        let kwh = |channel: &str| months.iter().filter(|(name, ..)| channel == name).map(|(.., kwh)| kwh.parse::<f64>().unwrap()).sum::<f64>();
        assert!((kwh("import") + kwh("controlled_load") - 214_621.0).abs() < 1e-6);
        assert!(kwh("import") > kwh("controlled_load"));
    }
}
