//! `samebill diff`: why two answers to one question differ.

use std::fmt::Write as _;

use serde_json::Value;

use super::client::{Target, escape, query};
use super::output::{money, rounded, to_the_second};
use super::{CliError, Format, Report, Sheet};

/// Days of changed readings that the table shows.
const MAX_DAYS: usize = 20;

/// Why a comparison differs from the one it replaced, plan by plan and line by line
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill diff 0198c0de-0000-7000-8000-000000000002
  samebill diff 0198c0de-0000-7000-8000-000000000003 --with 0198c0de-0000-7000-8000-000000000001")]
pub(super) struct Diff {
    /// The comparison
    id: String,
    /// Another one that answered the same question [default: its predecessor]
    #[arg(long, value_name = "ID")]
    with: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Diff {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let path = format!("/v1/comparisons/{}/diff{}", escape(&self.id), query(&[("with", self.with.as_deref())]));
        let reply = self.target.client()?.get(&path)?;
        let difference = reply.json()?;
        let report = Report { json: reply.body.clone(), text: text(&difference), sheet: lines_sheet(&difference) };
        report.print(format)
    }
}

/// Totals, what they come from, what changed, and the lines.
pub(super) fn text(difference: &Value) -> String {
    let side = |member: &str| {
        let side = &difference[member];
        format!("{} of {}", string(&side["id"]), to_the_second(&string(&side["created_at"])))
    };
    let mut text =
        format!("before: {}\nafter:  {}\n\n{}\n", side("before"), side("after"), plans_sheet(difference).table());
    let changed = changes(difference);
    if !changed.is_empty() {
        let _ = write!(text, "\nchanged: {}\n", changed.join("; "));
    }
    let days = days_sheet(difference);
    if !days.is_empty() {
        let _ = writeln!(text, "{}", days.table());
    }
    let lines = lines_table(difference);
    if !lines.is_empty() {
        let _ = write!(text, "\nlines that differ\n{}\n", lines.table());
    }
    text
}

/// One row a plan: totals, the difference and its parts.
fn plans_sheet(difference: &Value) -> Sheet {
    let mut sheet = Sheet::new(["plan", "before", "after", "difference", "readings", "prices", "days", "rank"]);
    for plan in list(&difference["plans"]) {
        let split = |part: &str| plan["split"][part].as_str().map(|part| rounded(part, 4)).unwrap_or_default();
        let rank = |member: &str| plan[member].as_u64().map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let (before, after) = (rank("rank_before"), rank("rank_after"));
        sheet.row([
            string(&plan["plan_id"]),
            money(&string(&plan["total_before"])),
            money(&string(&plan["total_after"])),
            money(&string(&plan["difference"])),
            split("readings"),
            split("prices"),
            split("days"),
            if before == after { after } else { format!("{before} to {after}") },
        ]);
    }
    sheet
}

fn changes(difference: &Value) -> Vec<String> {
    let changed = &difference["changed"];
    let mut said = Vec::new();
    match changed["usage"].as_array() {
        Some(days) if !days.is_empty() => said.push(format!("readings of {} days", days.len())),
        Some(_) => {}
        None => said.push("readings (the old ones are no longer kept)".to_owned()),
    }
    for (member, what) in [("plan_versions", ""), ("included_plan_versions", "the included plan ")] {
        for plan in list(&changed[member]) {
            let versions = |side: &str| list(&plan[side]).map(Value::to_string).collect::<Vec<_>>().join(",");
            let (before, after) = (versions("before"), versions("after"));
            said.push(format!("{what}{} from version {before} to {after}", string(&plan["plan_id"])));
        }
    }
    for (member, what) in [("calendars", "calendar"), ("price_series", "price series"), ("event_lists", "event list")] {
        for input in list(&changed[member]) {
            let version = |side: &str| input[side].as_u64().map_or_else(|| "none".to_owned(), |n| n.to_string());
            let (before, after) = (version("before"), version("after"));
            said.push(format!("{what} {} from version {before} to {after}", string(&input["id"])));
        }
    }
    for (member, what) in
        [("customer", "the customer"), ("billing_months", "the billing months"), ("engine", "the engine")]
    {
        if changed[member] == true {
            said.push(what.to_owned());
        }
    }
    said
}

fn days_sheet(difference: &Value) -> Sheet {
    let mut sheet = Sheet::new(["day", "channel", "kWh before", "kWh after", "readings changed"]);
    for day in list(&difference["changed"]["usage"]).take(MAX_DAYS) {
        let kwh = |member: &str| rounded(&string(&day[member]), 3);
        sheet.row([
            string(&day["date"]),
            string(&day["channel"]),
            kwh("kwh_before"),
            kwh("kwh_after"),
            day["intervals"].to_string(),
        ]);
    }
    sheet
}

/// The lines for people: what they are in one column, before and after side by side.
fn lines_table(difference: &Value) -> Sheet {
    let all_lines = || list(&difference["plans"]).flat_map(|plan| list(&plan["line_items"]));
    let is_one_month =
        all_lines().all(|line| Some(&line["period_start"]) == all_lines().next().map(|l| &l["period_start"]));
    let n_leading = if is_one_month { 1 } else { 2 };
    let leading = ["plan", "month"].into_iter().take(n_leading);
    let mut table = Sheet::new(leading.chain(["line", "quantity", "amount", "difference"]));
    for plan in list(&difference["plans"]) {
        for line in list(&plan["line_items"]) {
            let tier = line["tier"].as_u64().map(|tier| format!("tier {tier}"));
            let what = [line["label"].as_str(), line["tou_period"].as_str(), tier.as_deref()];
            let sides = |member: &str| {
                let side = |side: &str| line[side][member].as_str().map_or_else(|| "-".to_owned(), |n| rounded(n, 4));
                let (before, after) = (side("before"), side("after"));
                if before == after { after } else { format!("{before} to {after}") }
            };
            let is_rounding = line["kind"] == "rounding";
            let leading = [string(&plan["plan_id"]), string(&line["period_start"])].into_iter().take(n_leading);
            table.row(leading.chain([
                what.into_iter().flatten().collect::<Vec<_>>().join(" "),
                if is_rounding { String::new() } else { sides("quantity") },
                sides("amount"),
                rounded(&string(&line["difference"]), 4),
            ]));
        }
    }
    table
}

/// The lines for spreadsheets.
fn lines_sheet(difference: &Value) -> Sheet {
    let mut sheet = Sheet::new([
        "plan_id",
        "period_start",
        "charge_id",
        "tou_period",
        "tier",
        "quantity_before",
        "quantity_after",
        "amount_before",
        "amount_after",
        "difference",
    ]);
    for plan in list(&difference["plans"]) {
        for line in list(&plan["line_items"]) {
            let side = |side: &str, member: &str| string(&line[side][member]);
            sheet.row([
                string(&plan["plan_id"]),
                string(&line["period_start"]),
                string(&line["charge_id"]),
                string(&line["tou_period"]),
                line["tier"].as_u64().map(|tier| tier.to_string()).unwrap_or_default(),
                side("before", "quantity"),
                side("after", "quantity"),
                side("before", "amount"),
                side("after", "amount"),
                string(&line["difference"]),
            ]);
        }
    }
    sheet
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}
