//! A week of prices: what the next kWh costs at each half hour.
//!
//! The price is the sum of the charges of one channel that price plain kWh, at the first step that has a price. Taxes and
//! percents, and charges by a price series, are not in it: the title says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::NaiveDate;

use super::phrases::{Phrases, channel_words};
use super::when::{dates, days_of_year};
use super::{Picture, list};
use crate::tariff::model::{Charge, Kind, Measure, MeasureId, NetPart, Per, StepPrice};
use crate::tariff::number::Exact;
use crate::tariff::schedule::{DayType, Schedule};
use crate::usage::Channel;

/// Columns of a day.
const N_COLUMNS: u16 = 48;
const MINUTES_OF_COLUMN: u16 = 30;
/// Seasons that are drawn; URDB knows twelve months.
const MAX_PICTURES: usize = 12;
/// More charges or seasons than these are nothing for a picture.
const MAX_TERMS: usize = 50;
const MAX_SEASONS: usize = 60;
/// A day on which holidays are drawn where a schedule has none.
const WEDNESDAY: DayType = 2;

/// What a half hour costs, and the periods it lies in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Cell {
    price: Option<Exact>,
    periods: String,
}

/// Seven days, and a holiday where there are any.
type Grid = Vec<Vec<Cell>>;

/// One charge's part in the price.
struct Term<'p> {
    charge: &'p Charge,
    schedule: Option<usize>,
    /// By period of the schedule, or under 0.
    prices: BTreeMap<usize, Exact>,
}

/// A picture for each channel that a schedule prices and each season in which its prices differ.
pub(super) fn pictures(phrases: &Phrases<'_>) -> Vec<Picture> {
    let channels: std::collections::BTreeSet<Channel> =
        phrases.plan.reads.iter().map(|read| read.channel.clone()).collect();
    let mut channels: Vec<Channel> = channels.into_iter().collect();
    channels.sort_by_key(|channel| *channel != Channel::import());
    channels.iter().flat_map(|channel| of_channel(phrases, channel)).collect()
}

fn of_channel(phrases: &Phrases<'_>, channel: &Channel) -> Vec<Picture> {
    let mut terms = Vec::new();
    let mut left_out = Vec::new();
    let prices_energy = |charge: &&Charge| charge.on_bill && is_of_channel(phrases, charge, channel);
    for charge in phrases.plan.charges.iter().filter(prices_energy) {
        match term(phrases, charge) {
            Some(term) => terms.push(term),
            None => left_out.push(charge.id.clone()),
        }
    }
    if terms.iter().all(|term| term.schedule.is_none()) || terms.len() > MAX_TERMS {
        return Vec::new();
    }
    let schedules = &phrases.plan.schedules;
    let used: Vec<&Schedule> = terms.iter().filter_map(|term| Some(&schedules[term.schedule?])).collect();
    let mut seasons: Vec<(Grid, Vec<NaiveDate>)> = Vec::new();
    let mut season_of_spans: BTreeMap<Vec<u16>, usize> = BTreeMap::new();
    for date in days_of_year() {
        let spans: Vec<u16> = used.iter().map(|schedule| schedule.span(date)).collect();
        if season_of_spans.len() > MAX_SEASONS {
            return Vec::new();
        }
        let season = *season_of_spans.entry(spans).or_insert_with(|| {
            let grid = grid(phrases, &terms, date);
            seasons.iter().position(|(known, _)| same_prices(known, &grid)).unwrap_or_else(|| {
                seasons.push((grid, Vec::new()));
                seasons.len() - 1
            })
        });
        seasons[season].1.push(date);
    }
    let is_flat = |grid: &Grid| grid.iter().flatten().all(|cell| cell.price == grid[0][0].price);
    if seasons.iter().all(|(grid, _)| is_flat(grid)) {
        // The words have the price of each season.
        return Vec::new();
    }
    let marks = marks(seasons.iter().map(|(grid, _)| grid));
    let Some(marks) = marks else { return Vec::new() };
    let title = title(phrases, channel, &terms, &left_out);
    let n_seasons = seasons.len();
    let drawn = seasons.iter().take(MAX_PICTURES).map(|(grid, days)| Picture {
        title: dates(days).map_or_else(|| title.clone(), |dates| format!("{title}: {dates}")),
        lines: draw(phrases, grid, &marks),
    });
    let mut pictures: Vec<Picture> = drawn.collect();
    if let Some(last) = pictures.last_mut() {
        if n_seasons > MAX_PICTURES {
            last.lines.push(format!("{} more seasons are not drawn.", n_seasons - MAX_PICTURES));
        }
        if used.iter().any(|schedule| schedule.has_instants()) {
            last.lines.push("Hours within named instants are not drawn.".into());
        }
        if used.iter().any(|schedule| has_edges_between(schedule)) {
            last.lines
                .push("Some hours begin or end within a half hour: its column shows what holds at its start.".into());
        }
    }
    pictures
}

/// Whether a charge is for kWh of a channel as they come.
fn is_of_channel(phrases: &Phrases<'_>, charge: &Charge, channel: &Channel) -> bool {
    charge.parts.iter().all(|part| match &phrases.plan.measures[part.measure] {
        Measure::Energy(spec) => spec.channel == *channel,
        Measure::NetEnergy(spec) => spec.import == *channel && spec.part == NetPart::Billed,
        _ => false,
    })
}

/// The prices of a charge, if each is a number.
fn term<'p>(phrases: &Phrases<'p>, charge: &'p Charge) -> Option<Term<'p>> {
    if charge.per != Per::BillingPeriod
        || charge.chosen_by.is_some()
        || charge.to.is_some()
        || charge.condition.is_some()
    {
        return None;
    }
    let period = charge.period.or_else(|| match &phrases.plan.measures[charge.parts.first()?.measure] {
        Measure::Energy(spec) if charge.split.is_none() => spec.period,
        _ => None,
    });
    let mut prices = BTreeMap::new();
    for part in &charge.parts {
        let price = part.steps.iter().find_map(|step| step.price)?;
        let StepPrice::Price(id) = price else { return None };
        let period = part.period.or(period.map(|period| period.period)).unwrap_or(0);
        prices.insert(period, number(phrases, id)?);
    }
    Some(Term { charge, schedule: charge.split.or(period.map(|period| period.schedule)), prices })
}

/// A number, or the newest of dated ones.
fn number(phrases: &Phrases<'_>, id: MeasureId) -> Option<Exact> {
    match &phrases.plan.measures[id] {
        Measure::ByDate(values) => phrases.value(values.last()?.1),
        _ => phrases.value(id),
    }
}

/// The week of a date's season.
fn grid(phrases: &Phrases<'_>, terms: &[Term<'_>], date: NaiveDate) -> Grid {
    let schedules = &phrases.plan.schedules;
    let has_holidays = terms.iter().any(|term| term.schedule.is_some_and(|i| !schedules[i].holidays.is_empty()));
    let rows = (0..7).map(Some).chain(has_holidays.then_some(None));
    let row = |weekday: Option<DayType>| -> Vec<Cell> {
        let mut cells = vec![Cell::default(); usize::from(N_COLUMNS)];
        for term in terms {
            let periods = match term.schedule {
                None => vec![Some(0); cells.len()],
                Some(schedule) => periods_of(&schedules[schedule], date, weekday),
            };
            for (cell, period) in cells.iter_mut().zip(periods) {
                let Some(price) = period.and_then(|period| term.prices.get(&period)) else { continue };
                cell.price = Some(cell.price.take().map_or_else(|| price.clone(), |sum| sum.plus(price)));
                if let (Some(schedule), Some(period)) = (term.schedule, period) {
                    add_name(&mut cell.periods, &schedules[schedule].periods[period]);
                }
            }
        }
        cells
    };
    rows.map(row).collect()
}

fn add_name(names: &mut String, name: &str) {
    if names.split(" + ").all(|known| known != name) {
        if !names.is_empty() {
            names.push_str(" + ");
        }
        names.push_str(name);
    }
}

/// The period at the start of each column on a weekday, or on a holiday.
fn periods_of(schedule: &Schedule, date: NaiveDate, weekday: Option<DayType>) -> Vec<Option<usize>> {
    let (today, yesterday) = match weekday {
        Some(weekday) => (weekday, (weekday + 6) % 7),
        None if schedule.holidays.is_empty() => (WEDNESDAY, WEDNESDAY - 1),
        None => (schedule.holiday_type(), schedule.holiday_type()),
    };
    let mut stretches = schedule.day(schedule.span(date), today, yesterday).iter().peekable();
    let starts = (0..N_COLUMNS).map(|column| column * MINUTES_OF_COLUMN);
    let period_at = |minute: u16| {
        while stretches.next_if(|stretch| stretch.end <= minute).is_some() {}
        stretches.peek().filter(|stretch| stretch.start <= minute).map(|stretch| usize::from(stretch.period))
    };
    starts.map(period_at).collect()
}

fn same_prices(a: &Grid, b: &Grid) -> bool {
    let prices = |grid: &Grid| -> Vec<Option<Exact>> { grid.iter().flatten().map(|cell| cell.price.clone()).collect() };
    prices(a) == prices(b)
}

/// A mark for each price, from the lowest up; `None` when there are more prices than letters.
fn marks<'g>(grids: impl Iterator<Item = &'g Grid>) -> Option<Vec<(Exact, char)>> {
    let mut prices: Vec<Exact> = grids.flatten().flatten().filter_map(|cell| cell.price.clone()).collect();
    prices.sort();
    prices.dedup();
    let shades: &[char] = match prices.len() {
        0 => return None,
        1 => &['▒'],
        2 => &['░', '█'],
        3 => &['░', '▒', '█'],
        4 => &['░', '▒', '▓', '█'],
        5 => &['·', '░', '▒', '▓', '█'],
        _ => &[],
    };
    if !shades.is_empty() {
        return Some(prices.into_iter().zip(shades.iter().copied()).collect());
    }
    let letters = ('a'..='z').chain('A'..='Z');
    (prices.len() <= 52).then(|| prices.into_iter().zip(letters).collect())
}

fn title(phrases: &Phrases<'_>, channel: &Channel, terms: &[Term<'_>], left_out: &[String]) -> String {
    let is_credit = terms.iter().all(|term| term.charge.kind == Kind::ExportCredit);
    let what = if is_credit { "Credit for" } else { "Price of" };
    let mut title = format!("{what} the next kWh {}", channel_words(channel));
    let has_steps = terms.iter().any(|term| term.charge.parts.iter().any(|part| part.steps.len() > 1));
    if has_steps {
        title.push_str(" at the first step");
    }
    if terms.len() > 1 {
        let ids = terms.iter().map(|term| term.charge.id.clone());
        title = format!("{title}, the sum of {}", list(ids));
    }
    let mut without = left_out.to_vec();
    if phrases.plan.charges.iter().any(|charge| charge.kind == Kind::Tax) {
        without.push("taxes".to_owned());
    }
    if !without.is_empty() {
        title = format!("{title}, without {}", list(without));
    }
    let dated = |term: &Term<'_>| {
        let steps = term.charge.parts.iter().flat_map(|part| &part.steps);
        steps.filter_map(|step| step.price).any(
            |price| matches!(price, StepPrice::Price(id) if matches!(phrases.plan.measures[id], Measure::ByDate(_))),
        )
    };
    if terms.iter().any(dated) {
        title.push_str(", the newest of dated prices");
    }
    title
}

/// Hours, days, and what the marks stand for.
fn draw(phrases: &Phrases<'_>, grid: &Grid, marks: &[(Exact, char)]) -> Vec<String> {
    const ROWS: [&str; 8] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Hol"];
    let mark = |price: &Exact| marks.iter().find(|(known, _)| known == price).map_or(' ', |(_, mark)| *mark);
    let mut hours = String::from("    ");
    for hour in (0..24).step_by(3) {
        let _ = write!(hours, "{hour:<6}");
    }
    hours.push_str("24");
    let mut lines = vec![hours];
    for (name, cells) in ROWS.iter().zip(grid) {
        let cells: String = cells.iter().map(|cell| cell.price.as_ref().map_or(' ', mark)).collect();
        lines.push(format!("{name} {cells}").trim_end().to_owned());
    }
    let width = marks.iter().filter_map(|(price, _)| price.text(0)).map(|text| text.len()).max().unwrap_or(0);
    for (price, mark) in marks.iter().rev() {
        let mut periods: Vec<&str> = Vec::new();
        for cell in grid.iter().flatten().filter(|cell| cell.price.as_ref() == Some(price)) {
            if !periods.contains(&cell.periods.as_str()) {
                periods.push(&cell.periods);
            }
        }
        if periods.is_empty() {
            continue;
        }
        periods.retain(|name| !name.is_empty());
        let names = if periods.len() > 3 { format!("{}, …", periods[..3].join(", ")) } else { periods.join(", ") };
        let text = price.text(0).unwrap_or_default();
        lines.push(format!("{mark}   {text:<width$} {}/kWh  {names}", phrases.plan.currency).trim_end().to_owned());
    }
    lines
}

/// Whether a schedule changes its period within a half hour.
fn has_edges_between(schedule: &Schedule) -> bool {
    let edges = schedule.patterns().iter().flatten().flat_map(|stretch| [stretch.start, stretch.end]);
    edges.into_iter().any(|edge| edge % MINUTES_OF_COLUMN != 0)
}
