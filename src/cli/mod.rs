//! The command line: one file a subcommand.
//!
//! Every command that needs the service is an HTTP client (`client.rs`): of the server that `--server` names, or of
//! a private one in this process on the database that `--database-url` names (`local.rs`). So the command line and
//! the API cannot differ. `bill`, `inspect` and `verify` need neither.
//!
//! Exit codes: 0 done, 1 refused or failed, 2 wrong usage. Errors go to stderr, with their code; with
//! `--format json` the problem document goes to stdout as well, so that a program reads one JSON document whichever
//! way it went.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are help texts: no backticks in a terminal")]

mod bill;
mod client;
mod compare;
mod conventions;
mod coverage;
mod demo;
mod diff;
mod error;
mod evidence;
mod foreign;
mod history;
mod import;
mod imports;
mod inspect;
mod local;
mod migrate;
mod output;
mod plan;
mod reading;
mod serve;
#[cfg(feature = "failpoints")]
mod stops;
mod supersede;
mod verify;
mod watch;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CliError;
use output::{Format, Report, Sheet};

/// What would a customer have paid in a billing period under each of these plans? The same question always gets
/// the same numbers.
#[derive(Debug, Parser)]
#[command(name = "samebill", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Start with `samebill demo`. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.")]
struct Cli {
    /// How results are printed: tables for people, JSON for programs, CSV for spreadsheets
    #[arg(long, global = true, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    format: Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Bill(Box<bill::Bill>),
    Inspect(inspect::Inspect),
    #[command(subcommand)]
    Import(import::Import),
    #[command(subcommand)]
    Imports(imports::Imports),
    Coverage(coverage::Coverage),
    #[command(subcommand)]
    Plan(plan::Plan),
    Compare(compare::Compare),
    Supersede(supersede::Supersede),
    History(history::History),
    Diff(diff::Diff),
    Evidence(evidence::Evidence),
    Verify(verify::Verify),
    Watch(Box<watch::Watch>),
    Migrate(migrate::Migrate),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    // clap itself exits with 2 on wrong usage, and with 0 after --help.
    let cli = Cli::parse();
    #[cfg(feature = "failpoints")]
    let _stops = stops::from_environment();
    let outcome = match cli.command {
        Command::Serve(command) => command.run(),
        Command::Demo(command) => command.run(cli.format),
        Command::Bill(command) => command.run(cli.format),
        Command::Inspect(command) => command.run(cli.format),
        Command::Import(command) => command.run(cli.format),
        Command::Imports(command) => command.run(cli.format),
        Command::Coverage(command) => command.run(cli.format),
        Command::Plan(command) => command.run(cli.format),
        Command::Compare(command) => command.run(cli.format),
        Command::Supersede(command) => command.run(cli.format),
        Command::History(command) => command.run(cli.format),
        Command::Diff(command) => command.run(cli.format),
        Command::Evidence(command) => command.run(cli.format),
        Command::Verify(command) => command.run(cli.format),
        Command::Watch(command) => command.run(cli.format),
        Command::Migrate(command) => command.run(cli.format),
    };
    match outcome {
        // A closed output is no failure: its reader has what it wanted (`samebill bill … | head`).
        Ok(()) | Err(CliError::OutputClosed) => ExitCode::SUCCESS,
        Err(error) => {
            if cli.format == Format::Json && !error.is_wrong_usage() {
                // Nothing is left to do if stdout is gone too.
                let _ = writeln!(std::io::stdout(), "{}", error.problem());
            }
            let _ = writeln!(std::io::stderr(), "samebill: {error}");
            ExitCode::from(if error.is_wrong_usage() { 2 } else { 1 })
        }
    }
}
