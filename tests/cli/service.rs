//! Commands that go through the service: on a file, on PostgreSQL, with a server.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::support::{PostgresDatabase, fixture, reference, run, samebill};

const PAIR: (&str, &str) = ("tariffs/jackson-emc-a.json", "usage/res-60min-2018.csv");

/// The offline bill of a reference pair is, byte for byte, what the service stores.
fn bill_equals_service(database_url: &str) {
    let (Some(tariff), Some(usage)) = (reference(PAIR.0), reference(PAIR.1)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = format!("--database-url {database_url}");
    run(folder.path(), &format!("import customer --id c-1 --time-zone America/Phoenix {target}")).done();
    run(folder.path(), &format!("import plan {tariff} {target}")).done();
    let import = format!("import usage {usage} --customer c-1 {target} --format json");
    let imported = run(folder.path(), &import).done().json();
    assert_eq!((&imported["added"], &imported["revision_after"]), (&8760.into(), &1.into()));
    let again = run(folder.path(), &import).done().json();
    assert_eq!((&again["unchanged"], &again["revision_after"]), (&8760.into(), &1.into()));

    for period in ["2018", "2018-07", "2018-06-14/2018-07-14"] {
        let question = format!("compare --customer c-1 --plan jackson-emc-a --period {period} {target} --format json");
        let stored = run(folder.path(), &question).done();
        let offline =
            format!("bill --plan {tariff} --usage {usage} --time-zone America/Phoenix --period {period} --format json");
        assert_eq!(run(folder.path(), &offline).done().stdout.trim_end(), stored.result(), "{period}");
        assert_eq!(run(folder.path(), &question).done().result(), stored.result(), "asked again");
    }
}

#[test]
fn bill_prints_what_the_service_stores_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    bill_equals_service(&format!("sqlite://{}", folder.path().join("pair.db").display()));
}

#[test]
fn bill_prints_what_the_service_stores_on_postgresql() {
    let Some(database) = PostgresDatabase::create() else { return };
    run(Path::new("."), &format!("migrate --database-url {}", database.url())).done();
    bill_equals_service(&database.url());
}

/// A server of the binary on a free port, stopped at the end.
struct Server(Child);

impl Server {
    fn start(folder: &Path, arguments: &str) -> (Self, String) {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = samebill(folder)
            .args(arguments.split_whitespace())
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self(child);
        for _ in 0..400 {
            let url = format!("http://127.0.0.1:{port}");
            if run(folder, &format!("history --server {url}")).code == 0 {
                return (server, url);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = server.0.kill();
        let mut log = String::new();
        let _ = server.0.stderr.take().map(|mut stderr| stderr.read_to_string(&mut log));
        panic!("the server did not come up: {log}");
    }
}

impl Server {
    /// Asks it to stop, as a service manager does.
    fn terminate(&mut self) -> Option<i32> {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        self.0.wait().ok()?.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.terminate();
        }
    }
}

#[test]
fn the_story_goes_through_a_server_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = Server::start(folder.path(), "serve --database-url sqlite://server.db");
    let at = |arguments: &str| run(folder.path(), &format!("{arguments} --server {url}"));
    at("import customer --id home --time-zone America/Chicago --name Home").done();
    for plan in ["fpl-rs-1", "psco-rd"] {
        let put = format!("import plan {} --format json", fixture(&format!("plans/{plan}.json")));
        assert_eq!(at(&put).done().json()["version"], 1);
        assert_eq!(at(&put).done().json()["version"], 1, "the same document makes no new version");
        let file = at(&format!("plan explain {}", fixture(&format!("plans/{plan}.json")))).done().stdout;
        assert_eq!(at(&format!("plan explain {plan}")).done().stdout, file, "the stored one reads as its file");
    }
    at(&format!("import usage {} --customer home", fixture("usage/il-home-60min-2017-dst.csv"))).done();

    let question = "compare --customer home --period 2017-07 --plan fpl-rs-1 psco-rd";
    let first = at(&format!("{question} --format json")).done().json();
    let respelled =
        "compare --customer home --period 2017-07-01/2017-08-01 --plan psco-rd fpl-rs-1 psco-rd --format json";
    assert_eq!(at(respelled).done().json()["id"], first["id"], "another spelling of the same question");
    assert_eq!(at("compare --customer home --period 2017-07/2017-08 --plan psco-rd").code, 1, "a month is no date");
    let table = at(question).done().stdout;
    assert!(table.contains("152.52") && table.contains("it was there before this call"), "{table}");
    let csv = at(&format!("{question} --format csv")).done().stdout;
    assert!(csv.starts_with("rank,plan,name,"), "{csv}");

    let correction = folder.path().join("again.csv");
    std::fs::write(&correction, "start,end,kwh\n2017-07-07T19:00:00-05:00,2017-07-07T20:00:00-05:00,1.5\n").unwrap();
    let import = format!("import usage {} --customer home --format json", correction.display());
    let refused = at(&format!("{import} --on-conflict refuse"));
    assert_eq!((refused.code, &refused.json()["code"]), (1, &"usage_conflict".into()));
    let corrected = at(&import).done().json();
    assert_eq!((&corrected["replaced"], &corrected["stale_comparison_ids"]), (&1.into(), &json!([first["id"]])));

    let id = first["id"].as_str().unwrap();
    assert!(at(question).done().stdout.contains(&format!("samebill supersede {id}")));
    assert!(at("history --customer home --stale").done().stdout.contains(id), "in one piece");
    let next = at(&format!("supersede {id} --reason usage_corrected --note again --format json")).done().json();
    let next_id = next["id"].as_str().unwrap();
    assert_ne!(next_id, id);
    let chain = at(&format!("history {next_id} --format json")).done().json();
    let ids: Vec<&str> = chain["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [next_id, id], "newest first");
    let stood = format!("history --customer home --as-of {} --format json", first["created_at"].as_str().unwrap());
    assert_eq!(at(&stood).done().json()["items"][0]["id"], first["id"]);
    let difference = at(&format!("diff {next_id}")).done().stdout;
    assert!(difference.contains("2017-07-07") && difference.contains("13.44"), "{difference}");
    assert_eq!(at(&format!("diff {id}")).code, 1, "the first one replaced none");
}

#[test]
fn demo_serve_stays_up_and_its_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = Server::start(folder.path(), "demo --serve");
    let question = format!(
        "compare --server {url} --customer chicago-home --period 2017-08 --plan fpl-rs-1 psco-rd --format json"
    );
    // The server is up before the story is at its end.
    let answered = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        run(folder.path(), &question).code == 0
    });
    assert!(answered, "{}", run(folder.path(), &question).stderr);
}

#[test]
fn a_server_that_is_told_to_stop_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, url) = Server::start(folder.path(), "serve --database-url sqlite://server.db");
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(run(folder.path(), &format!("history --server {url}")).code, 1, "it is gone");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for (listen, code) in [(address.to_string().as_str(), "cannot_listen"), ("0.0.0.0:0", "bad_settings")] {
        let refused = run(folder.path(), &format!("serve --listen {listen} --database-url sqlite://server.db"));
        assert_eq!(refused.code, 1, "{listen}");
        assert!(refused.stderr.contains(code), "{}", refused.stderr);
    }
}

#[test]
fn what_the_service_refuses_is_exit_code_1_and_a_problem_document() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |arguments: &str| {
        let refused = run(folder.path(), &format!("{arguments} --database-url sqlite://x.db --format json"));
        assert_eq!(refused.code, 1, "{arguments}: {}{}", refused.stdout, refused.stderr);
        let problem = refused.json();
        let code = problem["code"].as_str().unwrap_or_default().to_owned();
        assert!(refused.stderr.contains(&code), "{}", refused.stderr);
        code
    };
    let usage = fixture("usage/gap.csv");
    assert_eq!(refuse("compare --customer nobody --period 2026-06 --plan flat"), "customer_not_found");
    assert_eq!(refuse(&format!("import usage {usage} --customer nobody")), "customer_not_found");
    run(folder.path(), "import customer --id c-1 --time-zone Europe/London --database-url sqlite://x.db").done();
    assert_eq!(refuse("compare --customer c-1 --period 2026-06 --plan flat"), "plan_not_found");
    assert_eq!(refuse("compare --customer c-1 --period june --plan flat"), "period_not_found");
    assert_eq!(refuse("compare --customer c-1 --period 2026-02-01/2026-02-31 --plan flat"), "invalid_period");
    let conflict = fixture("usage/conflicting-repeat.csv");
    assert_eq!(refuse(&format!("import usage {conflict} --customer c-1")), "usage_unreadable");
    assert_eq!(refuse("supersede 0198c0de-0000-7000-8000-000000000001"), "comparison_not_found");
    let down = run(folder.path(), "history --server http://127.0.0.1:1 --format json");
    assert_eq!((down.code, &down.json()["code"]), (1, &"server_unreachable".into()));
}
