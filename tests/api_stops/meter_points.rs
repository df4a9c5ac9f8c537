//! A file of many meter points, held between one customer and the next.

use std::net::Shutdown;

use super::*;

/// A day of half hours for two meter points, which `c-1` and `c-2` list.
fn file_of_two(app: &TestApp) -> String {
    let mut file = "100,NEM12,202607011200,MDP1,RET1\n".to_owned();
    for (customer, meter) in [("c-1", "6001000001"), ("c-2", "6001000002")] {
        let document = json!({"time_zone": "UTC", "meter_points": [{"id": meter, "channel": "import"}]});
        app.put_customer(customer, &document);
        let values = vec!["0.5"; 48].join(",");
        let rows =
            ["200,", meter, ",E1,1,E1,N1,METER1,kWh,30,20260801\n300,20260810,", &values, ",A,,,20260901120000,\n"];
        file.extend(rows);
    }
    file + "900\n"
}

#[test]
fn what_stops_a_file_of_many_leaves_what_is_stored_and_says_what_is_left() {
    on_each(|app| {
        let file = file_of_two(&app);
        let send = || app.send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes());
        // The first time nothing is stored, the second time the first customer.
        for (stop, n_stored) in [("meter_points::begun", 0), ("meter_points::between", 1)] {
            fail::cfg(stop, "return").unwrap();
            assert_eq!(send().expect(500).code(), "internal");
            fail::remove(stop);
            let left = app.get("/v1/imports?state=incomplete").expect(200).json();
            let id = left["items"][0]["id"].as_str().unwrap().to_owned();
            let shown = app.get(&format!("/v1/imports/{id}")).expect(200).json();
            assert_eq!(
                (&shown["meter_points"]["done"], &shown["meter_points"]["pending"]),
                (&json!(n_stored), &json!(2 - n_stored))
            );
        }
        let done = send().expect(200).json();
        assert_eq!(
            (&done["state"], &done["meter_points"]["done"], &done["counts"]["added"]),
            (&json!("done"), &json!(2), &json!(96))
        );
        assert_eq!(app.database.count("imports WHERE kind = 'meter_points'"), 1);
        assert_eq!(app.database.count("usage_revisions"), 3, "one of the filled customer before, one each by the file");
    });
}

#[test]
fn a_client_that_hangs_up_does_not_stop_a_file_of_many() {
    on_each(|app| {
        let file = file_of_two(&app);
        let hold = Hold::at("meter_points::begun");
        let address = app.server.address();
        let mut gone = TcpStream::connect(address).unwrap();
        write!(gone, "POST /v1/imports HTTP/1.1\r\nhost: {address}\r\ncontent-type: text/csv\r\ncontent-length: {}\r\n\r\n{file}", file.len()).unwrap();
        hold.wait();
        gone.shutdown(Shutdown::Both).unwrap();
        drop(gone);
        hold.release();
        eventually("the end of the file", || {
            app.database.count("imports WHERE kind = 'meter_points' AND state = 'done'") == 1
        });
        assert_eq!(app.database.count("imports WHERE part_of IS NOT NULL"), 2);
    });
}

#[test]
fn a_customer_that_gives_a_meter_point_away_in_between_is_not_given_its_readings() {
    on_each(|app| {
        let file = file_of_two(&app);
        let hold = Hold::at("meter_points::between");
        std::thread::scope(|scope| {
            let sent =
                scope.spawn(|| app.send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes()));
            hold.wait();
            app.put_customer("c-2", &json!({"time_zone": "UTC"})).expect(200);
            hold.release();
            let body = sent.join().unwrap().expect(201).json();
            assert_eq!(
                (&body["meter_points"]["done"], &body["not_stored"][0]["code"]),
                (&json!(1), &json!("meter_point_moved"))
            );
        });
        assert_eq!(app.get("/v1/customers/c-2").expect(200).json()["usage_revision"], 0);
    });
}

#[test]
fn a_file_of_many_that_is_reverted_in_between_stores_nothing_more() {
    on_each(|app| {
        let file = file_of_two(&app);
        let hold = Hold::at("meter_points::between");
        std::thread::scope(|scope| {
            let sent =
                scope.spawn(|| app.send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes()));
            hold.wait();
            let left = app.get("/v1/imports?state=incomplete").expect(200).json();
            let id = left["items"][0]["id"].as_str().unwrap().to_owned();
            let reverted = app.send("POST", &format!("/v1/imports/{id}/revert"), &[], &[]).expect(200).json();
            assert_eq!((&reverted["parts"], &reverted["removed"]), (&json!(1), &json!(48)));
            hold.release();
            let body = sent.join().unwrap().expect(201).json();
            assert_eq!((&body["state"], &body["meter_points"]["pending"]), (&json!("reverted"), &json!(1)));
        });
        assert_eq!(app.get("/v1/customers/c-2").expect(200).json()["usage_revision"], 0);
    });
}
