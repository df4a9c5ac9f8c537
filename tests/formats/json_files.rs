use super::*;

#[test]
fn json_readings_are_read_by_their_digits() {
    let usage = read_fixture("readings.json", None).unwrap();
    assert_eq!((usage.format, usage.n_rows, usage.exact_repeats, usage.blank), ("json", 5, 1, 1));
    let mut second = measured("2026-05-31T23:30:00Z", 30, 241_000);
    second.quality = Quality::Estimated;
    assert_eq!(import(&usage), [measured("2026-05-31T23:00:00Z", 30, 219_000), second]);
    assert_eq!(usage.readings[&Channel::export()].to_vec(), [measured("2026-05-31T23:30:00Z", 30, 100_000)]);
}

#[test]
fn faults_are_named_by_pointer() {
    let at = |readings: &str| {
        let error = read_text(&format!("{{\"readings\": [{readings}]}}")).unwrap_err();
        (error.code.as_str(), error.field.unwrap_or_default())
    };
    let good = r#"{"start": "2026-06-01T00:00:00Z", "kwh": 1}"#;
    for (reading, code, pointer) in [
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": 1e3}"#, "bad_number", "/readings/1/kwh"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": "x"}"#, "bad_number", "/readings/1/kwh"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": ""}"#, "bad_number", "/readings/1/kwh"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": true}"#, "bad_number", "/readings/1/kwh"),
        (r#"{"start": "2026-06-01T00:30:00Z"}"#, "bad_json", "/readings/1"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": 1, "cost": 2}"#, "bad_json", "/readings/1"),
        (r#"{"start": "2026-06-01T00:30:00", "kwh": 1}"#, "time_zone_needed", "/readings/1/start"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": 1, "channel": "Import"}"#, "bad_json", "/readings/1"),
        (r#"{"start": "2026-06-01T00:30:00Z", "kwh": 1, "quality": "good"}"#, "bad_quality", "/readings/1/quality"),
        (
            r#"{"start": "2026-06-01T00:30:00Z", "kwh": 1, "interval_minutes": 7}"#,
            "interval_length",
            "/readings/1/interval_minutes",
        ),
        (r#"{"start": "2026-06-01T00:00:00Z", "kwh": 2}"#, "conflict", "/readings/0"),
        ("7", "bad_json", "/readings/1"),
    ] {
        assert_eq!(at(&format!("{good}, {reading}")), (code, pointer.to_owned()), "{reading}");
    }
}

#[test]
fn json_that_is_no_document_of_readings_is_refused() {
    for (text, code) in [
        ("{}", "no_readings"),
        (r#"{"readings": []}"#, "no_readings"),
        (r#"{"readings": [{"start": "2026-06-01T00:00:00Z", "kwh": 1}]}"#, "interval_unknown"),
        (r#"{"readings": [{"start": "2026-06-01T00:00:00Z", "#, "bad_json"),
        (r#"{"readings": {}}"#, "bad_json"),
        (r#"{"readings": [], "unit": "Wh"}"#, "unknown_column"),
        (r#"{"readings": [], "interval_minutes": 30}"#, "bad_json"),
        (r#"{"readings": []} and more"#, "bad_json"),
        ("[1]", "unknown_format"),
    ] {
        assert_eq!(refusal(read_text(text)).0, code, "{text}");
    }
}

#[test]
fn a_value_without_end_is_refused_early() {
    for text in [
        format!(r#"{{"readings": [{{"start": "{}"#, "x".repeat(3 << 20)),
        format!(r#"{{"{}"#, "x".repeat(3 << 20)),
        format!(r#"{{"readings": [{}"#, "[".repeat(3 << 20)),
    ] {
        let error = read_text(&text).unwrap_err();
        assert_eq!(error.code.as_str(), "bad_json", "{error}");
    }
}

#[test]
fn a_warning_names_its_reading() {
    let text = r#"{"interval_minutes": 60, "readings": [
        {"start": "2017-11-05T00:00:00", "kwh": 1}, {"start": "2017-11-05T01:00:00", "kwh": 2}, {"start": "2017-11-05T02:00:00", "kwh": 3}]}"#;
    let options = ReadOptions { time_zone: Some(chrono_tz::America::Chicago), ..ReadOptions::default() };
    let usage = read(std::io::Cursor::new(text), &options).unwrap();
    let [warning] = usage.warnings.as_slice() else { panic!("{:?}", usage.warnings) };
    assert_eq!((warning.code, warning.line), ("repeated_hour_once", None));
    assert!(warning.detail.starts_with("/readings/1: the clock showed"), "{}", warning.detail);
}
