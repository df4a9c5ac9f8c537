//! Files that other hands made, imported and read back: every series of energy comes out of the store as it went in.

use std::path::PathBuf;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::helpers::TestApp;
use crate::on_both_engines;

/// The folder of samples; `None`, said aloud, where it is not and need not be.
fn samples() -> Option<PathBuf> {
    let root = std::env::var_os("SAMEBILL_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let samples = root.join("samples");
    if samples.is_dir() {
        return Some(samples);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is not there", samples.display());
    eprintln!("did not run: {} is not there", samples.display());
    None
}

/// A part of a query, with percent signs.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// Count and kWh of a channel between two instants, page by page.
fn stored(app: &TestApp, customer: &str, channel: &str, start: &str, end: &str) -> (u64, Decimal) {
    let (mut n, mut sum) = (0, Decimal::ZERO);
    let mut from = start.to_owned();
    loop {
        // At most 400 days at once.
        let to = chrono::DateTime::parse_from_rfc3339(&from).unwrap() + chrono::TimeDelta::days(390);
        let last = chrono::DateTime::parse_from_rfc3339(end).unwrap();
        let to = to.min(last).to_rfc3339();
        let mut cursor = String::new();
        loop {
            let (from, to) = (encoded(&from), encoded(&to));
            let path = format!("/v1/customers/{customer}/usage?start={from}&end={to}&channel={channel}{cursor}");
            let page = app.get(&path).expect(200).json();
            for item in page["items"].as_array().unwrap() {
                n += 1;
                sum += Decimal::from_str(item["kwh"].as_str().unwrap()).unwrap();
            }
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        if chrono::DateTime::parse_from_rfc3339(&to).unwrap() >= last {
            return (n, sum.normalize());
        }
        from = to;
    }
}

on_both_engines! {
    fn every_sample_comes_back_as_it_went_in(app: &TestApp) {
        let Some(samples) = samples() else { return };
        let cases: Vec<Value> =
            serde_json::from_str(&std::fs::read_to_string(samples.join("expected.json")).unwrap()).unwrap();
        let binary = [("content-type", "application/octet-stream")];
        let mut n_series = 0;
        for (idx, case) in cases.iter().enumerate() {
            let file = case["file"].as_str().unwrap();
            let bytes = std::fs::read(samples.join(file)).unwrap();
            let args: Vec<&str> = case["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
            let zone = args.chunks(2).find(|pair| pair[0] == "--time-zone").map_or("Etc/UTC", |pair| pair[1]);
            let customer = format!("sample-{idx}");
            app.put_customer(&customer, &json!({"time_zone": zone})).expect(201);
            let path = format!("/v1/customers/{customer}/usage");
            if !case["refused"].is_null() {
                // What needs a zone and has none is the customer's business; what is no readings is refused.
                if case["refused"] != "local times without a zone" {
                    app.send("POST", &path, &binary, &bytes).expect(400);
                }
                continue;
            }
            let told = app.send("POST", &format!("/v1/usage/inspect?time_zone={zone}"), &binary, &bytes).expect(200).json();
            let energy: Vec<&Value> = told["series"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|series| !series["kwh"].is_null() && series["intervals"].as_u64() > Some(0))
                .collect();
            let choices: Vec<String> = energy
                .iter()
                .enumerate()
                .map(|(n, series)| format!("series_{n}={}", series["name"].as_str().unwrap()))
                .collect();
            let chosen = format!("{path}?channel={}", encoded(&choices.join(",")));
            let done = app.send("POST", &chosen, &binary, &bytes).expect(200).json();
            assert_eq!(done["revision_after"], 1, "{file}: {done}");
            for (n, series) in energy.iter().enumerate() {
                let bounds = (series["first_start"].as_str().unwrap(), series["last_end"].as_str().unwrap());
                let (count, kwh) = stored(app, &customer, &format!("series_{n}"), bounds.0, bounds.1);
                assert_eq!(
                    (count, kwh.to_string()),
                    (series["intervals"].as_u64().unwrap(), series["kwh"].as_str().unwrap().to_owned()),
                    "{file}: {}",
                    series["name"]
                );
                n_series += 1;
            }
            // The same file again changes nothing.
            let again = app.send("POST", &chosen, &binary, &bytes).expect(200).json();
            assert_eq!((&again["revision_after"], &again["added"]), (&json!(1), &json!(0)), "{file}");
        }
        assert!(n_series > 50, "{n_series} series");
    }
}
