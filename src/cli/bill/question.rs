//! From files and flags to the engine's question.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Utc};
use chrono_tz::Tz;

use super::{Bill, CliError, NamedFile};
use crate::cli::import::prices_of;
use crate::comparison::SharedFiles;
use crate::comparison::question::{Period, PeriodBody};
use crate::config::{Settings, SettingsFlags, SplitIntervals};
use crate::engine::{Options, PlanToBill, Question, VersionInForce};
use crate::shared::{Calendar, EventList, SharedError, read_prices};
use crate::tariff::{PlanFormat, Tariff};
use crate::usage::{ParsedUsage, Readings};
use crate::words::{BillingPeriod, CustomerDocument, MAX_PERIOD_DAYS, PlanId};

/// A question and what nobody said but was taken to be so.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) assumptions: Vec<String>,
}

/// Reads the files.
pub(super) fn build_question(bill: &Bill) -> Result<Asked, CliError> {
    let mut assumptions = Vec::new();
    let customer = bill.customer.as_deref().map(read_customer).transpose()?;
    let said_zone = bill.time_zone.or(customer.as_ref().map(|customer| customer.time_zone));
    let usage = read_usage(bill, said_zone)?;
    assumptions.extend(usage.warnings.iter().map(|warning| warning.detail.clone()));
    let time_zone = match said_zone {
        Some(zone) => zone,
        None => assume_zone(&usage, &mut assumptions)?,
    };
    let period = match &bill.period {
        Some(text) => parse_period(text)?,
        None => assume_period(&usage, time_zone, &mut assumptions)?,
    };
    let customer = customer.unwrap_or_else(|| bare_customer(time_zone));
    let customer = CustomerDocument { time_zone, ..customer };
    let plans = read_plans(bill, period)?;
    let shared = read_shared(bill)?;
    let question =
        crate::comparison::offline_question(&customer, period, plans, &usage.readings, &shared, &options(bill)?);
    Ok(Asked { question, assumptions })
}

/// A customer of whom nothing is known but the clock.
fn bare_customer(time_zone: Tz) -> CustomerDocument {
    CustomerDocument {
        name: None,
        time_zone,
        meter_points: Vec::new(),
        attributes: BTreeMap::new(),
        billing_cycle: None,
        current_plan_id: None,
    }
}

fn read_customer(path: &Path) -> Result<CustomerDocument, CliError> {
    let text = read_text(path)?;
    let mut json = serde_json::Deserializer::from_str(&text);
    let wrong = |place: &str, what: &str| CliError::new("bad_customer", format!("{}: {place}: {what}", path.display()));
    let customer: CustomerDocument = serde_path_to_error::deserialize(&mut json)
        .map_err(|e| wrong(&e.path().to_string(), &e.inner().to_string()))?;
    customer.check_attributes().map_err(|(pointer, detail)| wrong(&pointer, &detail))?;
    Ok(customer)
}

fn read_usage(bill: &Bill, time_zone: Option<Tz>) -> Result<ParsedUsage, CliError> {
    let path = bill.usage.as_path();
    let file = File::open(path).map_err(|e| CliError::unreadable(path, &e))?;
    crate::usage::read(file, &bill.reading.options(time_zone)).map_err(|e| CliError::refused(Some(path), &e.into()))
}

/// The zone of a file whose times all carry the same whole-hour offset; said, because it decides local days.
fn assume_zone(usage: &ParsedUsage, assumptions: &mut Vec<String>) -> Result<Tz, CliError> {
    let hours = usage.offset_seconds.filter(|seconds| seconds % 3600 == 0).map(|seconds| seconds / 3600);
    // The names count westwards: UTC-7 is Etc/GMT+7.
    let name = hours.map(|hours| match hours {
        0 => "Etc/UTC".to_owned(),
        hours => format!("Etc/GMT{:+}", -hours),
    });
    match name.and_then(|name| name.parse::<Tz>().ok()) {
        Some(zone) => {
            assumptions.push(format!("time zone {zone}, the one offset of all times in the file (--time-zone says another)"));
            Ok(zone)
        }
        None => Err(CliError::Usage(
            "the readings do not say in which time zone the bill is made: give --time-zone, as in --time-zone Europe/London"
                .to_owned(),
        )),
    }
}

/// A period as on the command line: `2026`, `2026-06`, `2026-06-14/2026-07-14`.
pub(super) fn parse_period(text: &str) -> Result<BillingPeriod, CliError> {
    match PeriodBody::from_query(text).check("--period") {
        Ok(Period::Days(period)) => Ok(period),
        Ok(Period::Registered(_)) => Err(CliError::Usage(format!(
            "--period {text}: write a year, a month or START/END (end exclusive); registered periods are the service's"
        ))),
        Err(e) => Err(CliError::Usage(e.to_string())),
    }
}

/// All local days that the file covers to their end.
fn assume_period(usage: &ParsedUsage, zone: Tz, assumptions: &mut Vec<String>) -> Result<BillingPeriod, CliError> {
    let first = usage.readings.values().filter_map(Readings::first).map(|reading| reading.start).min();
    let end = usage.readings.values().filter_map(Readings::last).map(|reading| reading.end()).max();
    let (first, end) = first.zip(end).expect("a file that was read has readings");
    let local = |instant: i64| {
        zone.from_utc_datetime(&DateTime::<Utc>::from_timestamp(instant, 0).expect("a reading's instant").naive_utc())
    };
    // A day that begins or ends outside the file is not covered.
    let mut start_day = local(first).date_naive();
    if days(start_day, start_day.succ_opt()).is_none_or(|day| crate::engine::instants(zone, &day).start < first) {
        start_day = start_day.succ_opt().expect("years 1970 to 2199");
    }
    let end_day = local(end).date_naive();
    let period = days(start_day, Some(end_day));
    let Some(period) = period else {
        let n_days = (end_day - start_day).num_days();
        return Err(CliError::Usage(if n_days > MAX_PERIOD_DAYS {
            format!(
                "the file covers {n_days} days, {start_day} to {end_day}: say which ones with --period, at most {MAX_PERIOD_DAYS}"
            )
        } else {
            "the file covers no whole local day: say which ones to bill with --period START/END".to_owned()
        }));
    };
    let is_months = start_day.day() == 1 && end_day.day() == 1;
    let what = if is_months { "the whole months" } else { "the whole days" };
    assumptions.push(format!("period {start_day}/{end_day}, {what} that the file covers (--period says another)"));
    Ok(period)
}

fn days(start: NaiveDate, end: Option<NaiveDate>) -> Option<BillingPeriod> {
    BillingPeriod::new(start, end?).ok()
}

fn read_plans(bill: &Bill, period: BillingPeriod) -> Result<Vec<PlanToBill>, CliError> {
    let mut plans: BTreeMap<crate::words::PlanReference, PlanToBill> = BTreeMap::new();
    for argument in &bill.plans {
        let (id, path) = plan_argument(argument)?;
        let text = read_text(&path)?;
        let tariff = Tariff::from_format(PlanFormat::detect(&text), &text, &bill.foreign.options());
        let tariff = Arc::new(tariff.map_err(|e| CliError::refused(Some(&path), &e.into()))?);
        let versions = vec![VersionInForce { version: 1, days: period, tariff }];
        let plan = PlanToBill { reference: id.clone().into(), versions };
        if plans.insert(plan.reference.clone(), plan).is_some() {
            return Err(CliError::Usage(format!(
                "two plans are called {id}: name one of them, --plan OTHER={}",
                path.display()
            )));
        }
    }
    Ok(plans.into_values().collect())
}

/// The files of `--calendar`, `--prices` and `--event-list`.
fn read_shared(bill: &Bill) -> Result<SharedFiles, CliError> {
    let mut shared = SharedFiles::default();
    let refused = |path: &Path, error: SharedError| CliError::refused(Some(path), &error.into());
    for NamedFile { id, path } in &bill.calendars {
        let calendar = Calendar::read(&read_text(path)?).map_err(|e| refused(path, e))?;
        if shared.calendars.insert(id.clone(), calendar).is_some() {
            return Err(CliError::Usage(format!("two calendars are called {id}")));
        }
    }
    for NamedFile { id, path } in &bill.prices {
        let (text, step) = prices_of(&read_text(path)?, path, None, &bill.foreign.options())?;
        let series = read_prices(&text, step).map_err(|e| refused(path, e))?;
        if shared.price_series.insert(id.clone(), series).is_some() {
            return Err(CliError::Usage(format!("two price series are called {id}")));
        }
    }
    for NamedFile { id, path } in &bill.event_lists {
        let list = EventList::read(&read_text(path)?).map_err(|e| refused(path, e))?;
        if shared.event_lists.insert(id.clone(), list).is_some() {
            return Err(CliError::Usage(format!("two event lists are called {id}")));
        }
    }
    Ok(shared)
}

/// `ID=FILE`, or a file whose stem is the id.
fn plan_argument(argument: &str) -> Result<(PlanId, PathBuf), CliError> {
    if let Some((id, path)) = argument.split_once('=')
        && let Ok(id) = id.parse()
    {
        return Ok((id, PathBuf::from(path)));
    }
    let path = PathBuf::from(argument);
    Ok((crate::cli::import::id_of_file(&path)?, path))
}

/// The text of a document, without a byte-order mark.
fn read_text(path: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(path).map_err(|e| CliError::unreadable(path, &e))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

fn options(bill: &Bill) -> Result<Options, CliError> {
    let settings = Settings::load(&SettingsFlags::default(), None).map_err(|e| CliError::new("bad_settings", e))?;
    let split = bill.split_intervals.unwrap_or(settings.split_intervals);
    Ok(Options {
        min_coverage: bill.min_coverage.unwrap_or(settings.min_coverage).value(),
        split_intervals_even: split == SplitIntervals::Even,
        conventions: bill.conventions.overrides(),
    })
}
