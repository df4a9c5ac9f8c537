use std::path::Path;

use super::support::run;

const COMMANDS: [&str; 23] = [
    "serve",
    "demo",
    "bill",
    "import customer",
    "import plan",
    "import usage",
    "import period",
    "import calendar",
    "import prices",
    "import event-list",
    "imports list",
    "imports show",
    "imports revert",
    "coverage",
    "plan schema",
    "plan explain",
    "compare",
    "supersede",
    "history",
    "diff",
    "evidence",
    "verify",
    "migrate",
];

#[test]
fn every_command_has_help_with_an_example() {
    for command in COMMANDS {
        let help = run(Path::new("."), &format!("{command} --help")).done();
        assert!(help.stdout.contains("Example"), "{command}: {}", help.stdout);
        assert!(help.stdout.contains(&format!("samebill {command}")), "{command}: {}", help.stdout);
        assert!(help.stdout.contains("--format"), "{command}: {}", help.stdout);
        let widest = help.stdout.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 120, "{command}: {widest} columns");
    }
    let help = run(Path::new("."), "--help").done();
    for command in COMMANDS {
        assert!(help.stdout.contains(command.split(' ').next().unwrap()), "{command}");
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "",
        "bil",
        "bill",
        "bill --plan x.json",
        "bill --plan x.json --usage y.csv --tier-scope sometimes",
        "bill --plan x.json --usage y.csv --time-zone Europe/Atlantis",
        "compare --customer c-1 --period 2026-06",
        "compare --customer c/1 --period 2026-06 --plan flat",
        "compare --customer c-1 --period 2026-06 --plan flat --server https://example.org",
        "compare --customer c-1 --period 2026-06 --plan flat --server http://127.0.0.1:1 --database-url sqlite://x.db",
        "import customer",
        "import usage x.csv",
        "import usage x.csv --customer c-1 --by-meter-point",
        "import usage x.csv --by-meter-point --channel import=E1",
        "import usage x.csv --customer c-1 --fill-start 2026-06-01 --fill-end 2026-07-01",
        "imports list --state lost",
        "coverage --customer c-1 --start 2026-06-01",
        "import customer --id c-1",
        "import period --id 2026-06 --start 2026-06-01 --end 2026-07-01",
        "import period --id june --start 2026-02-31 --end 2026-07-01",
        "import calendar x.txt",
        "import calendar x.txt --id US",
        "import prices x.csv --id 1st",
        "bill --plan x.json --usage y.csv --calendar x.txt",
        "bill --plan x.json --usage y.csv --prices US=x.txt",
        "import event-list x.txt --id 1st",
        "bill --plan x.json --usage y.csv --event-list x.txt",
        "history x --customer c-1",
        "supersede x --reason because",
        "evidence",
        "verify",
        "verify a.zip b.zip",
        "demo --format xml",
    ] {
        let refused = run(folder.path(), arguments);
        assert_eq!(refused.code, 2, "{arguments}: {}{}", refused.stdout, refused.stderr);
        assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{arguments}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
}
