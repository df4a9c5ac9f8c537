//! `samebill compare`: asks the service the one question.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::bill::{plans_sheet, usage_line};
use super::client::{Reply, Target, query};
use super::{CliError, Format, Report};
use crate::comparison::question::PeriodBody;
use crate::engine::ComparisonResult;
use crate::words::CustomerId;

/// What would a customer have paid in a billing period under each of these plans?
///
/// The same question, in whatever order and spelling, is answered by the same comparison.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill compare --customer c-1 --period 2026-06 --plan flat --plan tou
  samebill compare --customer c-1 --period 2026-06-14/2026-07-14 --plan flat tou@3 --format json")]
pub(super) struct Compare {
    /// Whose usage
    #[arg(long, value_name = "ID")]
    customer: CustomerId,
    /// A year, a month, START/END (end exclusive) or the id of a registered period
    #[arg(long, value_name = "PERIOD")]
    period: String,
    /// A plan's id, or id@3 for its version 3 whatever its dates
    #[arg(long = "plan", required = true, num_args = 1.., value_name = "ID")]
    plans: Vec<String>,
    /// What to do when the answer is no longer fresh
    #[arg(long, value_enum, value_name = "WHAT", default_value = "answer")]
    if_stale: IfStale,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum IfStale {
    /// Give it, and say so
    Answer,
    /// Replace it by a new one
    Supersede,
}

impl Compare {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let parameters = query(&[("if_stale", (self.if_stale == IfStale::Supersede).then_some("supersede"))]);
        let question = json!({
            "customer_id": self.customer,
            "billing_period": PeriodBody::from_query(&self.period),
            "plan_ids": self.plans,
        });
        let reply = self.target.client()?.post(&format!("/v1/comparisons{parameters}"), &question)?;
        report(&reply)?.print(format)
    }
}

/// A comparison in all forms.
pub(super) fn report(reply: &Reply) -> Result<Report, CliError> {
    let answer = reply.json()?;
    let result: ComparisonResult = serde_json::from_value(answer["result"].clone())
        .map_err(|e| CliError::new("bad_answer", format!("the result cannot be read: {e}")))?;
    let sheet = plans_sheet(&result);
    let mut text = format!("{}\n{}\n{}\n", headline(&answer, reply.is_replayed), usage_line(&result), sheet.table());
    if let Some(stale) = stale_line(&answer) {
        let _ = writeln!(text, "{stale}");
    }
    Ok(Report { json: reply.body.clone(), text, sheet })
}

/// Customer, period, id, status and when.
fn headline(answer: &Value, is_replayed: bool) -> String {
    let text = |member: &str| answer[member].as_str().unwrap_or("").to_owned();
    let period = &answer["billing_period"];
    format!(
        "{} from {} to {}\ncomparison {} ({}, {}), made {}{}",
        text("customer_id"),
        period["start"].as_str().unwrap_or(""),
        period["end"].as_str().unwrap_or(""),
        text("id"),
        text("status"),
        answer["freshness"]["state"].as_str().unwrap_or(""),
        text("created_at"),
        if is_replayed { "; it was there before this call" } else { "" },
    )
}

/// Why an answer is stale and how it is replaced.
fn stale_line(answer: &Value) -> Option<String> {
    let freshness = &answer["freshness"];
    if freshness["state"] != "stale" {
        return None;
    }
    let reasons: Vec<&str> =
        freshness["reasons"].as_array().into_iter().flatten().filter_map(|reason| reason["kind"].as_str()).collect();
    let mut line = format!("stale: {}", reasons.join(", ").replace('_', " "));
    if answer["status"] == "current" {
        let _ = write!(line, "; replace it: samebill supersede {}", answer["id"].as_str().unwrap_or(""));
    }
    Some(line)
}
