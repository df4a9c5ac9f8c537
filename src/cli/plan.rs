//! `samebill plan …`: plan documents themselves.

use super::output::print_line;
use super::{CliError, Format};
use crate::tariff::plan_schema;

/// Look at plan documents: what they may hold
#[derive(Debug, clap::Subcommand)]
pub(super) enum Plan {
    Schema(Schema),
}

/// Print the JSON Schema of plan documents, for editors and validators
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill plan schema > plan.schema.json")]
pub(super) struct Schema {}

impl Plan {
    /// Does it.
    pub(super) fn run(&self, _format: Format) -> Result<(), CliError> {
        match self {
            // A schema is JSON, whatever the format.
            Self::Schema(Schema {}) => print_line(plan_schema().trim_end()),
        }
    }
}
