//! Downloads of Kansai Electric's customer site: free text, the period with its years, a row a day without its year,
//! newest first.
//!
//! ```text
//! データ抽出対象期間：2026年6月1日 ～ 2026年6月10日
//! ,0-1時,1-2時,…,23-24時
//! 抽出期間合計,5.90,…
//!  06/10,0.20,…
//! ```
//!
//! The year of a day is the one that lies in the period. The row of totals is checked against the days and never added.

use chrono::{Datelike as _, NaiveDate};

use super::super::super::collect::{Cell, Collector};
use super::super::super::file::{Direction, SeriesLabel};
use super::super::super::number::clip;
use super::super::super::stamp::{DateOrder, date_parts, parse_date};
use super::super::super::table::{Table, TableRow};
use super::super::super::unit::Unit;
use super::super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::super::generic::{DayColumns, cell, interval_columns, push_day};
use super::super::heading::numbers;
use super::in_japan;

/// First cells of the row of totals.
const TOTALS: [&str; 2] = ["抽出期間合計", "合計"];

/// Rows of free text above the hours.
const MAX_PREAMBLE_ROWS: usize = 60;

/// The reader of Kansai Electric's downloads.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct KansaiElectric;

impl UsageReader for KansaiElectric {
    fn format(&self) -> &'static str {
        "kansai_electric"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let mut table = Table::new(Box::new(source.head()), b',');
        let mut has_period = false;
        for _ in 0..MAX_PREAMBLE_ROWS {
            let Ok(Some(row)) = table.next_row() else { return false };
            let texts = row.texts();
            has_period |= period_of(&texts.concat()).is_some();
            if is_hours(&texts) {
                return has_period;
            }
        }
        false
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut table = Table::new(source.open()?, b',');
        let mut collector = Collector::new(&in_japan(options));
        let mut period = None;
        let mut days: Option<Days> = None;
        while let Some(row) = table.next_row()? {
            let read = match &mut days {
                Some(days) => days.read_row(row, &mut collector),
                None => {
                    let texts = row.texts();
                    period = period.or_else(|| period_of(&texts.concat()));
                    if is_hours(&texts) {
                        Days::of(&texts, period, options, &mut collector).map(|found| days = Some(found))
                    } else {
                        Ok(())
                    }
                }
            };
            read.map_err(|e| e.at_line(row.line))?;
        }
        match days {
            Some(days) => days.check_totals(&mut collector),
            None if period.is_none() => {
                return Err(UsageError::new(UsageCode::NoReadings, "the file has no row of days"));
            }
            None => {
                let message = "there is no row of hours (0-1時, 1-2時, …)";
                return Err(UsageError::new(UsageCode::BadHeader, message));
            }
        }
        collector.finish(self.format())
    }
}

fn is_hours(texts: &[String]) -> bool {
    texts.first().is_some_and(String::is_empty) && interval_columns(texts).len() + 1 == texts.len()
}

/// First and last day of a line like `データ抽出対象期間：2026年6月1日 ～ 2026年6月10日`.
fn period_of(line: &str) -> Option<(NaiveDate, NaiveDate)> {
    let (_, range) = line.split_once("期間")?;
    let range = range.trim_start_matches(['：', ':', ' ', '\u{3000}']);
    let (first, last) = range.split_once(['～', '〜', '~'])?;
    let day = |text: &str| parse_date(text.trim(), DateOrder::YearMonthDay).ok();
    Some((day(first)?, day(last)?)).filter(|(first, last)| first <= last)
}

/// The days below the hours.
#[derive(Debug)]
struct Days {
    columns: DayColumns,
    n_headings: usize,
    period: (NaiveDate, NaiveDate),
    unit: Unit,
    series_idx: usize,
    /// Sums of the columns, and what the row of totals says they are.
    sums: Vec<i64>,
    totals: Option<(u64, Vec<i64>)>,
}

impl Days {
    fn of(
        texts: &[String],
        period: Option<(NaiveDate, NaiveDate)>,
        options: &ReadOptions,
        collector: &mut Collector,
    ) -> Result<Self, UsageError> {
        let period = period.ok_or_else(|| {
            let message =
                "no line above gives the period with its years (2026年6月1日 ～ 2026年6月10日), and the days have none";
            UsageError::new(UsageCode::BadHeader, message)
        })?;
        let columns = DayColumns::of(&interval_columns(texts), None)?;
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let label = SeriesLabel {
            unit: unit.as_str().to_owned(),
            quantity: unit.quantity(),
            ..SeriesLabel::energy(Direction::Import)
        };
        Ok(Self {
            sums: vec![0; columns.slots.len()],
            columns,
            n_headings: texts.len(),
            period,
            unit,
            series_idx: collector.series(&label)?,
            totals: None,
        })
    }

    /// One day, or the totals. Errors come without their line.
    fn read_row(&mut self, row: TableRow<'_>, collector: &mut Collector) -> Result<(), UsageError> {
        let first = row.text(0)?;
        if first.starts_with(['＊', '※', '*']) {
            return Ok(());
        }
        let number = numbers(self.unit, b'.');
        let cells = self.columns.slots.iter().map(|slot| {
            let cell = cell(row.text(slot.column)?, number, Quality::Measured);
            cell.map_err(|e| e.in_field(format!("{}時", slot.start.unwrap_or(0) / 60)))
        });
        let cells = cells.collect::<Result<Vec<Cell>, UsageError>>()?;
        let values = cells.iter().map(|cell| if let Cell::Value(value, _) = cell { *value } else { 0 });
        if TOTALS.contains(&first) {
            row.expect_len(self.n_headings)?;
            self.totals = Some((row.line, values.collect()));
            return Ok(());
        }
        let day = self.day_of(first)?;
        for (sum, value) in self.sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(value);
        }
        collector.count_row();
        let series_idx = self.series_idx;
        let mut push = |times, cell, collector: &mut Collector| collector.push(series_idx, row.line, times, cell);
        push_day(&self.columns, day, &cells, row, self.n_headings, &mut push, collector)
    }

    /// The day of `06/10` that lies in the period.
    fn day_of(&self, text: &str) -> Result<NaiveDate, UsageError> {
        let (first, last) = self.period;
        let refused = |why: String| Err(UsageError::new(UsageCode::BadTime, why).in_field("月日"));
        if date_parts(text).is_some() {
            return parse_date(text, DateOrder::YearMonthDay).map_err(|e| e.in_field("月日"));
        }
        let with_year = |year: i32| {
            let day = parse_date(&format!("{year:04}/{text}"), DateOrder::YearMonthDay).ok()?;
            (first..=last).contains(&day).then_some(day)
        };
        let mut days = (first.year()..=last.year()).filter_map(with_year);
        match (days.next(), days.next()) {
            (Some(day), None) => Ok(day),
            (None, _) => refused(format!("{:?} is no day of the period from {first} to {last}", clip(text))),
            (Some(day), Some(other)) => {
                refused(format!("{:?} may be {day} or {other}: take a shorter period", clip(text)))
            }
        }
    }

    fn check_totals(&self, collector: &mut Collector) {
        if let Some((line, totals)) = &self.totals
            && *totals != self.sums
        {
            let detail = "the days do not add up to the row of totals: days may be missing";
            collector.warn("totals_differ", Some(*line), detail);
        }
    }
}
