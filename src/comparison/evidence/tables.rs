//! The entries that are tables: readings and prices, exact, in the one spelling in which they are written.

use std::collections::BTreeMap;
use std::io::{self, Write};

use chrono::DateTime;
use rust_decimal::Decimal;

use crate::engine::{MAX_PRICE_SCALE, Price, PriceSeries};
use crate::shared::{instant, price_text};
use crate::usage::{Channel, Quality, Reading, Series, kwh};

pub(super) const READINGS_HEADER: &str = "channel,start,end,kwh,quality";
pub(super) const PRICES_HEADER: &str = "start,end,price";

/// The longest local day, seconds: no interval is longer.
const LONGEST: u32 = 25 * 3600;

/// Readings, channel by channel.
pub(super) fn write_readings(readings: &BTreeMap<Channel, Series>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{READINGS_HEADER}")?;
    for (channel, series) in readings {
        for reading in series.readings() {
            let (start, end) = (instant(reading.start), instant(reading.end()));
            let kwh = kwh(i128::from(reading.milliwatt_hours));
            writeln!(out, "{channel},{start},{end},{kwh},{}", reading.quality.as_str())?;
        }
    }
    Ok(())
}

/// Prices of a series.
pub(super) fn write_prices(series: &PriceSeries, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{PRICES_HEADER}")?;
    for price in series.prices() {
        let (start, end) = (instant(price.start), instant(price.end()));
        writeln!(out, "{start},{end},{}", price_text(price.digits, series.scale()))?;
    }
    Ok(())
}

/// Readings, row by row.
#[derive(Debug, Default)]
pub(super) struct ReadingsTable {
    rows: Vec<Reading>,
    channel: Option<Channel>,
    channels: BTreeMap<Channel, Series>,
    n_rows: u64,
}

impl ReadingsTable {
    /// Takes the next row.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn row(&mut self, line: &str, max_rows: u64) -> Result<(), String> {
        let cells: Vec<&str> = line.split(',').collect();
        let [channel, start, end, energy, quality] = cells[..] else {
            return Err(format!("a row is {READINGS_HEADER}"));
        };
        self.n_rows += 1;
        if self.n_rows > max_rows {
            return Err(format!("more than {max_rows} readings"));
        }
        if self.channel.as_ref().map(Channel::as_str) != Some(channel) {
            self.close()?;
            self.channel = Some(channel.parse().map_err(|e: crate::usage::ChannelError| e.to_string())?);
        }
        let (start, seconds) = span(start, end)?;
        if self.rows.last().is_some_and(|last| last.end() > start) {
            return Err("readings of a channel are sorted and do not overlap".to_owned());
        }
        let milliwatt_hours = milliwatt_hours(energy)?;
        let quality = [Quality::Measured, Quality::Substituted, Quality::Estimated, Quality::FilledZero]
            .into_iter()
            .find(|known| known.as_str() == quality)
            .ok_or_else(|| format!("{:?} is no quality of a reading", clip(quality)))?;
        self.rows.push(Reading { start, seconds, milliwatt_hours, quality });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let rows = std::mem::take(&mut self.rows);
        match self.channel.take() {
            Some(channel) if self.channels.contains_key(&channel) => Err(format!("channel {channel} comes twice")),
            Some(channel) => {
                self.channels.insert(channel, Series::from_sorted(&rows));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// All readings.
    ///
    /// # Errors
    /// A channel that comes twice.
    pub(super) fn finish(mut self) -> Result<BTreeMap<Channel, Series>, String> {
        self.close()?;
        Ok(self.channels)
    }
}

/// Prices, row by row.
#[derive(Debug, Default)]
pub(super) struct PricesTable {
    rows: Vec<(i64, u32, Decimal)>,
}

impl PricesTable {
    /// Takes the next row.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn row(&mut self, line: &str, max_rows: u64) -> Result<(), String> {
        let cells: Vec<&str> = line.split(',').collect();
        let [start, end, text] = cells[..] else { return Err(format!("a row is {PRICES_HEADER}")) };
        if self.rows.len() as u64 >= max_rows {
            return Err(format!("more than {max_rows} prices"));
        }
        let (start, seconds) = span(start, end)?;
        if self.rows.last().is_some_and(|(last, seconds, _)| last + i64::from(*seconds) > start) {
            return Err("prices are sorted and do not overlap".to_owned());
        }
        let price = exact(text).filter(|price| price.scale() <= MAX_PRICE_SCALE);
        self.rows.push((start, seconds, price.ok_or_else(|| format!("{:?} is no price", clip(text)))?));
        Ok(())
    }

    /// The series.
    ///
    /// # Errors
    /// Prices whose digits do not fit beside each other.
    pub(super) fn finish(self) -> Result<PriceSeries, String> {
        let scale = self.rows.iter().map(|(.., price)| price.scale()).max().unwrap_or(0);
        let price = |(start, seconds, price): &(i64, u32, Decimal)| {
            let digits = price.mantissa().checked_mul(10_i128.pow(scale - price.scale()));
            let digits = digits.and_then(|digits| i64::try_from(digits).ok());
            digits.map(|digits| Price { start: *start, seconds: *seconds, digits }).ok_or("a price is too large")
        };
        let prices = self.rows.iter().map(price).collect::<Result<Vec<Price>, _>>()?;
        Ok(PriceSeries::from_sorted(prices, scale))
    }
}

/// Start and length.
fn span(start: &str, end: &str) -> Result<(i64, u32), String> {
    let (start, end) = (seconds(start)?, seconds(end)?);
    let length = u32::try_from(end - start).ok().filter(|seconds| (1..=LONGEST).contains(seconds));
    let length = length.ok_or("an interval ends after it starts, and lasts a day at most")?;
    Ok((start, length))
}

fn seconds(text: &str) -> Result<i64, String> {
    let read = DateTime::parse_from_rfc3339(text).ok().map(|at| at.timestamp()).filter(|at| instant(*at) == text);
    read.ok_or_else(|| format!("{:?} is no instant such as 2026-06-01T00:00:00Z", clip(text)))
}

fn milliwatt_hours(text: &str) -> Result<i64, String> {
    let read = exact(text).and_then(|energy| energy.checked_mul(Decimal::from(1_000_000)));
    let whole = read.filter(Decimal::is_integer).and_then(|energy| i64::try_from(energy.normalize().mantissa()).ok());
    whole.filter(|n| kwh(i128::from(*n)) == text).ok_or_else(|| format!("{:?} is no exact number of kWh", clip(text)))
}

/// A decimal in the one spelling in which they are written.
fn exact(text: &str) -> Option<Decimal> {
    Decimal::from_str_exact(text).ok().filter(|number| number.normalize().to_string() == text)
}

/// The beginning of a text, for messages.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Result<BTreeMap<Channel, Series>, String> {
        let mut table = ReadingsTable::default();
        for line in text.lines().skip(1) {
            table.row(line, 5)?;
        }
        table.finish()
    }

    fn prices(text: &str) -> Result<PriceSeries, String> {
        let mut table = PricesTable::default();
        for line in text.lines().skip(1) {
            table.row(line, 3)?;
        }
        table.finish()
    }

    #[test]
    fn readings_come_back_exactly() {
        let reading = |start, seconds, milliwatt_hours, quality| Reading { start, seconds, milliwatt_hours, quality };
        let series = [
            reading(-3600, 3600, -1, Quality::Measured),
            reading(0, 1800, 1_500_000, Quality::Estimated),
            reading(7200, 90_000, 0, Quality::FilledZero),
        ];
        let written: BTreeMap<Channel, Series> =
            [(Channel::export(), Series::from_sorted(&series[..1])), (Channel::import(), Series::from_sorted(&series))]
                .into();
        let mut text = Vec::new();
        write_readings(&written, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,1.5,estimated\n"), "{text}");
        assert!(text.contains("export,1969-12-31T23:00:00Z,1970-01-01T00:00:00Z,-0.000001,measured\n"), "{text}");
        assert_eq!(readings(&text), Ok(written));
        assert_eq!(readings("header\n"), Ok(BTreeMap::new()));
    }

    #[test]
    fn rows_that_are_not_written_so_are_refused() {
        let row = |cells: &str| readings(&format!("header\n{cells}\n")).unwrap_err();
        for (cells, expected) in [
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,1.5", "a row is"),
            ("Import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,1.5,measured", "no channel"),
            ("import,1970-01-01T00:00:00+00:00,1970-01-01T00:30:00Z,1.5,measured", "no instant"),
            ("import,1970-01-01T00:30:00Z,1970-01-01T00:30:00Z,1.5,measured", "ends after"),
            ("import,1970-01-01T00:00:00Z,1970-01-03T00:30:00Z,1.5,measured", "a day at most"),
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,1.50,measured", "no exact number"),
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,0.0000001,measured", "no exact number"),
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,99999999999999,measured", "no exact number"),
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,NaN,measured", "no exact number"),
            ("import,1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,1.5,missing", "no quality"),
        ] {
            assert!(row(cells).contains(expected), "{cells}: {}", row(cells));
        }
        let hour = |channel: &str, hour: u32| {
            format!("{channel},1970-01-01T0{hour}:00:00Z,1970-01-01T0{hour}:30:00Z,1,measured\n")
        };
        let rows = |rows: &[String]| readings(&format!("header\n{}", rows.concat()));
        assert!(rows(&[hour("import", 1), hour("import", 1)]).unwrap_err().contains("do not overlap"));
        assert!(rows(&[hour("a", 1), hour("b", 1), hour("a", 2)]).unwrap_err().contains("comes twice"));
        assert!(rows(&(0..6).map(|i| hour("a", i)).collect::<Vec<_>>()).unwrap_err().contains("more than 5"));
    }

    #[test]
    fn prices_come_back_exactly() {
        let price = |start, seconds, digits| Price { start, seconds, digits };
        let series =
            PriceSeries::from_sorted([price(0, 1800, -41), price(1800, 1800, 30), price(7200, 900, 123_456)], 4);
        let mut text = Vec::new();
        write_prices(&series, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("1970-01-01T00:30:00Z,1970-01-01T01:00:00Z,0.003\n"), "{text}");
        assert_eq!(prices(&text), Ok(series));
        assert_eq!(prices("header\n"), Ok(PriceSeries::default()));
        for row in
            ["1,2,3", "1970-01-01T00:30:00Z,1970-01-01T01:00:00Z,1e3", "1970-01-01T00:30:00Z,1970-01-01T01:00:00Z,"]
        {
            assert!(prices(&format!("header\n{row}")).is_err(), "{row}");
        }
        let rows = "1970-01-01T00:00:00Z,1970-01-01T00:30:00Z,9000000000000000000\n\
            1970-01-01T00:30:00Z,1970-01-01T01:00:00Z,0.1\n";
        assert!(prices(&format!("header\n{rows}")).unwrap_err().contains("too large"));
    }
}
