//! `samebill coverage`: what readings of a customer are there, month by month.

use serde_json::Value;

use super::client::{Target, escape, query};
use super::{CliError, Format, Report, Sheet};

/// What readings of a customer are there: intervals, qualities and gaps of each month and channel
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill coverage --customer c-1
  samebill coverage --customer c-1 --start 2026-01-01 --end 2027-01-01 --format csv")]
pub(super) struct Coverage {
    /// Whose readings
    #[arg(long, value_name = "ID")]
    customer: String,
    /// From this local date or instant on [default: the month of the first reading]
    #[arg(long, value_name = "START", requires = "end")]
    start: Option<String>,
    /// Up to here [default: the end of the month of the last reading]
    #[arg(long, value_name = "END", requires = "start")]
    end: Option<String>,
    /// Of this channel only
    #[arg(long)]
    channel: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Coverage {
    /// Asks and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let parameters = query(&[
            ("start", self.start.as_deref()),
            ("end", self.end.as_deref()),
            ("channel", self.channel.as_deref()),
        ]);
        let path = format!("/v1/customers/{}/usage/coverage{parameters}", escape(&self.customer));
        let reply = self.target.client()?.get(&path)?;
        let json = reply.json()?;
        let (mut sheet, mut table) = (
            Sheet::new([
                "channel",
                "month",
                "days",
                "expected_intervals",
                "intervals",
                "interval_minutes",
                "kwh",
                "measured",
                "substituted",
                "estimated",
                "filled_zero",
                "missing",
                "gaps",
            ]),
            Sheet::new(["channel", "month", "intervals", "of", "minutes", "kWh", "not measured", "gaps"]),
        );
        for item in json["items"].as_array().into_iter().flatten() {
            let text = |member: &str| item[member].as_str().unwrap_or("").to_owned();
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            let quality = |member: &str| number(&item["quality"][member]);
            let gaps: Vec<String> = item["gaps"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|gap| format!("{}/{}", gap["start"].as_str().unwrap_or(""), gap["end"].as_str().unwrap_or("")))
                .collect();
            let lengths = item["interval_minutes"].as_array().into_iter().flatten();
            let lengths: Vec<String> = lengths.map(|minutes| number(minutes).to_string()).collect();
            let not_measured = quality("substituted") + quality("estimated") + quality("filled_zero");
            table.row([
                text("channel"),
                text("month"),
                number(&item["intervals"]).to_string(),
                number(&item["expected_intervals"]).to_string(),
                lengths.join(","),
                text("kwh"),
                not_measured.to_string(),
                gaps.len().to_string(),
            ]);
            sheet.row([
                text("channel"),
                text("month"),
                number(&item["days"]).to_string(),
                number(&item["expected_intervals"]).to_string(),
                number(&item["intervals"]).to_string(),
                lengths.join(" "),
                text("kwh"),
                quality("measured").to_string(),
                quality("substituted").to_string(),
                quality("estimated").to_string(),
                quality("filled_zero").to_string(),
                quality("missing").to_string(),
                gaps.join(" "),
            ]);
        }
        let text = if table.is_empty() { "no reading".to_owned() } else { table.table() };
        Report { json: reply.body, text, sheet }.print(format)
    }
}
