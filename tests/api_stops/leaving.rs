//! The way between a client and the server is cut at every step: what was begun is stored, and asking again finds it.

use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::helpers::{TestApp, flat, question};
use crate::{Hold, eventually, on_each};

/// Sends a request whose connection is cut when it has come to a stop.
fn ask_and_leave(app: &TestApp, path: &str, body: &Value, stop: &'static str) {
    let (address, body) = (app.server.address(), body.to_string());
    let hold = Hold::at(stop);
    let mut connection = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
    hold.wait();
    connection.shutdown(Shutdown::Both).unwrap();
    drop(connection);
    // The server may notice now or after the step: both are well.
    std::thread::sleep(Duration::from_millis(50));
    hold.release();
}

#[test]
fn a_client_that_goes_at_any_step_finds_its_comparison_stored() {
    on_each(|app| {
        for stop in [
            "compare::inputs_read",
            "engine::job",
            "compare::computed",
            "store::insert_comparison::before_commit",
            "store::insert_comparison::after_commit",
            "compare::before_response",
        ] {
            let plan = stop.replace("::", "-");
            app.put_plan(&plan, &flat("Held", "0.30")).expect(201);
            ask_and_leave(&app, "/v1/comparisons", &question(&[&plan]), stop);
            let rows = format!("comparisons WHERE plan_references LIKE '%{plan}%'");
            eventually("the row", || app.database.count(&rows) == 1);
            app.compare(&question(&[&plan])).expect(200);
        }
    });
}

#[test]
fn a_client_that_goes_before_anything_has_begun_asks_again() {
    on_each(|app| {
        ask_and_leave(&app, "/v1/comparisons", &question(&["flat"]), "compare::looked_up");
        let answer = app.compare(&question(&["flat"]));
        assert!(matches!(answer.status, 200 | 201), "{}", answer.status);
        assert_eq!(app.database.count("comparisons"), 1);
    });
}

#[test]
fn a_client_that_goes_at_any_step_finds_its_successor_stored() {
    on_each(|app| {
        let mut current = app.compare(&question(&["flat"])).expect(201).id();
        for (n_rows, stop) in (2..).zip([
            "supersede::inputs_read",
            "supersede::computed",
            "store::supersede::before_commit",
            "store::supersede::after_commit",
            "supersede::before_response",
        ]) {
            let forced = json!({"reason": "manual", "force": true});
            ask_and_leave(&app, &format!("/v1/comparisons/{current}/supersede"), &forced, stop);
            eventually("the successor", || app.database.count("comparisons") == n_rows);
            current = app.supersede(&current, &forced).expect(200).id();
        }
        assert_eq!(app.history(&current).len(), 6);
    });
}
