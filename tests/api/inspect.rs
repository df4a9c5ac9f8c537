//! What a file holds, told without storing it; what the caller says about a file.

use crate::helpers::TestApp;
use crate::on_both_engines;

const NEM12: &str = "100,NEM12,202601010000,A,B\n\
    200,NMI1,E1E2,E1,E1,N1,M1,kWh,30,\n300,20260101,@,A,,,20260102000000,\n\
    200,NMI1,E1E2,E2,E2,N2,M1,kWh,30,\n300,20260101,@,A,,,20260102000000,\n900\n";

/// Two registers of one meter, a kWh in every half hour of a day.
fn two_registers() -> String {
    NEM12.replace('@', &["1"; 48].join(","))
}

on_both_engines! {
    fn a_file_is_told_and_nothing_is_stored(app: &TestApp) {
        app.put_customer("c-1", &serde_json::json!({"time_zone": "Australia/Brisbane"})).expect(201);
        let file = two_registers();
        let csv = [("content-type", "text/csv")];
        let told = app.send("POST", "/v1/usage/inspect", &csv, file.as_bytes()).expect(200).json();
        assert_eq!(told["format"], "nem12");
        assert_eq!(told["series"][1]["name"], "NMI1/E2");
        assert_eq!((&told["series"][1]["intervals"], &told["series"][1]["kwh"]), (&48.into(), &"48".into()));
        assert!(told["series"][0]["feeds"].is_null(), "two registers could be the import: {told}");

        // An import asks which is which.
        let path = "/v1/customers/c-1/usage";
        let refused = app.send("POST", path, &csv, file.as_bytes()).expect(400).json();
        assert_eq!(refused["reason"], "channel_needed", "{refused}");
        let chosen = format!("{path}?channel=import=E1,controlled_load=NMI1/E2");
        let done = app.send("POST", &chosen, &csv, file.as_bytes()).expect(200).json();
        assert_eq!(done["added"], 96, "{done}");
        let day = "start=2026-01-01&end=2026-01-02";
        let read = app.get(&format!("{path}?{day}&channel=controlled_load")).expect(200).json();
        assert_eq!(read["items"].as_array().map(Vec::len), Some(48), "{read}");
        // One channel from both: their sum.
        app.put_customer("c-2", &serde_json::json!({"time_zone": "Australia/Brisbane"})).expect(201);
        let sum = "/v1/customers/c-2/usage?channel=import=E1,import=E2";
        app.send("POST", sum, &csv, file.as_bytes()).expect(200);
        let read = app.get(&format!("/v1/customers/c-2/usage?{day}")).expect(200).json();
        assert_eq!((&read["items"][0]["kwh"], read["items"].as_array().map(Vec::len)), (&"2".into(), Some(48)));
    }

    fn a_word_that_is_none_is_refused_by_its_parameter(app: &TestApp) {
        for parameter in ["unit=therm", "stamp=middle", "date_order=dm", "channel=E1", "time_zone=Moon"] {
            let path = format!("/v1/usage/inspect?{parameter}");
            let refused = app.send("POST", &path, &[("content-type", "text/csv")], b"start,kwh\n").expect(400).json();
            assert_eq!(refused["code"], "invalid_parameter", "{parameter}");
            assert_eq!(refused["parameter"].as_str(), parameter.split('=').next(), "{refused}");
        }
    }

    fn local_times_are_those_of_the_customer(app: &TestApp) {
        app.put_customer("c-1", &serde_json::json!({"time_zone": "Europe/London"})).expect(201);
        let file = b"start,kwh\n2026-06-01 00:00,1\n2026-06-01 00:30,2\n";
        app.send("POST", "/v1/customers/c-1/usage", &[("content-type", "text/csv")], file).expect(200);
        let read = app.get("/v1/customers/c-1/usage?start=2026-06-01&end=2026-06-02").expect(200).json();
        assert_eq!(read["items"][0]["start"], "2026-05-31T23:00:00Z");
    }
}
