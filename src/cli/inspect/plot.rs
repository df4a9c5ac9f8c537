//! Pictures of a series in the terminal: the mean day as bars, all days as a calendar of shades.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, Datelike, Days, NaiveDate, Timelike};
use chrono_tz::Tz;

use crate::usage::{Quality, Reading, Readings};

/// Columns of the mean day: half hours.
const N_COLUMNS: usize = 48;
/// Lines of the mean day.
const N_LINES: usize = 8;
/// Parts of a line that a block can fill.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// From the least to the most energy of a day.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// Weeks that stand beside each other.
const WEEKS_OF_BLOCK: usize = 53;
/// Milliwatt-hours of a kWh.
const KWH: f64 = 1e6;

/// One series, added up by half hour and by day.
pub(super) struct Plot {
    title: String,
    /// Energy and number of days by half hour of the day; coarser readings are spread over theirs.
    half_hours: Vec<(f64, f64)>,
    days: BTreeMap<NaiveDate, f64>,
    zone: Tz,
}

impl Plot {
    /// `None` without a reading that has a value.
    pub(super) fn new(name: &str, zone: Tz, readings: &Readings) -> Option<Self> {
        let mut plot =
            Self { title: name.to_owned(), half_hours: vec![(0.0, 0.0); N_COLUMNS], days: BTreeMap::new(), zone };
        for reading in readings.iter().filter(|reading| reading.quality != Quality::Missing) {
            plot.add(&reading);
        }
        (!plot.days.is_empty()).then_some(plot)
    }

    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    fn add(&mut self, reading: &Reading) {
        let Some(start) = DateTime::from_timestamp(reading.start, 0) else { return };
        let local = start.with_timezone(&self.zone);
        let energy = reading.milliwatt_hours as f64 / KWH;
        *self.days.entry(local.date_naive()).or_default() += energy;
        let n_parts = (reading.seconds / 1800).max(1);
        let first = local.num_seconds_from_midnight() / 1800;
        let share = f64::from(reading.seconds.min(1800)) / 1800.0;
        for part in 0..n_parts {
            let column = usize::try_from(first + part).unwrap_or(0) % N_COLUMNS;
            let (sum, weight) = &mut self.half_hours[column];
            *sum += energy / f64::from(n_parts);
            *weight += share;
        }
    }

    /// The pictures.
    pub(super) fn draw(&self) -> String {
        format!("{}\n\n{}", self.mean_day(), self.calendar())
    }

    fn mean_day(&self) -> String {
        // kWh of a half hour, twice: mean kW.
        let power: Vec<Option<f64>> =
            self.half_hours.iter().map(|(sum, weight)| (*weight > 0.0).then(|| 2.0 * sum / weight)).collect();
        let most = power.iter().flatten().copied().fold(0.0_f64, f64::max);
        let mut text = format!("{}: mean day, kW by half hour ({})\n", self.title, self.zone);
        for line in (0..N_LINES).rev() {
            let label = match line {
                0 => format!("{:.2}", 0.0),
                _ if line == N_LINES - 1 => format!("{most:.2}"),
                _ => String::new(),
            };
            let bars: String = power.iter().map(|power| block(power.unwrap_or(0.0), most, line)).collect();
            let _ = writeln!(text, "{label:>8} │{}", bars.trim_end());
        }
        let _ = writeln!(text, "{:>8} └{}", "", "─".repeat(N_COLUMNS));
        let _ = write!(text, "{:>9} 0     3     6     9     12    15    18    21    24", "");
        text
    }

    /// Weekdays down, weeks to the right, as many blocks of a year as there are.
    fn calendar(&self) -> String {
        let (Some((first, _)), Some((last, _))) = (self.days.first_key_value(), self.days.last_key_value()) else {
            return String::new();
        };
        let values = || self.days.values().copied();
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let mut text = format!("{}: kWh by day, {least:.1} ░▒▓█ {most:.1}, · nothing known\n", self.title);
        let mut monday = *first - Days::new(u64::from(first.weekday().num_days_from_monday()));
        while monday <= *last {
            let weeks: Vec<NaiveDate> =
                (0..WEEKS_OF_BLOCK).map(|week| monday + Days::new(7 * week as u64)).take_while(|m| m <= last).collect();
            let _ = writeln!(text, "{:>6} {}", (monday + Days::new(6)).year(), months(&weeks));
            for (weekday, name) in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].into_iter().enumerate() {
                let row: String = weeks
                    .iter()
                    .map(|monday| {
                        let day = *monday + Days::new(weekday as u64);
                        match self.days.get(&day) {
                            Some(energy) => shade(*energy, least, most),
                            None if day < *first || day > *last => ' ',
                            None => '·',
                        }
                    })
                    .collect();
                let _ = writeln!(text, "{name:>6} {}", row.trim_end());
            }
            monday = monday + Days::new(7 * WEEKS_OF_BLOCK as u64);
        }
        text
    }
}

/// Names of months above the week in which each begins.
fn months(weeks: &[NaiveDate]) -> String {
    let mut line = String::new();
    for (idx, monday) in weeks.iter().enumerate() {
        let sunday = *monday + Days::new(6);
        let begins = idx == 0 || sunday.day() <= 7;
        if begins && line.chars().count() <= idx {
            let _ = write!(line, "{}{}", " ".repeat(idx - line.chars().count()), sunday.format("%b"));
        }
    }
    line
}

/// The part of a bar of `value` that stands on a line, 0 the lowest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a picture")]
fn block(value: f64, most: f64, line: usize) -> char {
    if most <= 0.0 || value <= 0.0 {
        return ' ';
    }
    let eighths = (value / most * (N_LINES * 8) as f64).round() as usize;
    BLOCKS[eighths.saturating_sub(line * 8).min(8)]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a picture")]
fn shade(value: f64, least: f64, most: f64) -> char {
    if most <= least {
        return SHADES[0];
    }
    let place = (value - least) / (most - least) * SHADES.len() as f64;
    SHADES[(place as usize).min(SHADES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_day_stands_high_where_the_energy_is() {
        // Two days, 1 kWh from 18:00 to 19:00 UTC, nothing else.
        let readings: Readings = (0..48)
            .map(|hour| Reading {
                start: 1_780_272_000 + hour * 3600,
                seconds: 3600,
                milliwatt_hours: if hour % 24 == 18 { 1_000_000 } else { 0 },
                quality: Quality::Measured,
            })
            .collect();
        let plot = Plot::new("import", Tz::UTC, &readings).unwrap();
        let picture = plot.draw();
        let bars = format!("    1.00 │{}██\n", " ".repeat(36));
        assert!(picture.contains(&bars), "{picture}");
        assert!(picture.contains("import: kWh by day, 1.0 ░▒▓█ 1.0"), "{picture}");
        assert!(Plot::new("import", Tz::UTC, &Readings::default()).is_none());
    }
}
