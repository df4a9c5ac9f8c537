//! Load curves of Enedis (France).
//!
//! ```text
//! Identifiant PRM;Type de donnees;…;Unite;Pas en minutes
//! 00000000000000;Courbe de charge;…;W;
//!
//! Horodate;Valeur
//! 2026-01-05T00:30:00+01:00;540
//! ```
//!
//! A value is the mean power, in watts, of the step that ends at its time. Steps are of 30 or of 60 minutes, also mixed: they
//! show in the times, or stand in a column `Pas` or in the lines above. Lines above that say `Production` or `Injection`
//! make it what was fed in, `Wh` makes the values energy. Index readings by day are no load curve and are refused.

use super::super::collect::{Collector, Rank};
use super::super::detect::StampSide;
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{
    Dates, Heading, cell_of_word, delimiter_of, numbers, plain, push_unless_skipped, stamped, unit_in_brackets, unit_of,
};

/// The reader of Enedis' load curves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Enedis;

impl UsageReader for Enedis {
    fn format(&self) -> &'static str {
        "enedis"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b';');
        let mut table = Table::new(source.open()?, delimiter);
        let mut preamble = Preamble::default();
        let mut heading = Heading::find(&mut table, is_heading, |row| preamble.add(row))?;
        let columns = Columns::new(&mut heading)?;
        let said = unit_in_brackets(heading.name(columns.value)).or(preamble.get("unite")).unwrap_or("W");
        let said = said.strip_prefix("en ").unwrap_or(said);
        let unit = unit_of(options, said).map_err(|e| e.in_field(heading.name(columns.value)).at_line(heading.line))?;
        let is_fed_in = ["grandeur metier", "type de donnees"].into_iter().any(|name| {
            let text = plain(preamble.get(name).unwrap_or_default());
            text.starts_with("prod") || text.starts_with("injection")
        });
        let mut collector = Collector::new(options);
        let label = SeriesLabel {
            meter: preamble.get("identifiant prm").map(str::to_owned),
            channel: None,
            direction: if is_fed_in { Direction::Export } else { Direction::Import },
            unit: unit.as_str().to_owned(),
            quantity: unit.quantity(),
        };
        let series_idx = collector.series(&label)?;
        let seconds = preamble.get("pas en minutes").or(preamble.get("pas")).map(step_seconds).transpose()?;
        let mut rows = Rows {
            heading,
            columns,
            numbers: numbers(unit, b'.'),
            side: options.stamp,
            seconds,
            dates: Dates::new(options, DateOrder::DayMonthYear),
            series_idx,
            collector,
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        rows.collector.finish(self.format())
    }
}

fn is_time(name: &str) -> bool {
    name.starts_with("horodate")
}

fn is_value(name: &str) -> bool {
    name.starts_with("valeur") || name.starts_with("puissance moyenne")
}

fn is_heading(names: &[String]) -> bool {
    // Index readings have a column for each register instead of a value.
    names.iter().any(|name| is_time(name)) && names.len() > 1
}

/// The lines above the heading: names and below them values, or a name and its value.
#[derive(Debug, Default)]
struct Preamble {
    names: Vec<String>,
    values: Vec<(String, String)>,
}

impl Preamble {
    fn add(&mut self, row: &[String]) {
        if row.first().is_some_and(|first| plain(first) == "identifiant prm") {
            self.names = row.iter().map(|name| plain(name)).collect();
            self.values.extend(row.chunks_exact(2).map(|pair| (plain(&pair[0]), pair[1].clone())));
        } else if !self.names.is_empty() {
            let names = std::mem::take(&mut self.names);
            self.values.clear();
            self.values.extend(names.into_iter().zip(row.iter().cloned()));
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    time: usize,
    value: usize,
    nature: Option<usize>,
    step: Option<usize>,
}

impl Columns {
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        if heading.plain().iter().any(|name| name == "type de releve" || name.starts_with("eas ")) {
            let message = "the file holds index readings, not a load curve; ask Enedis for the hourly consumption";
            return Err(UsageError::new(UsageCode::NotIntervals, message).at_line(heading.line));
        }
        let line = heading.line;
        let none = |name: &str| {
            let message = format!("the header has no column {name}");
            UsageError::new(UsageCode::BadHeader, message).in_field(name).at_line(line)
        };
        let time = heading.take_where(is_time)?.ok_or_else(|| none("Horodate"))?;
        let value = heading.take_where(is_value)?.ok_or_else(|| none("Valeur"))?;
        let nature = heading.take(&["nature"])?;
        let step = heading.take(&["pas", "pas en minutes"])?;
        heading.finish()?;
        Ok(Self { time, value, nature, step })
    }
}

/// The rows while they are read.
struct Rows {
    heading: Heading,
    columns: Columns,
    numbers: NumberFormat,
    /// What the caller said of the times.
    side: Option<StampSide>,
    /// Length of the steps, where the lines above say it.
    seconds: Option<i64>,
    dates: Dates,
    series_idx: usize,
    collector: Collector,
}

impl Rows {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let Self { heading, columns, dates, collector, .. } = self;
        heading.check(row)?;
        let text = row.text(columns.time)?;
        // A year first is ISO 8601, with or without an offset; else a local time, day first.
        let stamp = if text.as_bytes().get(4) == Some(&b'-') {
            Stamp::parse(text)
        } else {
            dates.read_first(text).and_then(|(day, clock)| Stamp::local(day, parse_clock(clock)?))
        };
        let stamp = stamp.map_err(|e| e.in_field(heading.name(columns.time)))?;
        let step = columns.step.map(|idx| row.text(idx)).transpose()?.filter(|step| !step.is_empty());
        let seconds = step.map(step_seconds).transpose()?.or(self.seconds);
        let times = stamped(collector, stamp, self.side, StampSide::End);
        let times = times.map_err(|e| e.in_field(heading.name(columns.time)));
        let times = times.and_then(|times| match seconds {
            Some(seconds) => times.lasting(seconds).map_err(|e| e.in_field("Pas")),
            None => Ok(times),
        });
        let nature = columns.nature.map(|idx| row.text(idx)).transpose()?.unwrap_or("");
        let cell = cell_of_word(collector, row.line, row.text(columns.value)?, nature, self.numbers)
            .map_err(|e| e.in_field(heading.name(columns.value)))?;
        collector.count_row();
        push_unless_skipped(collector, self.series_idx, row.line, times, cell, Rank::default())
    }
}

/// Seconds of `30`, `PT30M`, `PT1H`.
fn step_seconds(text: &str) -> Result<i64, UsageError> {
    let upper = text.trim().to_ascii_uppercase();
    let (digits, factor) = match upper.strip_prefix("PT") {
        Some(rest) if rest.ends_with('M') => (&rest[..rest.len() - 1], 60),
        Some(rest) if rest.ends_with('H') => (&rest[..rest.len() - 1], 3600),
        Some(_) => ("", 0),
        None => (upper.as_str(), 60),
    };
    let seconds = digits.parse::<u16>().ok().map(|number| i64::from(number) * factor);
    seconds.ok_or_else(|| {
        let message = format!("{:?} is no step like 30 or PT30M", clip(text));
        UsageError::new(UsageCode::IntervalLength, message).in_field("Pas")
    })
}
