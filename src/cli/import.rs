//! `samebill import …`: customers, plans, readings, billing periods, calendars, price series and event lists into the
//! service.

mod shared;
mod usage;

use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde_json::{Value, json};

pub(super) use self::shared::prices_of;
use self::shared::{ImportCalendar, ImportEventList, ImportPrices};
use self::usage::ImportUsage;
pub(super) use self::usage::{OnConflictFlag, changed_days};
use super::client::{Reply, Target, escape, query};
use super::foreign::ForeignFlags;
use super::{CliError, Format, Report, Sheet};
use crate::tariff::PlanFormat;
use crate::words::{CustomerId, PeriodId, PlanId};

/// Put a customer, a plan, readings, a billing period, a calendar, prices or an event list into the service
#[derive(Debug, clap::Subcommand)]
pub(super) enum Import {
    Customer(ImportCustomer),
    Plan(ImportPlan),
    Usage(Box<ImportUsage>),
    Period(ImportPeriod),
    Calendar(ImportCalendar),
    Prices(ImportPrices),
    EventList(ImportEventList),
}

/// Put a customer: its time zone, meter points and attributes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill import customer --id c-1 --time-zone America/Phoenix
  samebill import customer customer.json --id c-1")]
pub(super) struct ImportCustomer {
    /// The customer's document (JSON), instead of flags
    #[arg(value_name = "FILE", conflicts_with_all = ["time_zone", "name", "billing_cycle", "attributes"])]
    file: Option<PathBuf>,
    /// The customer's id [default: the file's name without extension]
    #[arg(long, required_unless_present = "file")]
    id: Option<CustomerId>,
    /// IANA name of the time zone
    #[arg(long, value_name = "ZONE", required_unless_present = "file")]
    time_zone: Option<Tz>,
    /// A name, for people
    #[arg(long)]
    name: Option<String>,
    /// The billing cycle whose registered periods cut the billing months
    #[arg(long, value_name = "CYCLE")]
    billing_cycle: Option<String>,
    /// What a tariff can ask for: NAME=NUMBER, NAME=true, NAME=false
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    attributes: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// Put a plan: a changed document makes a new version, the same one none
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill import plan flat.json
  samebill import plan urdb.json --id pge-e-tou-c --in-force-from 2026-01-01
  samebill import plan product.json --id octopus-c --region C --payment-method direct_debit_monthly")]
pub(super) struct ImportPlan {
    /// Our plan document, a URDB tariff, an Australian CDR energy plan or an Octopus product or rates, told apart by
    /// content
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The plan's id [default: the file's name without extension]
    #[arg(long)]
    id: Option<PlanId>,
    /// First day on which this version applies [default: always]
    #[arg(long, value_name = "DATE")]
    in_force_from: Option<NaiveDate>,
    /// The day after the last on which it applies [default: open]
    #[arg(long, value_name = "DATE")]
    in_force_to: Option<NaiveDate>,
    #[command(flatten)]
    foreign: ForeignFlags,
    #[command(flatten)]
    target: Target,
}

/// Register a billing period; it never changes once registered
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill import period --id north-2026-06 --start 2026-06-14 --end 2026-07-14 --cycle north")]
pub(super) struct ImportPeriod {
    /// The period's id; not one that reads like a year or a month
    #[arg(long)]
    id: PeriodId,
    /// First day
    #[arg(long, value_name = "DATE")]
    start: NaiveDate,
    /// The day after the last
    #[arg(long, value_name = "DATE")]
    end: NaiveDate,
    /// The billing cycle it is part of
    #[arg(long)]
    cycle: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Import {
    /// Sends it and prints the answer.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        match self {
            Self::Customer(command) => command.run(format),
            Self::Plan(command) => command.run(format),
            Self::Usage(command) => command.run(format),
            Self::Period(command) => command.run(format),
            Self::Calendar(command) => command.run(format),
            Self::Prices(command) => command.run(format),
            Self::EventList(command) => command.run(format),
        }
    }
}

impl ImportCustomer {
    fn run(self, format: Format) -> Result<(), CliError> {
        let id = match (&self.id, &self.file) {
            (Some(id), _) => id.to_string(),
            (None, Some(file)) => stem(file),
            (None, None) => return Err(CliError::Usage("--id is needed".to_owned())),
        };
        let document = match &self.file {
            Some(file) => std::fs::read_to_string(file).map_err(|e| CliError::unreadable(file, &e))?,
            None => self.document()?.to_string(),
        };
        let reply =
            self.target.client()?.put(&format!("/v1/customers/{}", escape(&id)), "application/json", &document)?;
        report_put(&reply, "customer", &id)?.print(format)
    }

    fn document(&self) -> Result<Value, CliError> {
        let mut document = json!({"time_zone": self.time_zone});
        if let Some(name) = &self.name {
            document["name"] = json!(name);
        }
        if let Some(cycle) = &self.billing_cycle {
            document["billing_cycle"] = json!(cycle);
        }
        for attribute in &self.attributes {
            let (name, value) = attribute
                .split_once('=')
                .ok_or_else(|| CliError::Usage(format!("--attribute {attribute}: write NAME=VALUE")))?;
            document["attributes"][name] = match value {
                "true" => json!(true),
                "false" => json!(false),
                number => json!(number),
            };
        }
        Ok(document)
    }
}

impl ImportPlan {
    fn run(self, format: Format) -> Result<(), CliError> {
        let id = self.id.clone().map_or_else(|| id_of_file(&self.file), Ok)?;
        let text = std::fs::read_to_string(&self.file).map_err(|e| CliError::unreadable(&self.file, &e))?;
        let text = text.trim_start_matches('\u{feff}');
        let (from, to) = (self.in_force_from.map(|d| d.to_string()), self.in_force_to.map(|d| d.to_string()));
        let mut parameters = vec![("in_force_from", from.as_deref()), ("in_force_to", to.as_deref())];
        parameters.extend(self.foreign.parameters());
        let parameters = query(&parameters);
        let path = format!("/v1/plans/{}{parameters}", escape(id.as_str()));
        let reply = self.target.client()?.put(&path, PlanFormat::detect(text).media_type(), text)?;
        report_put(&reply, "plan", id.as_str())?.print(format)
    }
}

impl ImportPeriod {
    fn run(self, format: Format) -> Result<(), CliError> {
        let mut document = json!({"start": self.start, "end": self.end});
        if let Some(cycle) = &self.cycle {
            document["cycle"] = json!(cycle);
        }
        let path = format!("/v1/billing-periods/{}", escape(self.id.as_str()));
        let reply = self.target.client()?.put(&path, "application/json", &document.to_string())?;
        report_put(&reply, "billing period", self.id.as_str())?.print(format)
    }
}

/// The plan id that a file's name gives.
pub(super) fn id_of_file(path: &Path) -> Result<PlanId, CliError> {
    let stem = stem(path);
    stem.parse()
        .map_err(|e| CliError::Usage(format!("the file's name gives no id ({e}): say one for {}", path.display())))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn report_put(reply: &Reply, what: &str, id: &str) -> Result<Report, CliError> {
    let json = reply.json()?;
    let version = json["version"].as_u64().map(|version| version.to_string());
    let text = match (&version, reply.status) {
        (Some(version), 201) => format!("{what} {id} stored, version {version}"),
        (Some(version), _) => format!("{what} {id} stands at version {version}"),
        (None, 201) => format!("{what} {id} stored"),
        (None, _) => format!("{what} {id} was there already"),
    };
    let mut sheet = Sheet::new(["id", "version"]);
    sheet.row([id, version.as_deref().unwrap_or("")]);
    Ok(Report { json: reply.body.clone(), text, sheet })
}
