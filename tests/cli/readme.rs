//! The README's own lines: its plan is one, and its calls run in order against a fresh server.

use std::net::TcpListener;
use std::process::Command;

use samebill::app;
use samebill::config::Settings;
use samebill::store::{self, StoreOptions};
use samebill::tariff::Tariff;

use super::support::{PostgresDatabase, not_run, run};

const README: &str = include_str!("../../README.md");

/// The code block that follows a text.
fn block_after(text: &str, language: &str) -> &'static str {
    let (_, rest) = README.split_once(text).unwrap_or_else(|| panic!("the README has {text:?}"));
    let (_, rest) = rest.split_once(&format!("```{language}\n")).expect("a code block follows");
    rest.split_once("\n```").expect("the block ends").0
}

#[test]
fn the_plan_of_the_readme_is_one() {
    Tariff::from_json(block_after("\n## Plans\n", "json")).unwrap();
}

#[test]
fn the_picture_of_the_readme_is_what_is_printed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = run(root, "plan explain fixtures/plans/worked/es-enygas-20td.json").done().stdout;
    let picture = block_after("<!-- picture: fixtures/plans/worked/es-enygas-20td.json -->", "");
    assert!(printed.ends_with(&format!("\n\n{picture}\n")), "{printed}");
}

fn calls_run(database_url: &str) {
    if Command::new("curl").arg("--version").output().is_err() {
        not_run("curl is not installed, with which the README's calls are made");
        return;
    }
    let settings = Settings { database_url: database_url.to_owned(), ..Settings::default() };
    let store = store::open(database_url, &StoreOptions::default()).unwrap();
    let server = app::spawn(&settings, store, TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
    let calls = block_after("<!-- calls -->\n", "sh");
    let local = format!("api=http://{}", server.address());
    let calls = calls.replacen("api=http://127.0.0.1:8080", &local, 1);
    assert!(calls.contains(&local), "the calls name the server once, in api");
    let run = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &calls])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}\n{stdout}\n{stderr}", run.status);
    server.stop().unwrap();
}

#[test]
fn the_calls_of_the_readme_run_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    calls_run(&format!("sqlite://{}", folder.path().join("readme.db").display()));
}

#[test]
fn the_calls_of_the_readme_run_on_postgres() {
    let Some(database) = PostgresDatabase::create() else { return };
    store::migrate(&database.url(), &StoreOptions::default()).unwrap();
    calls_run(&database.url());
}
