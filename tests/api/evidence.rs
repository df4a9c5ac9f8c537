//! Evidence: the zip of an answer verifies without a server, and whatever is changed in it is found.
//!
//! `SAMEBILL_KEEP_EVIDENCE=FILE cargo test --test api evidence::sqlite::an_answer_of_many_inputs` writes the zip down:
//! how `fixtures/evidence/` was made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Read as _, Write as _};

use samebill::comparison::evidence::{Verification, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::helpers::{Reply, TestApp, flat, hours, june, question};
use crate::on_both_engines;

/// The entries of a zip.
type Entries = BTreeMap<String, Vec<u8>>;

#[track_caller]
fn evidence(app: &TestApp, id: &str) -> Reply {
    app.get(&format!("/v1/comparisons/{id}/evidence"))
}

fn unzip(zip: &[u8]) -> Entries {
    let mut archive = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
    let mut entries = Entries::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        entries.insert(entry.name().unwrap().into_owned(), bytes);
    }
    entries
}

fn rezip(entries: &Entries) -> Vec<u8> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The manifest with the digests of what the entries are now: what somebody does who knows how.
fn repair_manifest(entries: &mut Entries) {
    let mut manifest: Value = serde_json::from_slice(&entries["manifest.json"]).unwrap();
    for entry in manifest["entries"].as_array_mut().unwrap() {
        let bytes = &entries[entry["name"].as_str().unwrap()];
        entry["bytes"] = json!(bytes.len());
        entry["sha256"] = json!(hex::encode(Sha256::digest(bytes)));
    }
    entries.insert("manifest.json".to_owned(), serde_json::to_vec_pretty(&manifest).unwrap());
}

/// Replaces the one place where a text stands in an entry.
#[track_caller]
fn replace(entries: &mut Entries, name: &str, from: &str, to: &str) {
    let text = String::from_utf8(entries[name].clone()).unwrap();
    assert!(text.contains(from), "{name} has {from:?}: {}", text.chars().take(2000).collect::<String>());
    entries.insert(name.to_owned(), text.replacen(from, to, 1).into_bytes());
}

#[track_caller]
fn verified(zip: &[u8]) -> Verification {
    let told = verify(Cursor::new(zip)).unwrap();
    assert!(told.verified, "{told:?}");
    told
}

/// Names of the checks that fail.
fn failing(zip: &[u8]) -> (Vec<&'static str>, Verification) {
    let told = verify(Cursor::new(zip)).unwrap();
    let mut names: Vec<&str> = told.checks.iter().filter(|check| !check.passed).map(|check| check.check).collect();
    names.dedup();
    assert_eq!(told.verified, names.is_empty());
    (names, told)
}

/// A customer in London with a billing cycle, and plans that use everything a plan can use: one that includes another
/// and changes inside the period, holidays, prices by the hour, a ratchet on three months, export, an attribute.
fn fill_richly(app: &TestApp) -> Value {
    let customer = json!({"time_zone": "Europe/London", "billing_cycle": "north", "name": "Ada",
        "attributes": {"direct_debit": true, "contract_kw": "4"}});
    app.put_customer("c-1", &customer).expect(201);
    for (id, start, end) in [("may", "2026-05-03", "2026-06-02"), ("june", "2026-06-02", "2026-07-04")] {
        app.json("PUT", &format!("/v1/billing-periods/{id}"), &json!({"start": start, "end": end, "cycle": "north"}))
            .expect(201);
    }
    let mut csv = "start,import_kwh,export_kwh,quality\n".to_owned();
    let from = chrono::DateTime::parse_from_rfc3339("2026-02-20T00:00:00Z").unwrap();
    for hour in 0..24 * 140 {
        let start = (from + chrono::Duration::hours(hour)).format("%Y-%m-%dT%H:%M:%SZ");
        let quality = if hour % 50 == 0 { "estimated" } else { "measured" };
        let export = if hour % 24 > 8 { hour % 500 } else { 0 };
        writeln!(csv, "{start},{}.{:03},0.{export:03},{quality}", hour % 3, (hour * 37) % 1000).unwrap();
    }
    app.import("c-1", &csv).expect(200);

    let plan = |name: &str, charges: Value| json!({"name": name, "currency": "GBP", "charges": charges});
    let network = |price: &str| {
        plan(
            "Network",
            json!([{"id": "standing", "kind": "fixed", "price": "0.10", "per": "day"},
            {"id": "use", "kind": "energy", "price": price}]),
        )
    };
    app.put_plan("net", &network("0.05")).expect(201);
    app.json("PUT", "/v1/plans/net?in_force_from=2026-06-15", &network("0.06")).expect(200);
    let mut supply = plan(
        "Supply",
        json!([{"id": "energy", "kind": "energy", "price": "0.2"},
        {"id": "vat", "kind": "tax", "percent": "5"},
        {"id": "capacity", "kind": "fixed", "capacity": "contract_kw", "price": "1"},
        {"id": "discount", "kind": "fixed", "price": "-1", "condition": {"attribute": "direct_debit", "is": true}}]),
    );
    supply["include"] = json!({"network": "net"});
    app.put_plan("supply", &supply).expect(201);
    let mut free = plan(
        "Free holidays",
        json!([{"id": "energy", "kind": "energy", "schedule": "tou",
        "prices": {"free": "0", "day": "0.25"}}]),
    );
    free["schedules"] =
        json!({"tou": {"holidays": ["uk"], "periods": [{"period": "free", "days": ["holiday"]}, {"period": "day"}]}});
    app.put_plan("free", &free).expect(201);
    app.put_calendar("uk", &["2026-05-25", "2026-06-08", "2026-12-25"]).expect(201);
    let mut peak = plan(
        "Called hours",
        json!([{"id": "energy", "kind": "energy", "schedule": "s", "prices": {"called": "1", "rest": "0.1"}},
        {"id": "demand", "kind": "demand", "schedule": "s", "period": "called", "price": "10"}]),
    );
    peak["schedules"] = json!({"s": {"periods": [{"period": "called", "during": "peaks"}, {"period": "rest"}]}});
    app.put_plan("peak", &peak).expect(201);
    app.put_events("peaks", &["2026-05-20T17:00Z/PT1H", "2026-06-08T16:00Z/PT2H", "2026-08-20T17:00Z/PT1H"])
        .expect(201);
    let spot = json!([{"id": "energy", "kind": "energy", "price": {"series": "spot", "factor": "1.5"}},
        {"id": "demand", "kind": "demand", "price": "3", "ratchet": {"percent": "80", "last": 3}},
        {"id": "feed_in", "kind": "export_credit", "price": "0.05"}]);
    app.put_plan("spot:1", &plan("Spot", spot)).expect(201);
    let mut prices = "start,price\n".to_owned();
    for hour in 0..24 * 130 {
        let start = (from + chrono::Duration::hours(hour + 240)).format("%Y-%m-%dT%H:%M:%SZ");
        writeln!(prices, "{start},{}", f64::from(i32::try_from((hour * 91) % 1300).unwrap() - 100) / 10_000.0).unwrap();
    }
    app.put_prices("spot", &prices, "").expect(201);
    json!({"customer_id": "c-1", "billing_period": {"start": "2026-05-03", "end": "2026-07-04"},
        "plan_ids": ["supply", "free", "peak", "spot:1", "net@1"]})
}

on_both_engines! {
    fn an_answer_of_many_inputs_is_computed_again_from_its_evidence(app: &TestApp) {
        let ask = fill_richly(app);
        let answer = app.compare(&ask).expect(201);
        let reply = evidence(app, &answer.id()).expect(200);
        assert_eq!(reply.header("content-type"), Some("application/zip"));
        let disposition = format!("attachment; filename=\"samebill-evidence-{}.zip\"", answer.id());
        assert_eq!(reply.header("content-disposition"), Some(disposition.as_str()));
        assert_eq!(reply.header("cache-control"), Some("private, no-cache"));
        let etag = reply.header("etag").expect("a tag").to_owned();

        // The same row, the same bytes; and who has them gets them once.
        assert_eq!(evidence(app, &answer.id()).expect(200).body, reply.body);
        let path = format!("/v1/comparisons/{}/evidence", answer.id());
        let known = app.send("GET", &path, &[("if-none-match", &etag)], &[]).expect(304);
        assert!(known.body.is_empty() && known.header("etag") == Some(etag.as_str()));

        let told = verified(&reply.body);
        assert_eq!(told.checks.iter().map(|c| c.check).collect::<Vec<_>>(), ["entries", "question", "inputs", "result"]);
        let envelope = answer.json();
        assert_eq!(told.evidence.comparison_id.to_string(), answer.id());
        assert_eq!(json!(told.evidence.natural_key.digest), envelope["natural_key"]);
        assert_eq!(json!(told.evidence.inputs_digest), envelope["inputs"]["digest"]);
        assert_eq!((told.evidence.engine, &told.evidence.superseded), (1, &None));

        let entries = unzip(&reply.body);
        let names: Vec<&str> = entries.keys().map(String::as_str).collect();
        assert_eq!(names, ["README.txt", "calendars/uk@1.json", "customer.json", "event-lists/peaks@1.json",
            "inputs.json", "manifest.json", "plans.json", "plans/free@1.json", "plans/net@1.json", "plans/net@2.json",
            "plans/peak@1.json", "plans/spot%3A1@1.json", "plans/supply@1.json", "price-series/spot@1.csv", "question.json", "readings.csv", "result.json", "terms.json"]);
        assert_eq!(hex::encode(Sha256::digest(&entries["result.json"])), answer.result_hash());
        let json_of = |name: &str| serde_json::from_slice::<Value>(&entries[name]).unwrap();
        assert_eq!(json_of("terms.json")["months"][0], json!({"start": "2026-05-03", "end": "2026-06-02"}));
        assert_eq!((&json_of("terms.json")["months_registered"], &json_of("terms.json")["min_coverage"]), (&json!(true), &json!("0.95")));
        assert_eq!(json_of("terms.json")["earlier_months"].as_array().unwrap().len(), 3);
        let readings = String::from_utf8(entries["readings.csv"].clone()).unwrap();
        assert!(readings.starts_with("channel,start,end,kwh,quality\nexport,2026-02-20T00:00:00Z,"), "{}", &readings[..90]);
        // The question of the zip is that of the service.
        assert_eq!(app.compare(&json_of("question.json")).expect(200).id(), answer.id());

        // Corrected, recomputed: both can be proved, and the old one says what replaced it.
        app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 7.0)).expect(200);
        app.put_calendar("uk", &["2026-06-08", "2026-06-09"]).expect(200);
        app.put_customer("c-1", &json!({"time_zone": "Europe/London", "attributes": {"direct_debit": false, "contract_kw": "5"}})).expect(200);
        let next = app.supersede(&answer.id(), &json!({"reason": "usage_corrected", "note": "read again"})).expect(201);
        assert_ne!(next.result_hash(), answer.result_hash());
        let old = evidence(app, &answer.id()).expect(200);
        let superseded = verified(&old.body).evidence.superseded.expect("it was superseded");
        assert_eq!((superseded.successor_id.to_string(), superseded.note.as_deref()), (next.id(), Some("read again")));
        let (mut before, mut after) = (entries.clone(), unzip(&old.body));
        if let Ok(file) = std::env::var("SAMEBILL_KEEP_EVIDENCE") {
            std::fs::write(file, &old.body).unwrap();
        }
        assert_ne!(before.remove("manifest.json"), after.remove("manifest.json"));
        assert_eq!(before, after, "nothing else is another");
        let new = evidence(app, &next.id()).expect(200);
        assert_eq!(verified(&new.body).evidence.predecessor_id.map(|id| id.to_string()), Some(answer.id()));
        // Periods that are registered later cut nothing that was cut before.
        app.json("PUT", "/v1/billing-periods/april", &json!({"start": "2026-04-06", "end": "2026-05-03", "cycle": "north"})).expect(201);
        assert_eq!(evidence(app, &answer.id()).expect(200).body, old.body);
    }

    fn whatever_is_changed_is_found(app: &TestApp) {
        let ask = fill_richly(app);
        let answer = app.compare(&ask).expect(201);
        let entries = unzip(&evidence(app, &answer.id()).expect(200).body);
        let changes = [
            ("readings.csv", "2026-06-10T00:00:00Z,2026-06-10T01:00:00Z,", "2026-06-10T00:00:00Z,2026-06-10T01:00:00Z,9"),
            ("readings.csv", ",estimated\n", ",measured\n"),
            ("plans/net@1.json", "\"0.05\"", "\"0.04\""),
            ("price-series/spot@1.csv", ",0.", ",1."),
            ("calendars/uk@1.json", "2026-06-08", "2026-06-09"),
            ("event-lists/peaks@1.json", "2026-05-20T18", "2026-05-20T19"),
            ("customer.json", "\"4\"", "\"5\""),
            ("terms.json", "\"refuse\"", "\"even\""),
            ("terms.json", "\"0.95\"", "\"0.5\""),
            ("plans.json", "2026-06-15", "2026-06-16"),
        ];
        for (name, from, to) in changes {
            let mut changed = entries.clone();
            replace(&mut changed, name, from, to);
            let (names, told) = failing(&rezip(&changed));
            assert!(names.starts_with(&["entries", "inputs"]), "{name}: {names:?}");
            assert_eq!(told.checks[0].entry.as_deref(), Some(name));
            // With the digests of the manifest put right, the digest of the inputs still tells.
            repair_manifest(&mut changed);
            let (names, told) = failing(&rezip(&changed));
            assert!(names.starts_with(&["inputs"]), "{name}: {names:?} {told:?}");
        }

        // A reading and a price change the answer, which names the lines.
        let mut changed = entries.clone();
        replace(&mut changed, "plans/net@1.json", "\"0.05\"", "\"0.04\"");
        repair_manifest(&mut changed);
        let (names, told) = failing(&rezip(&changed));
        assert_eq!(names, ["inputs", "result"]);
        let line = told.differences.iter().find(|d| d.plan_id.as_deref() == Some("net@1") && d.member == "rate").unwrap();
        assert_eq!((line.expected.as_deref(), line.found.as_deref()), (Some("0.04"), Some("0.05")));
        assert_eq!((line.period_start.as_deref(), line.line.as_deref()), (Some("2026-05-03"), Some("use version 1")));
        assert!(told.n_differences >= told.differences.len());

        // One byte of the result, a line of it, and the same values in another spelling.
        let result = String::from_utf8(entries["result.json"].clone()).unwrap();
        let total = serde_json::from_str::<Value>(&result).unwrap()["plans"][0]["total"].as_str().unwrap().to_owned();
        let other = total.replacen(|c: char| c.is_ascii_digit(), if total.starts_with('9') { "8" } else { "9" }, 1);
        for (from, to, n_differences) in [
            (format!("\"total\":\"{total}\""), format!("\"total\":\"{other}\""), 1),
            ("\"currency\":".to_owned(), "\"currency\": ".to_owned(), 0),
            (format!("\"total\":\"{total}\""), format!("\"total\":\"{total}"), 0),
        ] {
            let mut changed = entries.clone();
            replace(&mut changed, "result.json", &from, &to);
            assert_eq!(failing(&rezip(&changed)).0, ["entries", "result"]);
            repair_manifest(&mut changed);
            let (names, told) = failing(&rezip(&changed));
            assert_eq!((names.as_slice(), told.n_differences), (["result"].as_slice(), n_differences), "{told:?}");
            if let [difference] = told.differences.as_slice() {
                assert_eq!((difference.expected.as_deref(), difference.found.as_deref()), (Some(total.as_str()), Some(other.as_str())));
                assert_eq!((difference.pointer.as_str(), difference.plan_id.as_deref()), ("/plans/0/total", Some("free")));
            }
        }

        // Another question, another record, an entry too many, another engine.
        let mut changed = entries.clone();
        replace(&mut changed, "question.json", "\"c-1\"", "\"c-2\"");
        repair_manifest(&mut changed);
        assert_eq!(failing(&rezip(&changed)).0, ["question"]);
        let mut changed = entries.clone();
        changed.insert("more.txt".to_owned(), b"x".to_vec());
        let (names, told) = failing(&rezip(&changed));
        assert_eq!((names.as_slice(), told.checks[0].entry.as_deref()), (["entries"].as_slice(), Some("more.txt")));
        let mut changed = entries.clone();
        let (version, other) = ("\"versions\": [\n        1\n", "\"versions\": [\n        7\n");
        replace(&mut changed, "inputs.json", version, other);
        repair_manifest(&mut changed);
        assert_eq!(failing(&rezip(&changed)).0, ["inputs"]);
        verified(&rezip(&entries));
    }

    fn an_archive_that_is_no_evidence_is_refused(app: &TestApp) {
        app.fill();
        let id = app.compare(&question(&["flat", "tou"])).expect(201).id();
        let zip = evidence(app, &id).expect(200).body;
        let refused = |zip: &[u8]| verify(Cursor::new(zip)).unwrap_err().to_string();
        for length in [0, 1, 30, zip.len() / 2, zip.len() - 30, zip.len() - 1] {
            assert!(refused(&zip[..length]).contains("no zip archive"), "{length}: {}", refused(&zip[..length]));
        }
        // Damaged anywhere: refused or found, never believed, unless the byte says nothing (times, rights).
        for i in (0..zip.len()).step_by(zip.len() / 300) {
            let mut damaged = zip.clone();
            damaged[i] ^= 0x55;
            if let Ok(told) = verify(Cursor::new(&damaged[..])) && told.verified {
                assert_eq!(unzip(&damaged), unzip(&zip), "byte {i}");
            }
        }
        let entries = unzip(&zip);
        for name in entries.keys() {
            let mut fewer = entries.clone();
            fewer.remove(name);
            let expected = if name == "manifest.json" { "it has no manifest.json".to_owned() } else { format!("lacks {name}") };
            assert!(refused(&rezip(&fewer)).contains(&expected), "{name}: {}", refused(&rezip(&fewer)));
        }
        let with = |name: &str, text: &str| {
            let mut changed = entries.clone();
            changed.insert(name.to_owned(), text.as_bytes().to_vec());
            rezip(&changed)
        };
        let foreign = rezip(&[("june.csv".to_owned(), june(1.0).into_bytes())].into());
        assert!(refused(&foreign).contains("no evidence of samebill"));
        for (name, text, expected) in [
            ("manifest.json", "{}", "no evidence of samebill"),
            ("manifest.json", r#"{"format": "x", "format_version": 1}"#, "its format is not"),
            ("manifest.json", r#"{"format": "samebill-evidence", "format_version": 3}"#, "version 3 of the format"),
            ("manifest.json", r#"{"format": "samebill-evidence", "format_version": 1}"#, "its manifest.json is another one"),
            ("readings.csv", "", "readings.csv: line 1"),
            ("readings.csv", "channel,start,end,kwh,quality\n1\n", "readings.csv: line 2: a row is"),
            ("readings.csv", "channel,start,end,kwh,quality", "readings.csv: line 1: a row that is too long"),
            ("customer.json", r#"{"time_zone": "Mars/Olympus"}"#, "customer.json"),
            ("question.json", r#"{"customer_id": "c-1", "billing_period": "june", "plan_ids": []}"#, "question.json"),
            ("terms.json", r#"{"min_coverage": "1", "split_intervals": "refuse", "months": [{"start": "2026-07-01", "end": "2026-06-01"}], "months_registered": false, "earlier_months": []}"#, "terms.json"),
            ("plans.json", "[1]", "plans.json"),
            ("inputs.json", "{\"digest\": \"00\"}", "inputs.json"),
        ] {
            assert!(refused(&with(name, text)).contains(expected), "{name}: {}", refused(&with(name, text)));
        }
        // Readable, and yet nothing that the engine can be asked.
        let nothing = ["inputs", "result"];
        let months = r#"{"min_coverage": "0.95", "split_intervals": "refuse", "months": [{"start": "2026-06-01", "end": "2026-06-05"}], "months_registered": false, "earlier_months": []}"#;
        for (name, text) in [
            ("terms.json", months),
            ("plans/flat@1.json", "{}"),
            ("plans/flat@1.json", &"[".repeat(100_000)),
            ("plans.json", "[]"),
            ("readings.csv", "channel,start,end,kwh,quality\n"),
        ] {
            let (names, told) = failing(&with(name, text));
            assert!(nothing.iter().all(|check| names.contains(check)), "{name}: {told:?}");
        }
    }

    fn what_is_not_kept_any_more_is_said(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201).id();
        app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 2.0)).expect(200);
        let second = app.supersede(&first, &json!({"reason": "usage_corrected"})).expect(201).id();
        verified(&evidence(app, &first).expect(200).body);
        app.database.execute("DELETE FROM usage_blocks WHERE revision = 1");
        let gone = evidence(app, &first).expect(409);
        assert_eq!((gone.code(), &gone.json()["what"]), ("evidence_incomplete".to_owned(), &json!("the readings")));
        verified(&evidence(app, &second).expect(200).body);
        app.comparison(&first).expect(200);
        assert_eq!(evidence(app, "0198c0de-0000-7000-8000-000000000001").expect(404).code(), "comparison_not_found");
        assert_eq!(evidence(app, "x").expect(400).code(), "invalid_id");
        assert_eq!(app.get(&format!("/v1/comparisons/{second}/evidence?x=1")).expect(400).code(), "unknown_parameter");
    }

    fn a_row_of_an_earlier_release_has_evidence_too(app: &TestApp) {
        app.fill();
        app.put_plan("net", &flat("Net", "0.1")).expect(201);
        let id = app.compare(&question(&["flat", "net"])).expect(201).id();
        let zip = evidence(app, &id).expect(200).body;
        let terms = unzip(&zip)["terms.json"].clone();
        let recorded = "\"terms\":{\"min_coverage\":\"0.95\",\"split_intervals_even\":false,\"months_registered\":false},";
        assert_eq!(app.database.count(&format!("comparisons WHERE inputs LIKE '%{recorded}%'")), 1);
        app.database.execute(&format!("UPDATE comparisons SET inputs = replace(inputs, '{recorded}', '')"));
        let old = evidence(app, &id).expect(200).body;
        verified(&old);
        assert_eq!(unzip(&old)["terms.json"], terms, "found by the digest");
        // Nothing gives the recorded digest: then there is none, rather than one of something else.
        let digest = app.comparison(&id).expect(200).json()["inputs"]["digest"].as_str().unwrap().to_owned();
        let other = "0".repeat(64);
        app.database.execute(&format!("UPDATE comparisons SET inputs = replace(inputs, '{digest}', '{other}')"));
        let refused = evidence(app, &id).expect(409).json();
        assert_eq!(refused["what"], "a setting that shaped the numbers");
    }
}
