//! `samebill plan …`: plan documents themselves.

use std::path::PathBuf;

use serde_json::Value;

use super::client::{Client, Target, query};
use super::foreign::ForeignFlags;
use super::local::PrivateServer;
use super::output::print_line;
use super::{CliError, Format, Report, Sheet};
use crate::config::Settings;
use crate::tariff::{PlanFormat, plan_schema};

/// Look at plans: in words, and what their documents may hold
#[derive(Debug, clap::Subcommand)]
pub(super) enum Plan {
    Explain(Box<Explain>),
    Schema(Schema),
}

/// Say in words what a plan bills, when and at what price, what it needs and what is not billed, with the week's prices
///
/// Nothing is stored. Plans that it includes are those of --server or --database-url; without either there are none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill plan explain flat.json
  samebill plan explain urdb.json --allow-unbilled
  samebill plan explain product.json --region C --payment-method direct_debit_monthly --format json")]
pub(super) struct Explain {
    /// Our plan document, a URDB tariff, an Australian CDR energy plan or an Octopus product or rates, told apart by
    /// content
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    foreign: ForeignFlags,
    #[command(flatten)]
    target: Target,
}

/// Print the JSON Schema of plan documents, for editors and validators
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill plan schema > plan.schema.json")]
pub(super) struct Schema {}

impl Plan {
    /// Does it.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        match self {
            Self::Explain(command) => command.run(format),
            // A schema is JSON, whatever the format.
            Self::Schema(Schema {}) => print_line(plan_schema().trim_end()),
        }
    }
}

impl Explain {
    fn run(&self, format: Format) -> Result<(), CliError> {
        let text = std::fs::read_to_string(&self.file).map_err(|e| CliError::unreadable(&self.file, &e))?;
        let text = text.trim_start_matches('\u{feff}');
        let path = format!("/v1/plans/validate{}", query(&self.foreign.parameters()));
        let media_type = PlanFormat::detect(text).media_type();
        let accept = if format == Format::Table { "text/plain" } else { "application/json" };
        let ask = |client: &Client| client.ask(&path, media_type, text, accept);
        let target = &self.target;
        let reply = if target.server.is_none() && target.database_url.is_none() && target.config.is_none() {
            // A look at a plan leaves no database behind.
            let folder = tempfile::tempdir()?;
            let settings = Settings {
                database_url: format!("sqlite://{}", folder.path().join("empty.db").display()),
                listen: "127.0.0.1:0".to_owned(),
                ..Settings::default()
            };
            ask(&Client::of_private(PrivateServer::start(settings)?))?
        } else {
            ask(&target.client()?)?
        };
        if format == Format::Table {
            return print_line(reply.body.trim_end());
        }
        Report { sheet: sheet(&reply.json()?), json: reply.body, text: String::new() }.print(format)
    }
}

/// A row a sentence.
fn sheet(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(["charge_id", "kind", "label", "words"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for charge in answer["charges"].as_array().into_iter().flatten() {
        for words in charge["words"].as_array().into_iter().flatten() {
            let cells = [&charge["charge_id"], &charge["kind"], &charge["label"], words];
            sheet.row(cells.map(text));
        }
    }
    sheet
}
