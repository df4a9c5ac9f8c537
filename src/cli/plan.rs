//! `samebill plan …`: plan documents themselves.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{Client, Target, escape, query};
use super::foreign::ForeignFlags;
use super::local::PrivateServer;
use super::output::print_line;
use super::{CliError, Format, Report, Sheet};
use crate::config::Settings;
use crate::tariff::{PlanFormat, plan_schema};
use crate::words::PlanReference;

/// Look at plans: in words, and what their documents may hold
#[derive(Debug, clap::Subcommand)]
pub(super) enum Plan {
    Explain(Box<Explain>),
    Schema(Schema),
}

/// Say in words what a plan bills, when and at what price, what it needs and what is not billed, with the week's prices
///
/// A file that exists is the plan, and - is the standard input; any other name is that of a stored plan, in its newest
/// version or the one that it names. Nothing is stored. Plans that a file includes are those of --server or
/// --database-url; without either there are none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill plan explain flat.json
  samebill plan explain pge-e-tou-c@2 --server http://127.0.0.1:8080
  samebill plan explain urdb.json --allow-unbilled
  samebill plan explain product.json --region C --payment-method direct_debit_monthly --format json")]
pub(super) struct Explain {
    /// Our plan document, a URDB tariff, an Australian CDR energy plan or an Octopus product or rates, told apart by
    /// content; or the id of a stored plan
    #[arg(value_name = "FILE|PLAN[@VERSION]")]
    plan: String,
    #[command(flatten)]
    foreign: ForeignFlags,
    #[command(flatten)]
    target: Target,
}

/// A stored version, as the service gives it.
#[derive(Deserialize)]
struct StoredVersion {
    document: Box<RawValue>,
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
        let path = format!("/v1/plans/validate{}", query(&self.foreign.parameters()));
        let accept = if format == Format::Table { "text/plain" } else { "application/json" };
        let ask = |client: &Client, text: &str| client.ask(&path, PlanFormat::detect(text).media_type(), text, accept);
        let target = &self.target;
        let reply = match self.file()? {
            None => {
                let plan = self.stored_plan()?;
                let client = target.client()?;
                ask(&client, stored(&client, &plan)?.document.get())?
            }
            Some(text) if target.server.is_none() && target.database_url.is_none() && target.config.is_none() => {
                // A look at a plan leaves no database behind.
                let folder = tempfile::tempdir()?;
                let settings = Settings {
                    database_url: format!("sqlite://{}", folder.path().join("empty.db").display()),
                    listen: "127.0.0.1:0".to_owned(),
                    ..Settings::default()
                };
                ask(&Client::of_private(PrivateServer::start(settings)?), text.trim_start_matches('\u{feff}'))?
            }
            Some(text) => ask(&target.client()?, text.trim_start_matches('\u{feff}'))?,
        };
        if format == Format::Table {
            return print_line(reply.body.trim_end());
        }
        Report { sheet: sheet(&reply.json()?), json: reply.body, text: String::new() }.print(format)
    }

    /// The text of the file; `None` where there is none of that name.
    fn file(&self) -> Result<Option<String>, CliError> {
        let path = Path::new(&self.plan);
        if self.plan == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|e| CliError::unreadable(path, &e))?;
            return Ok(Some(text));
        }
        // A folder may be called like a plan.
        if !path.exists() || path.is_dir() {
            return Ok(None);
        }
        std::fs::read_to_string(path).map(Some).map_err(|e| CliError::unreadable(path, &e))
    }

    /// The stored plan that is named, where a service may hold it.
    fn stored_plan(&self) -> Result<PlanReference, CliError> {
        let no_file = |more: String| {
            CliError::new("unreadable_file", format!("{}: there is no such file, and {more}", self.plan))
        };
        let plan = self.plan.parse().map_err(|error| no_file(format!("no plan is called so: {error}")))?;
        if self.foreign.parameters().iter().any(|(_, value)| value.is_some()) {
            let message = "what a foreign plan leaves open was said when it was imported: such flags go with a file";
            return Err(CliError::Usage(format!("{}: there is no such file, and {message}", self.plan)));
        }
        // A look at a plan leaves no database behind.
        match self.target.missing_database()? {
            Some(file) => Err(no_file(format!("no database {file} with a plan of that id"))),
            None => Ok(plan),
        }
    }
}

/// The newest version of a plan, or the one that is named.
fn stored(client: &Client, plan: &PlanReference) -> Result<StoredVersion, CliError> {
    let id = escape(plan.plan_id().as_str());
    let path = match plan.pinned_version() {
        None => format!("/v1/plans/{id}"),
        Some(version) => format!("/v1/plans/{id}/versions/{version}"),
    };
    let reply = client.get(&path).map_err(|error| error.where_not_found("there is no such file either"))?;
    serde_json::from_str(&reply.body)
        .map_err(|e| CliError::new("bad_answer", format!("the answer is no version of a plan: {e}")))
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
