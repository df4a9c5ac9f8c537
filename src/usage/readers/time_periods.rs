//! Files whose rows are `2026-01-05 00:00 to 2026-01-05 01:00,0.25`, in sections between lines of free text: Southern
//! California Edison, and co-operatives of the United States.
//!
//! ```text
//! Energy Delivered time period,Usage(Real energy in kilowatt-hours),Reading quality
//! 2026-01-05 00:00:00 to 2026-01-05 00:15:00,0.04,
//! ```
//!
//! A section begins with a heading of a column whose name ends in `time period`, and goes on while that column holds
//! periods. Times are local. The unit stands in the heading; a section of kilowatts is the highest demand of its periods
//! and is never billed.
//!
//! * `sce`: the heading says `Delivered` (taken) or `Received` (fed in); sections of both take turns, day by day.
//! * `cooperative`: the headings say nothing. Sections of the same time are told apart by their order and their signs: one
//!   whose values are all zero or less is what was fed in (its sign is turned), one that is another one less what was fed in
//!   is the net, and so is one of both signs. What is left is what was taken; where that are two, the caller has to choose.

use super::super::collect::{Cell, Collector, Rank};
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell, cell_of_word, delimiter_of, numbers, plain_names, push_unless_skipped};

/// Sections of one time: delivered, received, net, demand, and room for more of them.
const MAX_SECTIONS: usize = 16;

/// The reader of Southern California Edison's downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sce;

/// The reader of downloads of co-operatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cooperative;

impl UsageReader for Sce {
    fn format(&self) -> &'static str {
        "sce"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, |names| period_name(names).and_then(direction_said).is_some()).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut collector = Collector::new(options);
        read_sections(source, options, &mut collector, |section| {
            (section.direction_said.unwrap_or(Direction::Other), None)
        })?;
        collector.finish(self.format())
    }
}

impl UsageReader for Cooperative {
    fn format(&self) -> &'static str {
        "cooperative"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, |names| period_name(names).is_some()).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let directions = directions(&survey(source, options)?);
        let mut collector = Collector::new(options);
        read_sections(source, options, &mut collector, |section| {
            (directions[section.order], Some(format!("section {}", section.order + 1)))
        })?;
        collector.finish(self.format())
    }
}

/// The name of the column of periods.
fn period_name(names: &[String]) -> Option<&str> {
    names.iter().map(String::as_str).find(|name| name.ends_with("time period"))
}

fn direction_said(name: &str) -> Option<Direction> {
    if name.contains("delivered") {
        Some(Direction::Import)
    } else if name.contains("received") {
        Some(Direction::Export)
    } else {
        None
    }
}

/// A section, from its heading on.
#[derive(Debug)]
struct Section {
    heading: Heading,
    period: usize,
    usage: usize,
    quality: Option<usize>,
    direction_said: Option<Direction>,
    unit: String,
    quantity: Quantity,
    numbers: NumberFormat,
    /// Which one of those of the same time it is, from 0; known from the first row on.
    order: usize,
    has_rows: bool,
}

impl Section {
    fn new(row: TableRow<'_>, options: &ReadOptions) -> Result<Self, UsageError> {
        let mut heading = Heading::new(row)?;
        let direction_said = period_name(heading.plain()).and_then(direction_said);
        let none = |what: &str, line| {
            let message = format!("the heading of the section has no column {what}");
            UsageError::new(UsageCode::BadHeader, message).in_field(what).at_line(line)
        };
        let line = heading.line;
        let period =
            heading.take_where(|name| name.ends_with("time period"))?.ok_or_else(|| none("time period", line))?;
        let usage = heading.take_where(|name| name.starts_with("usage"))?.ok_or_else(|| none("Usage", line))?;
        let quality = heading.take(&["reading quality", "quality"])?;
        heading.ignore(|name| name == "events occurred" || name.starts_with("cost"));
        heading.finish()?;
        let (unit, quantity, numbers) =
            unit_said(heading.name(usage), options).map_err(|e| e.in_field(clip(heading.name(usage))).at_line(line))?;
        Ok(Self { heading, period, usage, quality, direction_said, unit, quantity, numbers, order: 0, has_rows: false })
    }
}

/// The unit in `Usage(Real energy in kilowatt-hours)`.
fn unit_said(name: &str, options: &ReadOptions) -> Result<(String, Quantity, NumberFormat), UsageError> {
    let said = name.rsplit_once('(').map_or("", |(_, said)| said.trim_end_matches(')')).to_ascii_lowercase();
    let word = said.rsplit(' ').next().unwrap_or("");
    let unit = match word {
        "kilowatt-hours" | "kilowatthours" | "kwh" => Some(Unit::KilowattHour),
        "watt-hours" | "watthours" | "wh" => Some(Unit::WattHour),
        _ if options.unit.is_some() => options.unit,
        _ => None,
    };
    if said.contains("reactive") || matches!(word, "kilowatts" | "kw" | "watts" | "w") {
        let unit = if word == "kilowatts" { "kW" } else { word };
        return Ok((unit.to_owned(), Quantity::Other, NumberFormat::KWH));
    }
    let Some(unit) = unit else {
        let message = format!("{:?} is no unit of energy that is known; give it with --unit kWh", clip(word));
        return Err(UsageError::new(UsageCode::BadUnit, message));
    };
    let unit = options.unit.unwrap_or(unit);
    Ok((unit.as_str().to_owned(), unit.quantity(), numbers(unit, b'.')))
}

/// A row of a section: the period's two local times, and the texts of its value and its quality.
struct PeriodRow<'r> {
    line: u64,
    start: Stamp,
    end: Stamp,
    usage: &'r str,
    quality: &'r str,
}

/// Walks through all rows of all sections.
fn walk(
    source: &mut Source<'_>,
    options: &ReadOptions,
    mut each: impl FnMut(&Section, PeriodRow<'_>) -> Result<(), UsageError>,
) -> Result<(), UsageError> {
    let delimiter = delimiter_of(source, |names| period_name(names).is_some()).unwrap_or(b',');
    let is_empty = source.head().trim_ascii().is_empty();
    let mut table = Table::new(source.open()?, delimiter);
    let mut dates = Dates::new(options, DateOrder::MonthDayYear);
    let mut section: Option<Section> = None;
    let mut has_section = false;
    // Where the sections of one time begin, and how many of them there were.
    let (mut round, mut n_in_round) = (None, 0);
    while let Some(row) = table.next_row()? {
        let place = section.as_ref().map_or(0, |section| section.period);
        let is_period = row.bytes(place).first().is_some_and(u8::is_ascii_digit);
        if !is_period {
            let is_blank = (0..row.len()).all(|idx| row.bytes(idx).is_empty());
            if section.is_some() && row.bytes(place).is_empty() && !is_blank {
                let message = "the row has no period";
                return Err(UsageError::new(UsageCode::BadRow, message).at_line(row.line));
            }
            if period_name(&plain_names(row)).is_some() {
                section = Some(Section::new(row, options)?);
                has_section = true;
            } else if !is_blank {
                section = None;
            }
            continue;
        }
        let Some(section) = &mut section else {
            if row.len() == 1 || !has_section {
                continue;
            }
            let message = "the row stands below no heading of a section";
            return Err(UsageError::new(UsageCode::BadRow, message).at_line(row.line));
        };
        section.heading.check(row).map_err(|e| e.at_line(row.line))?;
        let (start, end) = period(row, section.period, &mut dates)
            .map_err(|e| e.in_field(section.heading.name(section.period)).at_line(row.line))?;
        if !section.has_rows {
            section.has_rows = true;
            n_in_round = if round == Some(start) { n_in_round + 1 } else { 1 };
            round = Some(start);
            section.order = n_in_round - 1;
            if n_in_round > MAX_SECTIONS {
                let message = format!("more than {MAX_SECTIONS} sections of the same time: split the file");
                return Err(UsageError::new(UsageCode::TooLarge, message).at_line(row.line));
            }
        }
        let usage = row.text(section.usage).map_err(|e| e.at_line(row.line))?;
        let quality = section.quality.map(|idx| row.text(idx)).transpose().map_err(|e| e.at_line(row.line))?;
        let of_period = PeriodRow { line: row.line, start, end, usage, quality: quality.unwrap_or("") };
        each(section, of_period).map_err(|e| e.at_line(row.line))?;
    }
    if has_section {
        return Ok(());
    }
    let (code, message) = if is_empty {
        (UsageCode::NoReadings, "the file is empty")
    } else {
        (UsageCode::BadHeader, "the file has no heading of a column that ends in \"time period\"")
    };
    Err(UsageError::new(code, message))
}

/// The two times of `2026-01-05 00:00 to 2026-01-05 01:00`; some files have a no-break space in it.
fn period(row: TableRow<'_>, idx: usize, dates: &mut Dates) -> Result<(Stamp, Stamp), UsageError> {
    let text = row.text(idx)?;
    let Some((start, end)) = text.split_once("to") else {
        let message = format!("{:?} is no period like 2026-01-05 00:00 to 2026-01-05 01:00", clip(text));
        return Err(UsageError::new(UsageCode::BadTime, message));
    };
    let mut stamp = |text: &str| {
        let (day, clock) = dates.read_first(text.trim())?;
        Stamp::local(day, parse_clock(clock)?)
    };
    Ok((stamp(start)?, stamp(end)?))
}

/// All sections into the collector. `label` gives a section's direction and channel; values of one of export that are
/// negative lose their sign.
fn read_sections(
    source: &mut Source<'_>,
    options: &ReadOptions,
    collector: &mut Collector,
    label: impl Fn(&Section) -> (Direction, Option<String>),
) -> Result<(), UsageError> {
    let mut current: Option<(u64, usize, bool)> = None;
    walk(source, options, |section, row| {
        let (series_idx, is_export) = match current {
            Some((line, series_idx, is_export)) if line == section.heading.line => (series_idx, is_export),
            _ => {
                let (direction, channel) = label(section);
                let is_energy = section.quantity != Quantity::Other;
                let direction = if is_energy { direction } else { Direction::Other };
                let label = SeriesLabel {
                    meter: None,
                    channel,
                    direction,
                    unit: section.unit.clone(),
                    quantity: section.quantity,
                };
                let series_idx = collector.series(&label)?;
                let is_export = direction == Direction::Export;
                current = Some((section.heading.line, series_idx, is_export));
                (series_idx, is_export)
            }
        };
        let usage_name = || clip(section.heading.name(section.usage));
        let cell = cell_of_word(collector, row.line, row.usage, row.quality, section.numbers)
            .map_err(|e| e.in_field(usage_name()))?;
        let cell = match cell {
            Cell::Value(value, quality) if is_export && value < 0 => Cell::Value(-value, quality),
            cell => cell,
        };
        let times = collector.between(row.start, row.end);
        collector.count_row();
        push_unless_skipped(collector, series_idx, row.line, times, cell, Rank::default())
    })
}

/// What the values of the sections of one order say.
#[derive(Debug, Clone, Copy, Default)]
struct Survey {
    is_energy: bool,
    n: u64,
    lowest: i64,
    highest: i64,
    sum: i128,
}

/// Looks at the values of all sections.
fn survey(source: &mut Source<'_>, options: &ReadOptions) -> Result<Vec<Survey>, UsageError> {
    let mut surveys: Vec<Survey> = Vec::new();
    walk(source, options, |section, row| {
        let usage = || clip(section.heading.name(section.usage));
        let value = match cell(row.usage, section.numbers, Quality::Measured).map_err(|e| e.in_field(usage()))? {
            Cell::Value(value, _) => value,
            Cell::Blank => 0,
        };
        if surveys.len() <= section.order {
            surveys.resize(section.order + 1, Survey { is_energy: true, ..Survey::default() });
        }
        let survey = &mut surveys[section.order];
        survey.is_energy &= section.quantity != Quantity::Other;
        survey.n += 1;
        survey.lowest = survey.lowest.min(value);
        survey.highest = survey.highest.max(value);
        survey.sum += i128::from(value);
        Ok(())
    })?;
    Ok(surveys)
}

/// What each section is.
fn directions(surveys: &[Survey]) -> Vec<Direction> {
    let mut directions = vec![Direction::Import; surveys.len()];
    let is_energy = |idx: usize| surveys[idx].is_energy;
    let has_taken = (0..surveys.len()).any(|idx| is_energy(idx) && surveys[idx].highest > 0);
    for (idx, survey) in surveys.iter().enumerate() {
        directions[idx] = match survey {
            Survey { is_energy: false, .. } => Direction::Other,
            Survey { highest: ..=0, lowest, .. } if *lowest < 0 || has_taken => Direction::Export,
            Survey { lowest: ..0, .. } => Direction::Net,
            _ => Direction::Import,
        };
    }
    let fed_in: Vec<usize> = (0..surveys.len()).filter(|idx| directions[*idx] == Direction::Export).collect();
    for idx in (1..surveys.len()).rev() {
        let is_net_of = |taken: usize| {
            is_energy(taken)
                && surveys[taken].n == surveys[idx].n
                && fed_in.iter().any(|fed_in| surveys[taken].sum + surveys[*fed_in].sum == surveys[idx].sum)
        };
        if directions[idx] == Direction::Import
            && (0..idx).any(|taken| directions[taken] == Direction::Import && is_net_of(taken))
        {
            directions[idx] = Direction::Net;
        }
    }
    directions
}
