//! Files of prices: CSV with the columns `start` and `price`, or JSON
//! `{"step_minutes": 30, "prices": [{"start": "2026-06-01T00:00:00Z", "price": "0.1234"}]}`.
//!
//! Starts are instants with an offset. Without `step_minutes` the step is the least distance between two prices, of which
//! every other distance must be a multiple.

use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use chrono::DateTime;
use rust_decimal::Decimal;
use serde::Deserialize;

use super::{Place, SharedError};
use crate::engine::{MAX_PRICE_SCALE, Price, PriceSeries};

/// No price of a kWh is larger, whatever the currency.
const MAX_PRICE: i64 = 1_000_000;

/// One price as a client writes it, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRow {
    /// RFC 3339 with an offset or `Z`.
    pub start: String,
    /// A decimal.
    pub price: String,
    /// For refusals.
    pub place: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    step_minutes: Option<u32>,
    prices: Vec<DocumentPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentPrice {
    start: String,
    price: String,
}

/// Reads a file of prices, CSV or JSON told apart by content.
///
/// * `step_minutes`: of a CSV file; JSON says it itself.
///
/// # Errors
/// [`SharedError`] with the line or the pointer.
pub fn read_prices(text: &str, step_minutes: Option<u32>) -> Result<PriceSeries, SharedError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return read_csv_prices(text, step_minutes);
    }
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let place = Place::Line(u64::try_from(error.line()).unwrap_or(u64::MAX));
        SharedError::new(format!("no prices: {error}")).at(&place)
    })?;
    let rows = document.prices.into_iter().enumerate().map(|(i, row)| PriceRow {
        start: row.start,
        price: row.price,
        place: Place::Pointer(format!("/prices/{i}")),
    });
    series_of(rows.collect(), document.step_minutes.or(step_minutes))
}

/// Reads CSV alone.
///
/// # Errors
/// As [`read_prices`].
pub fn read_csv_prices(text: &str, step_minutes: Option<u32>) -> Result<PriceSeries, SharedError> {
    series_of(csv_rows(text.strip_prefix('\u{feff}').unwrap_or(text))?, step_minutes)
}

fn csv_rows(text: &str) -> Result<Vec<PriceRow>, SharedError> {
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    let mut columns: Option<(usize, usize)> = None;
    let mut rows = Vec::new();
    while reader.read_record(&mut record).map_err(|error| csv_error(&error))? {
        let line = record.position().map_or(0, ::csv::Position::line);
        let Some((start, price)) = columns else {
            columns = Some(header(&record).map_err(|error| error.at(&Place::Line(line)))?);
            continue;
        };
        rows.push(PriceRow {
            start: record[start].to_owned(),
            price: record[price].to_owned(),
            place: Place::Line(line),
        });
    }
    Ok(rows)
}

fn header(record: &StringRecord) -> Result<(usize, usize), SharedError> {
    let find = |name: &str| record.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    match (find("start"), find("price")) {
        (Some(start), Some(price)) if record.len() == 2 => Ok((start, price)),
        _ => Err(SharedError::new("a file of prices has two columns, start and price, separated by a comma")),
    }
}

fn csv_error(error: &::csv::Error) -> SharedError {
    let message = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the row has {len} cells, the header {expected_len}: was the file cut?")
        }
        _ => error.to_string(),
    };
    let position = error.position().map(::csv::Position::line);
    SharedError { line: position, ..SharedError::new(message) }
}

/// Prices as a series; in any order, none twice.
///
/// # Errors
/// [`SharedError`] at the row that is wrong.
pub fn series_of(rows: Vec<PriceRow>, step_minutes: Option<u32>) -> Result<PriceSeries, SharedError> {
    let mut prices = Vec::with_capacity(rows.len());
    for row in rows {
        let start = start_of(&row.start).map_err(|error| error.at(&row.place))?;
        let price = price_of(&row.price).map_err(|error| error.at(&row.place))?;
        prices.push((start, price, row.place));
    }
    prices.sort_by_key(|(start, ..)| *start);
    let seconds = step_of(&prices, step_minutes)?;
    for pair in prices.windows(2) {
        let ((before, ..), (start, _, place)) = (&pair[0], &pair[1]);
        if start - before < i64::from(seconds) {
            let message = if start == before {
                "two prices begin at this instant".to_owned()
            } else {
                format!("the price begins less than {} minutes after the one before", seconds / 60)
            };
            return Err(SharedError::new(message).at(place));
        }
    }
    let scale = prices.iter().map(|(_, price, _)| price.scale()).max().unwrap_or(0);
    let digits = |price: Decimal| {
        let scaled = price.mantissa() * 10_i128.pow(scale - price.scale());
        i64::try_from(scaled).expect("below a million, with at most twelve decimals")
    };
    let prices = prices.into_iter().map(|(start, price, _)| Price { start, seconds, digits: digits(price) });
    Ok(PriceSeries::from_sorted(prices, scale))
}

fn step_of(prices: &[(i64, Decimal, Place)], step_minutes: Option<u32>) -> Result<u32, SharedError> {
    let is_step = |minutes: u32| (1..=60).contains(&minutes) && 60 % minutes == 0;
    if let Some(minutes) = step_minutes {
        if is_step(minutes) {
            return Ok(minutes * 60);
        }
        return Err(SharedError::new("a price holds for 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60 minutes")
            .at(&Place::Pointer("/step_minutes".to_owned())));
    }
    let distances = || prices.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|seconds| *seconds > 0);
    let least = distances().min().unwrap_or(0);
    let minutes = u32::try_from(least / 60).unwrap_or(0);
    if is_step(minutes) && distances().all(|seconds| seconds % least == 0) {
        return Ok(minutes * 60);
    }
    Err(SharedError::new("the prices do not tell for how long each holds: say step_minutes"))
}

fn start_of(text: &str) -> Result<i64, SharedError> {
    let shown = || text.chars().take(40).collect::<String>();
    let instant = DateTime::parse_from_rfc3339(text)
        .map_err(|_| SharedError::new(format!("{:?} is no instant; write 2026-06-14T00:30:00+01:00 or …Z", shown())))?
        .timestamp_millis();
    let seconds = instant.div_euclid(1000);
    // The years of readings: 1970 to 2199.
    if instant % 60_000 != 0 || !(0..7_258_118_400).contains(&seconds) {
        return Err(SharedError::new(format!(
            "{:?}: prices begin on whole minutes of the years 1970 to 2199",
            shown()
        )));
    }
    Ok(seconds)
}

fn price_of(text: &str) -> Result<Decimal, SharedError> {
    let shown = || text.chars().take(40).collect::<String>();
    let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'));
    let price = Decimal::from_str_exact(text).ok().filter(|_| is_plain).map(|price| price.normalize());
    match price {
        Some(price) if price.scale() <= MAX_PRICE_SCALE && price.abs() < Decimal::from(MAX_PRICE) => Ok(price),
        Some(_) => Err(SharedError::new(format!(
            "{:?}: a price has at most {MAX_PRICE_SCALE} decimals and is below {MAX_PRICE}",
            shown()
        ))),
        None => Err(SharedError::new(format!("{:?} is no price; write it like -0.1234", shown()))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::price_text;
    use super::*;

    fn told(series: &PriceSeries) -> Vec<(i64, u32, String)> {
        series.prices().map(|p| (p.start, p.seconds, price_text(p.digits, series.scale()))).collect()
    }

    #[test]
    fn csv_and_json_are_the_same_series() {
        let csv = "\u{feff}Price , start\r\n 0.10,1970-01-01T01:30:00+01:00\r\n-2.5,1970-01-01T00:00:00Z\r\n\r\n0,1970-01-01T02:00:00Z\r\n";
        let json = r#"{"step_minutes": 30, "prices": [{"start": "1970-01-01T00:00:00Z", "price": "-2.50"},
            {"start": "1970-01-01T00:30:00Z", "price": "0.1"}, {"start": "1970-01-01T02:00:00Z", "price": "0.000"}]}"#;
        let series = read_prices(csv, None).unwrap();
        let expected = [(0, 1800, "-2.5".to_owned()), (1800, 1800, "0.1".to_owned()), (7200, 1800, "0".to_owned())];
        assert_eq!(told(&series), expected);
        assert_eq!(read_prices(json, None).unwrap(), series);
    }

    #[test]
    fn a_step_that_is_not_said_is_found_or_asked_for() {
        let csv = |minutes: &[u32]| {
            minutes.iter().fold("start,price\n".to_owned(), |csv, m| {
                csv + &format!("2026-06-01T{:02}:{:02}:00Z,1\n", m / 60, m % 60)
            })
        };
        let step = |minutes: &[u32], said| read_prices(&csv(minutes), said).map(|series| series.runs()[0].step_seconds);
        assert_eq!(step(&[0, 60, 180], None), Ok(3600));
        assert_eq!(step(&[180, 30, 15], None), Ok(900));
        assert_eq!(step(&[0], Some(60)), Ok(3600));
        assert_eq!(step(&[0, 60], Some(15)), Ok(900));
        for (minutes, said) in [
            (&[0][..], None),
            (&[0, 120], None),
            (&[0, 30, 75], None),
            (&[0, 7], None),
            (&[0], Some(7)),
            (&[0], Some(0)),
        ] {
            assert!(step(minutes, said).unwrap_err().to_string().contains("minutes"), "{minutes:?} {said:?}");
        }
        assert_eq!(step(&[0, 30, 60], Some(60)).unwrap_err().line, Some(3));
    }

    #[test]
    fn a_wrong_row_is_named() {
        for (row, line) in [
            ("2026-06-01T00:00:00Z,1e3", 3),
            ("2026-06-01T00:00:00Z,", 3),
            ("2026-06-01T00:00:00Z,1_0", 3),
            ("2026-06-01T00:00:00Z,0,5", 3),
            ("2026-06-01T00:00:00Z,0.0000000000001", 3),
            ("2026-06-01T00:00:00Z,1000000", 3),
            ("2026-06-01 00:00,1", 3),
            ("2026-06-01T00:00:30Z,1", 3),
            ("1969-06-01T00:00:00Z,1", 3),
            ("2025-01-01T00:00:00Z,2", 3),
            ("2026-06-01T00:00:00Z", 3),
        ] {
            let refused = read_prices(&format!("start,price\n2025-01-01T00:00:00Z,1\n{row}\n"), Some(30)).unwrap_err();
            assert_eq!(refused.line, Some(line), "{row}: {refused}");
        }
        for header in ["start;price\n", "time,price\n", "start,price,kwh\n", "start\n"] {
            assert_eq!(read_prices(header, None).unwrap_err().line, Some(1), "{header:?}");
        }
        assert!(read_prices("{\"prices\": 1}", None).is_err());
        let json = r#"{"prices": [{"start": "2026-06-01T00:00:00Z", "price": "x"}]}"#;
        assert_eq!(read_prices(json, None).unwrap_err().pointer.as_deref(), Some("/prices/0"));
        assert!(read_prices("", None).is_err(), "no price");
    }
}
