//! `samebill supersede`: replaces a comparison whose inputs have changed.

use serde_json::json;

use super::client::{Target, escape};
use super::{CliError, Format, compare};

/// Replace a comparison whose inputs have changed by a new one; the old one is kept
///
/// A comparison can be replaced once: the same call again gives the same successor. Nothing is replaced when the
/// inputs are what they were, unless --force is said.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill supersede 0198c0de-0000-7000-8000-000000000001 --reason usage_corrected --note \"meter 12 read again\"")]
pub(super) struct Supersede {
    /// The comparison to be replaced
    id: String,
    /// Why
    #[arg(long, value_enum, value_name = "REASON", default_value = "manual")]
    reason: Reason,
    /// In a person's words
    #[arg(long)]
    note: Option<String>,
    /// Compute and store a successor although the inputs are the same
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Reason {
    UsageCorrected,
    PlanChanged,
    CalendarChanged,
    PriceSeriesChanged,
    EventListChanged,
    EngineChanged,
    Manual,
}

impl Supersede {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let reason = match self.reason {
            Reason::UsageCorrected => "usage_corrected",
            Reason::PlanChanged => "plan_changed",
            Reason::CalendarChanged => "calendar_changed",
            Reason::PriceSeriesChanged => "price_series_changed",
            Reason::EventListChanged => "event_list_changed",
            Reason::EngineChanged => "engine_changed",
            Reason::Manual => "manual",
        };
        let mut body = json!({"reason": reason});
        if let Some(note) = &self.note {
            body["note"] = json!(note);
        }
        if self.force {
            body["force"] = json!(true);
        }
        let path = format!("/v1/comparisons/{}/supersede", escape(&self.id));
        let reply = self.target.client()?.post(&path, &body)?;
        compare::report(&reply)?.print(format)
    }
}
