//! `samebill verify`: computes an answer again from its evidence, offline.

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::output::to_the_second;
use super::{CliError, Format, Report, Sheet};
use crate::comparison::evidence::{self, EvidenceError, Verification};

/// Differences that the table shows.
const MAX_SHOWN: usize = 20;

/// Compute an answer again from its evidence, without a database or a network
///
/// Checks the digest of every entry, the natural key and the digest of the inputs, has the engine compute the answer
/// again and compares it with the recorded one, byte by byte. Exit code 0: verified. 1: not verified, or no evidence.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill verify dispute-17.zip
  samebill verify dispute-17.zip --format json")]
pub(super) struct Verify {
    /// The zip that `samebill evidence` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Verify {
    /// Verifies and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let file = File::open(&self.file).map_err(|error| CliError::unreadable(&self.file, &error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(CliError::unreadable(&self.file, &error));
        }
        let told = evidence::verify(file).map_err(|error| {
            let code = match error {
                EvidenceError::NoArchive(_) | EvidenceError::NoEvidence(_) => "no_evidence",
                EvidenceError::NewerFormat(_) => "newer_evidence",
                EvidenceError::Missing(_) | EvidenceError::Unreadable { .. } => "evidence_unreadable",
                EvidenceError::TooLarge(_) => "evidence_too_large",
            };
            CliError::new(code, format!("{}: {error}", self.file.display()))
        })?;
        if told.verified {
            return report(&told)?.print(format);
        }
        let failed: Vec<&str> = told.checks.iter().filter(|check| !check.passed).map(|check| check.check).collect();
        let detail = format!("{}: {} not as they should be", self.file.display(), unique(&failed).join(", "));
        if format == Format::Json {
            // One document, whichever way it went.
            let mut problem = json!({"code": "not_verified", "detail": detail});
            let Value::Object(members) = value(&told)? else { return Err(CliError::Problem(problem)) };
            problem.as_object_mut().expect("made as an object").extend(members);
            return Err(CliError::Problem(problem));
        }
        report(&told)?.print(format)?;
        Err(CliError::new("not_verified", detail))
    }
}

fn unique<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.dedup();
    names
}

fn value(told: &Verification) -> Result<Value, CliError> {
    let mut value = serde_json::to_value(told).map_err(|e| CliError::new("bad_result", e))?;
    // The entries are those of the archive, and their check is told.
    if let Some(evidence) = value["evidence"].as_object_mut() {
        evidence.remove("entries");
    }
    Ok(value)
}

fn report(told: &Verification) -> Result<Report, CliError> {
    Ok(Report { json: value(told)?.to_string(), text: text(told), sheet: sheet(told) })
}

/// What was asked, what was checked, and what differs.
fn text(told: &Verification) -> String {
    let evidence = &told.evidence;
    let plans: Vec<&str> = evidence.plan_ids.iter().map(crate::words::PlanReference::as_str).collect();
    let period =
        super::output::period(&evidence.billing_period.start.to_string(), &evidence.billing_period.end.to_string());
    let instant = |at: crate::words::Timestamp| to_the_second(&at.to_string());
    let mut text = format!(
        "comparison {} of {}: customer {}, {period}, {}\n",
        evidence.comparison_id,
        instant(evidence.created_at),
        evidence.customer_id,
        plans.join(", ")
    );
    if let Some(superseded) = &evidence.superseded {
        let (at, by) = (instant(superseded.at), superseded.successor_id);
        let _ = writeln!(text, "superseded {at} by {by}: {}", superseded.reason);
    }
    text.push('\n');
    for check in &told.checks {
        let held = if check.passed { "holds" } else { "FAILS" };
        let entry = check.entry.as_ref().map(|entry| format!("{entry}: ")).unwrap_or_default();
        // No table: digests are neither cut nor broken.
        let _ = writeln!(text, "{:<9} {held}  {entry}{}", check.check, check.detail);
    }
    if !told.differences.is_empty() {
        let mut lines = Sheet::new(["plan", "month", "line", "member", "the inputs give", "recorded"]);
        for difference in told.differences.iter().take(MAX_SHOWN) {
            let cell = |text: &Option<String>| text.clone().unwrap_or_default();
            let value = |text: &Option<String>| text.as_ref().map_or_else(|| "nothing".to_owned(), |text| clip(text));
            lines.row([
                cell(&difference.plan_id),
                cell(&difference.period_start),
                cell(&difference.line),
                difference.member.clone(),
                value(&difference.expected),
                value(&difference.found),
            ]);
        }
        let _ = write!(text, "\n{}\n", lines.table());
        if told.n_differences > MAX_SHOWN {
            let _ = writeln!(text, "… {} more", told.n_differences - MAX_SHOWN);
        }
    }
    text.push_str(if told.verified { "\nverified: the same inputs give the same bytes\n" } else { "\nNOT VERIFIED\n" });
    text
}

/// The beginning of a value, for the table; JSON and CSV have more of it.
fn clip(text: &str) -> String {
    const MAX: usize = 24;
    if text.chars().count() <= MAX { text.to_owned() } else { text.chars().take(MAX).chain(['…']).collect() }
}

/// One row a check and a difference.
fn sheet(told: &Verification) -> Sheet {
    let header =
        ["check", "passed", "entry", "detail", "plan_id", "period_start", "line", "member", "expected", "found"];
    let mut sheet = Sheet::new(header);
    for check in &told.checks {
        let head = [
            check.check.to_owned(),
            check.passed.to_string(),
            check.entry.clone().unwrap_or_default(),
            check.detail.clone(),
        ];
        sheet.row(head.into_iter().chain(std::iter::repeat_n(String::new(), header.len() - 4)));
    }
    for difference in &told.differences {
        let cell = |text: &Option<String>| text.clone().unwrap_or_default();
        sheet.row([
            "result".to_owned(),
            "false".to_owned(),
            "result.json".to_owned(),
            difference.pointer.clone(),
            cell(&difference.plan_id),
            cell(&difference.period_start),
            cell(&difference.line),
            difference.member.clone(),
            cell(&difference.expected),
            cell(&difference.found),
        ]);
    }
    sheet
}
