use std::io::Cursor;

use super::*;

const ZIP: &[u8] = include_bytes!("../../../../fixtures/evidence/first-release.zip");

fn within(limits: &Limits) -> Result<bool, String> {
    verify_within(Cursor::new(ZIP), limits).map(|told| told.verified).map_err(|error| error.to_string())
}

#[test]
fn every_limit_refuses_what_is_above_it() {
    assert_eq!(within(&Limits::DEFAULT), Ok(true));
    let refused = |limits: &Limits, part: &str| {
        let refusal = within(limits).unwrap_err();
        assert!(refusal.contains(part), "{refusal}");
    };
    refused(&Limits { file: 1000, ..Limits::DEFAULT }, "at most 1000 are read");
    refused(&Limits { entries: 3, ..Limits::DEFAULT }, "at most 3 are read");
    refused(&Limits { document: 300, ..Limits::DEFAULT }, "manifest.json has more than 300 bytes");
    refused(&Limits { held: 8000, ..Limits::DEFAULT }, ".json has more than");
    refused(&Limits { table: 9000, ..Limits::DEFAULT }, ".csv has more than 9000 bytes");
    refused(&Limits { rows: 100, ..Limits::DEFAULT }, "more than 100");
}
