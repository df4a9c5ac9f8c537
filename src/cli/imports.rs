//! `samebill imports`: the records of imports, and undoing one.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::client::{Client, Target, escape, query};
use super::import::changed_days;
use super::output::to_the_second;
use super::{CliError, Format, Report, Sheet};

/// The records of imports: list them, show one, take one back
#[derive(Debug, clap::Subcommand)]
pub(super) enum Imports {
    List(List),
    Show(Show),
    Revert(Revert),
}

/// Imports, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill imports list --customer c-1
  samebill imports list --state incomplete")]
pub(super) struct List {
    /// Of this customer
    #[arg(long, value_name = "ID")]
    customer: Option<String>,
    /// The customers' parts of a file of many meter points
    #[arg(long, value_name = "IMPORT")]
    part_of: Option<String>,
    /// Of the file with this SHA-256
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    /// In this state
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<State>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum State {
    Done,
    Incomplete,
    Reverted,
}

/// One import; of a file of many meter points also what is not stored, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill imports show 0198c0de-0000-7000-8000-000000000001")]
pub(super) struct Show {
    /// The import
    id: String,
    #[command(flatten)]
    target: Target,
}

/// Take back what an import changed, where nothing newer changed it again
///
/// The readings that it replaced come back and those that it added go: a new revision, which marks comparisons stale as any
/// correction does. A second time changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill imports revert 0198c0de-0000-7000-8000-000000000001 --dry-run
  samebill imports revert 0198c0de-0000-7000-8000-000000000001")]
pub(super) struct Revert {
    /// The import
    id: String,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

impl Imports {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let report = match self {
            Self::List(command) => command.report()?,
            Self::Show(command) => command.report()?,
            Self::Revert(command) => command.report()?,
        };
        report.print(format)
    }
}

impl List {
    fn report(self) -> Result<Report, CliError> {
        let state = self.state.map(|state| match state {
            State::Done => "done",
            State::Incomplete => "incomplete",
            State::Reverted => "reverted",
        });
        let parameters = [
            ("customer_id", self.customer.as_deref()),
            ("part_of", self.part_of.as_deref()),
            ("sha256", self.sha256.as_deref()),
            ("state", state),
        ];
        let items = all_items(&self.target.client()?, "/v1/imports", &parameters, self.limit)?;
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let mut sheet = Sheet::new([
            "created_at",
            "id",
            "kind",
            "state",
            "customer_id",
            "file_name",
            "sha256",
            "format",
            "added",
            "replaced",
            "removed",
            "kept",
            "unchanged",
        ]);
        let mut table = Sheet::new(["created", "id", "state", "customer", "file", "added", "replaced"]);
        for item in &items {
            let count = |member: &str| item["counts"][member].as_u64().unwrap_or(0).to_string();
            let kind = text(&item["kind"]);
            let customer = if kind == "meter_points" { "(many)".to_owned() } else { text(&item["customer_id"]) };
            let state = if kind == "revert" { "revert".to_owned() } else { text(&item["state"]) };
            table.row([
                to_the_second(&text(&item["created_at"])),
                text(&item["id"]),
                state,
                customer,
                text(&item["file_name"]),
                count("added"),
                count("replaced"),
            ]);
            sheet.row([
                text(&item["created_at"]),
                text(&item["id"]),
                kind,
                text(&item["state"]),
                text(&item["customer_id"]),
                text(&item["file_name"]),
                text(&item["sha256"]),
                text(&item["format"]),
                count("added"),
                count("replaced"),
                count("removed"),
                count("kept"),
                count("unchanged"),
            ]);
        }
        let text = if table.is_empty() { "no import".to_owned() } else { table.table() };
        Ok(Report { json: json!({"items": items}).to_string(), text, sheet })
    }
}

impl Show {
    fn report(self) -> Result<Report, CliError> {
        let client = self.target.client()?;
        let path = format!("/v1/imports/{}", escape(&self.id));
        let mut record = client.get(&path)?.json()?;
        let mut text = String::new();
        for member in [
            "kind",
            "state",
            "customer_id",
            "file_name",
            "format",
            "sha256",
            "created_at",
            "part_of",
            "reverts",
            "reverted_by",
            "same_file_as",
        ] {
            if let Some(value) = record[member].as_str() {
                let _ = writeln!(text, "{member:<13} {value}");
            }
        }
        if let (Some(before), Some(after)) = (record["revision_before"].as_i64(), record["revision_after"].as_i64()) {
            let _ = writeln!(text, "{:<13} {before} before, {after} after", "revision");
        }
        let mut sheet = counts_sheet(&record["counts"]);
        let _ = writeln!(text, "\n{}", sheet.table());
        if record["kind"] == "meter_points" {
            let points = format!("{path}/meter-points");
            let items = all_items(&client, &points, &[("state", Some("not_stored"))], usize::MAX)?;
            let number = |member: &str| record["meter_points"][member].as_u64().unwrap_or(0);
            let _ = writeln!(
                text,
                "\n{} meter points stored, {} unmapped, {} refused, {} left",
                number("done"),
                number("unmapped"),
                number("refused"),
                number("pending")
            );
            record["not_stored"] = Value::Array(items);
            sheet = not_stored(&record["not_stored"]);
            if !sheet.is_empty() {
                let _ = writeln!(text, "\n{}", sheet.table());
            }
        }
        for warning in record["warnings"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "note: {}", warning["detail"].as_str().unwrap_or(""));
        }
        Ok(Report { json: record.to_string(), text, sheet })
    }
}

impl Revert {
    fn report(self) -> Result<Report, CliError> {
        let dry_run = query(&[("dry_run", self.dry_run.then_some("true"))]);
        let path = format!("/v1/imports/{}/revert{dry_run}", escape(&self.id));
        let reply = self.target.client()?.post(&path, &json!({}))?;
        let json = reply.json()?;
        let mut sheet = counts_sheet(&json);
        let mut text = format!("{}\n", sheet.table());
        if self.dry_run {
            let days = changed_days(&json);
            if !days.is_empty() {
                text = format!("What would change; nothing was stored.\n\n{text}\n{}\n", days.table());
                sheet = days;
            }
        } else if reply.is_replayed {
            text.insert_str(0, "It was taken back before, by this:\n\n");
        }
        if let Some(newer) = json["newer"].as_u64().filter(|newer| *newer > 0) {
            let _ = writeln!(text, "note: {newer} readings stay: a later import changed them again");
        }
        Ok(Report { json: reply.body, text, sheet })
    }
}

/// The counts of an import as a table of one row.
pub(super) fn counts_sheet(json: &Value) -> Sheet {
    let mut sheet = Sheet::new([
        "added",
        "replaced",
        "removed",
        "filled",
        "kept",
        "unchanged",
        "exact repeats",
        "revision before",
        "revision after",
        "made stale",
    ]);
    let number = |member: &str| json[member].as_u64().map(|number| number.to_string()).unwrap_or_default();
    let n_stale = json["stale_comparison_ids"].as_array().map_or(0, Vec::len);
    sheet.row([
        number("added"),
        number("replaced"),
        number("removed"),
        number("filled"),
        number("kept"),
        number("unchanged"),
        number("exact_repeats"),
        number("revision_before"),
        number("revision_after"),
        n_stale.to_string(),
    ]);
    sheet
}

/// Meter points that are not stored, and why.
pub(super) fn not_stored(items: &Value) -> Sheet {
    let mut sheet = Sheet::new(["meter point", "state", "customer", "code", "detail"]);
    for item in items.as_array().into_iter().flatten() {
        let text = |member: &str| item[member].as_str().unwrap_or("").to_owned();
        sheet.row([text("meter_point_id"), text("state"), text("customer_id"), text("code"), text("detail")]);
    }
    sheet
}

/// The items of a list, page by page.
fn all_items(
    client: &Client,
    path: &str,
    parameters: &[(&str, Option<&str>)],
    limit: usize,
) -> Result<Vec<Value>, CliError> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut page = parameters.to_vec();
        page.push(("cursor", cursor.as_deref()));
        let answer = client.get(&format!("{path}{}", query(&page)))?.json()?;
        items.extend(answer["items"].as_array().into_iter().flatten().cloned());
        cursor = answer["next"].as_str().map(str::to_owned);
        if cursor.is_none() || items.len() >= limit {
            items.truncate(limit);
            return Ok(items);
        }
    }
}
