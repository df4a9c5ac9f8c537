//! `samebill history`: the chain of a comparison, lists of comparisons, and what stood at a moment.

use serde_json::{Value, json};

use super::client::{Client, Target, escape, query};
use super::output::{money, period, to_the_second};
use super::{CliError, Format, Report, Sheet};

/// Comparisons of the past: the chain of one, those of a customer, or what stood at a moment
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill history 0198c0de-0000-7000-8000-000000000001
  samebill history --customer c-1 --period 2026-06 --status all
  samebill history --customer c-1 --as-of 2026-07-01T12:00:00Z")]
pub(super) struct History {
    /// A comparison: every one that ever answered its question
    #[arg(conflicts_with_all = ["customer", "period", "plan", "status", "stale", "as_of"])]
    id: Option<String>,
    /// Of this customer
    #[arg(long, value_name = "ID")]
    customer: Option<String>,
    /// Over exactly this period
    #[arg(long, value_name = "PERIOD")]
    period: Option<String>,
    /// With this plan among others
    #[arg(long, value_name = "ID")]
    plan: Option<String>,
    /// Current ones, superseded ones or all [default: all]
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Option<Status>,
    /// Only current ones whose inputs have changed
    #[arg(long)]
    stale: bool,
    /// What stood at this instant (RFC 3339)
    #[arg(long, value_name = "INSTANT", requires = "customer", conflicts_with_all = ["status", "stale"])]
    as_of: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Status {
    Current,
    Superseded,
    All,
}

impl History {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let items = self.items(&self.target.client()?)?;
        report(&items).print(format)
    }

    fn items(&self, client: &Client) -> Result<Vec<Value>, CliError> {
        let mut parameters = vec![
            ("customer_id", self.customer.clone()),
            ("billing_period", self.period.clone()),
            ("plan_id", self.plan.clone()),
        ];
        let path = if let Some(id) = &self.id {
            parameters.clear();
            format!("/v1/comparisons/{}/history", escape(id))
        } else if self.as_of.is_some() {
            parameters.push(("at", self.as_of.clone()));
            "/v1/comparisons/as-of".to_owned()
        } else {
            let status = match self.status {
                Some(Status::Current) => "current",
                Some(Status::Superseded) => "superseded",
                Some(Status::All) | None => "all",
            };
            parameters.push(("status", Some(status.to_owned())));
            parameters.push(("stale", self.stale.then(|| "true".to_owned())));
            "/v1/comparisons".to_owned()
        };
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut page: Vec<(&str, Option<&str>)> =
                parameters.iter().map(|(name, value)| (*name, value.as_deref())).collect();
            page.push(("cursor", cursor.as_deref()));
            let answer = client.get(&format!("{path}{}", query(&page)))?.json()?;
            items.extend(answer["items"].as_array().into_iter().flatten().cloned());
            cursor = answer["next"].as_str().map(str::to_owned);
            if cursor.is_none() || items.len() >= self.limit {
                items.truncate(self.limit);
                return Ok(items);
            }
        }
    }
}

/// A list of comparisons in all forms.
pub(super) fn report(items: &[Value]) -> Report {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let mut sheet = Sheet::new([
        "created_at",
        "id",
        "status",
        "freshness",
        "customer_id",
        "start",
        "end",
        "plan_ids",
        "cheapest_plan_id",
        "currency",
        "cheapest_total",
        "reason",
        "note",
    ]);
    let mut table = Sheet::new(["created", "id", "status", "period", "cheapest"]);
    for item in items {
        let totals = &item["totals"];
        let plans: Vec<String> = item["plan_ids"].as_array().into_iter().flatten().map(text).collect();
        let cheapest = text(&totals["cheapest_plan_id"]);
        let total = totals["plans"].as_array().into_iter().flatten().find(|plan| plan["plan_id"] == cheapest.as_str());
        let total = total.map(|plan| text(&plan["total"])).unwrap_or_default();
        let freshness = text(&item["freshness"]["state"]);
        let (start, end) = (text(&item["billing_period"]["start"]), text(&item["billing_period"]["end"]));
        // One word: the reason and the note stand in JSON and CSV.
        let status = if freshness == "stale" && item["status"] == "current" {
            "stale"
        } else {
            item["status"].as_str().unwrap_or("")
        };
        table.row([
            to_the_second(&text(&item["created_at"])),
            text(&item["id"]),
            status.to_owned(),
            period(&start, &end),
            format!("{cheapest} {}", money(&total)),
        ]);
        sheet.row([
            text(&item["created_at"]),
            text(&item["id"]),
            text(&item["status"]),
            freshness,
            text(&item["customer_id"]),
            start,
            end,
            plans.join(" "),
            cheapest,
            text(&totals["currency"]),
            total,
            text(&item["superseded"]["reason"]),
            text(&item["superseded"]["note"]),
        ]);
    }
    let text = if table.is_empty() { "no comparison".to_owned() } else { table.table() };
    Report { json: json!({"items": items}).to_string(), text, sheet }
}
