//! The engine's threads are all busy, or one of their jobs panics: what is stored is answered as ever.

use super::*;

fn one_thread(settings: &mut Settings) {
    (settings.engine_threads, settings.engine_jobs) = (1, 1);
}

#[test]
fn a_busy_engine_keeps_nobody_waiting_for_what_is_stored() {
    on_each_with(one_thread, |app| {
        app.compare(&question(&["cheap"])).expect(201);
        let hold = Hold::at("engine::job");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            let waiting = scope.spawn(|| app.compare(&question(&["tou"])));
            for _ in 0..50 {
                let begun = Instant::now();
                app.compare(&question(&["cheap"])).expect(200);
                app.get("/livez").expect(200);
                app.get("/readyz").expect(200);
                assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            }
            app.import("c-1", &hours("2026-07-01T00:00:00Z", 24, 1.0)).expect(200);
            assert!(!asked.is_finished() && !waiting.is_finished());
            hold.release();
            asked.join().unwrap().expect(201);
            waiting.join().unwrap().expect(201);
        });
    });
}

#[test]
fn a_panic_in_the_engine_is_for_those_who_joined_and_for_nobody_else() {
    on_each_with(one_thread, |app| {
        app.compare(&question(&["cheap"])).expect(201);
        fail::cfg("engine::job", "1*panic->off").unwrap();
        let reply = app.compare(&question(&["flat"])).expect(500);
        assert_eq!((reply.code().as_str(), reply.json()["retryable"].as_bool()), ("internal", Some(true)));
        app.compare(&question(&["cheap"])).expect(200);
        app.compare(&question(&["tou"])).expect(201);
        app.compare(&question(&["flat"])).expect(201);
        fail::remove("engine::job");
        assert_eq!(app.database.count("comparisons"), 3);
    });
}
