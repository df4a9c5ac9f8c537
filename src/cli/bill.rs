//! `samebill bill`: plans on a file of readings, offline. Prints the `result` object of the API.

mod question;
mod table;

pub(in crate::cli) use self::table::{plans_sheet, usage_line};

use std::path::PathBuf;
use std::str::FromStr;

use rust_decimal::Decimal;

use self::question::build_question;
use super::conventions::ConventionFlags;
use super::foreign::ForeignFlags;
use super::output::remark;
use super::reading::ReadFlags;
use super::{CliError, Format, Report};
use crate::comparison::ComparisonError;
use crate::config::{Coverage, SplitIntervals};
use crate::engine::{ComparisonResult, EngineError, Question};
use crate::words::{InputName, PlanReference};

/// Bill plans on a file of readings, without a database
///
/// Prints the `result` object of a comparison: the same bytes that the service stores for the same question. What
/// was assumed (time zone, period) is said on stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill bill --plan flat.json --usage june.csv --time-zone Europe/London --period 2026-06
  samebill bill --plan urdb.json --usage year.csv --period 2018 --conventions sam --format json
  samebill bill --plan flat.json --usage june.csv --expect 85.29 --tolerance 0.01")]
pub(super) struct Bill {
    /// A plan: our document or a foreign one (URDB, CDR, Octopus). ID=FILE names it; else its name is that of the file.
    /// Plans that another one includes are part of it and not billed on their own
    #[arg(long = "plan", required = true, num_args = 1.., value_name = "[ID=]FILE")]
    plans: Vec<String>,
    /// The readings, in any format that `samebill inspect` knows
    #[arg(long, value_name = "FILE")]
    usage: PathBuf,
    #[command(flatten)]
    reading: ReadFlags,
    /// The customer's time zone, an IANA name such as America/Phoenix
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<chrono_tz::Tz>,
    /// A year, a month or START/END (end exclusive) [default: the days that the file covers]
    #[arg(long, value_name = "PERIOD")]
    period: Option<String>,
    /// A customer's document (JSON): time zone and attributes
    #[arg(long, value_name = "FILE")]
    customer: Option<PathBuf>,
    /// Dates that a plan calls holidays: ID=FILE, one date a line or JSON with `dates`
    #[arg(long = "calendar", value_name = "ID=FILE")]
    calendars: Vec<NamedFile>,
    /// Prices by instant that a plan names as a series: ID=FILE, CSV (start,price) or JSON
    #[arg(long, value_name = "ID=FILE")]
    prices: Vec<NamedFile>,
    /// Instants within which rules of a plan hold: ID=FILE, one interval a line, CSV (start,end) or JSON with `events`
    #[arg(long = "event-list", value_name = "ID=FILE")]
    event_lists: Vec<NamedFile>,
    #[command(flatten)]
    foreign: ForeignFlags,
    /// Least share of the expected readings, 0 to 1 [default: 0.95]
    #[arg(long, value_name = "SHARE")]
    min_coverage: Option<Coverage>,
    /// What happens to a reading that a price boundary cuts [default: refuse]
    #[arg(long, value_name = "RULE")]
    split_intervals: Option<SplitIntervals>,
    /// Fail unless the total of the one plan is this
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    expect: Option<Decimal>,
    /// By how much the total may differ from the expected one
    #[arg(long, value_name = "AMOUNT", default_value = "0", requires = "expect")]
    tolerance: Decimal,
    #[command(flatten)]
    conventions: ConventionFlags,
}

/// A calendar, a price series or an event list at hand: `ID=FILE`.
#[derive(Debug, Clone)]
struct NamedFile {
    id: InputName,
    path: PathBuf,
}

impl FromStr for NamedFile {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (id, path) = text.split_once('=').ok_or("write ID=FILE")?;
        Ok(Self { id: id.parse().map_err(|e: crate::words::IdError| e.to_string())?, path: PathBuf::from(path) })
    }
}

impl Bill {
    /// Bills and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let asked = build_question(&self)?;
        if self.expect.is_some() && asked.question.plans.len() != 1 {
            let message = "--expect checks one plan: give one --plan with it, and those that it includes";
            return Err(CliError::Usage(message.to_owned()));
        }
        for assumption in &asked.assumptions {
            remark(&format!("assumed: {assumption}"));
        }
        let result = crate::engine::compare(&asked.question).map_err(|e| not_billable(e, &asked.question))?;
        let json =
            String::from_utf8(crate::comparison::render(&result).map_err(|e| CliError::new("bad_result", e))?.result)
                .map_err(|e| CliError::new("bad_result", e))?;
        let report = Report { json, text: table::text(&asked.question, &result), sheet: table::sheet(&result) };
        report.print(format)?;
        self.check(&result)
    }

    /// `--expect`.
    fn check(&self, result: &ComparisonResult) -> Result<(), CliError> {
        let Some(expected) = self.expect else { return Ok(()) };
        let total = &result.plans[0].total;
        let difference = total.parse::<Decimal>().map_err(|e| CliError::new("bad_result", e))? - expected;
        if difference.abs() <= self.tolerance {
            return Ok(());
        }
        Err(CliError::new(
            "not_as_expected",
            format!(
                "the total is {total}, expected was {expected} within {}: it differs by {difference}",
                self.tolerance
            ),
        ))
    }
}

/// What has no bill, as the service says it.
fn not_billable(cause: EngineError, question: &Question) -> CliError {
    let faulty: Vec<&PlanReference> = match &cause {
        EngineError::PlansNotBillable(faults) => faults.iter().map(|fault| &fault.plan_id).collect(),
        _ => Vec::new(),
    };
    let references = question.plans.iter().map(|plan| &plan.reference);
    let billable = references.filter(|reference| !faulty.contains(reference)).cloned().collect();
    CliError::refused(None, &ComparisonError::NotBillable { cause, billable }.into())
}
