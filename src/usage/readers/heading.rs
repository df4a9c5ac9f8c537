//! The row of names above a table: found below a preamble, its columns by name in any order, nothing in it unknown.

use chrono::NaiveDate;

use super::super::collect::{Cell, Collector, Rank, Times};
use super::super::detect::StampSide;
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_date};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError};
use super::generic::{is_blank, is_missing};

/// Rows above a heading that are looked through.
const MAX_PREAMBLE_ROWS: usize = 100;

/// Columns of a heading; a row of a day in minutes has 1441.
const MAX_COLUMNS: usize = 1_500;

/// What stands between the cells of a row.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// A name as it is compared: small letters, single blanks, no accents of the words that headings have.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for word in name.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().flat_map(char::to_lowercase).map(|c| match c {
            'á' | 'à' | 'â' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'í' | 'î' | 'ï' => 'i',
            'ó' | 'ô' => 'o',
            'ú' | 'û' | 'ü' => 'u',
            'ñ' => 'n',
            other => other,
        }));
    }
    plain
}

/// The delimiter with which a row near the beginning of the file is the heading that `is_heading` knows by its names
/// (in [`plain`] form).
pub(super) fn delimiter_of(source: &Source<'_>, is_heading: impl Fn(&[String]) -> bool) -> Option<u8> {
    DELIMITERS.into_iter().find(|delimiter| {
        let mut table = Table::new(Box::new(source.head()), *delimiter);
        for _ in 0..MAX_PREAMBLE_ROWS {
            let Ok(Some(row)) = table.next_row() else { return false };
            if is_heading(&plain_names(row)) {
                return true;
            }
        }
        false
    })
}

/// The names of a row in [`plain`] form.
pub(super) fn plain_names(row: TableRow<'_>) -> Vec<String> {
    row.texts().iter().map(|name| plain(name)).collect()
}

/// The columns of a table by their names.
#[derive(Debug)]
pub(super) struct Heading {
    /// As the file writes them.
    names: Vec<String>,
    plain: Vec<String>,
    taken: Vec<bool>,
    /// The line of the heading.
    pub(super) line: u64,
}

impl Heading {
    /// The row as a heading.
    ///
    /// # Errors
    /// [`UsageCode::BadHeader`] for more columns than a table of readings has.
    pub(super) fn new(row: TableRow<'_>) -> Result<Self, UsageError> {
        if row.len() > MAX_COLUMNS {
            let message =
                format!("the header has {} columns; a table of readings has at most {MAX_COLUMNS}", row.len());
            return Err(UsageError::new(UsageCode::BadHeader, message).at_line(row.line));
        }
        let names = row.texts();
        let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
        Ok(Self { taken: vec![false; names.len()], names, plain, line: row.line })
    }

    /// Reads on to the heading; rows above it go to `preamble`, as the file writes them.
    ///
    /// # Errors
    /// [`UsageCode::NoReadings`] for an empty file, [`UsageCode::BadHeader`] when there is no such row in the first hundred.
    pub(super) fn find(
        table: &mut Table<'_>,
        is_heading: impl Fn(&[String]) -> bool,
        mut preamble: impl FnMut(&[String]),
    ) -> Result<Self, UsageError> {
        for n_rows in 0..MAX_PREAMBLE_ROWS {
            let Some(row) = table.next_row()? else {
                let (code, message) = if n_rows == 0 {
                    (UsageCode::NoReadings, "the file is empty")
                } else {
                    (UsageCode::BadHeader, "the file ends before a row with the names of this format's columns")
                };
                return Err(UsageError::new(code, message));
            };
            if is_heading(&plain_names(row)) {
                return Self::new(row);
            }
            preamble(&row.texts());
        }
        let message = format!("none of the first {MAX_PREAMBLE_ROWS} rows has the names of this format's columns");
        Err(UsageError::new(UsageCode::BadHeader, message))
    }

    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a column as the file writes it.
    pub(super) fn name(&self, idx: usize) -> &str {
        &self.names[idx]
    }

    /// The names of all columns in [`plain`] form.
    pub(super) fn plain(&self) -> &[String] {
        &self.plain
    }

    /// The place of the column with one of these names.
    ///
    /// # Errors
    /// [`UsageCode::BadHeader`] when two have them.
    pub(super) fn take(&mut self, names: &[&str]) -> Result<Option<usize>, UsageError> {
        self.take_where(|plain| names.contains(&plain))
    }

    /// The place of the column whose name, in [`plain`] form, is one that `fits`.
    ///
    /// # Errors
    /// As [`Heading::take`].
    pub(super) fn take_where(&mut self, fits: impl Fn(&str) -> bool) -> Result<Option<usize>, UsageError> {
        let mut found = None;
        for (idx, name) in self.plain.iter().enumerate() {
            if self.taken[idx] || !fits(name) {
                continue;
            }
            if let Some(first) = found.replace(idx) {
                let (a, b) = (&self.names[first], &self.names[idx]);
                let message = format!("the columns {:?} and {:?} say the same; leave one", clip(a), clip(b));
                return Err(UsageError::new(UsageCode::BadHeader, message).in_field(clip(b)).at_line(self.line));
            }
        }
        if let Some(idx) = found {
            self.taken[idx] = true;
        }
        Ok(found)
    }

    /// As [`Heading::take`], for a column that is needed.
    ///
    /// # Errors
    /// [`UsageCode::BadHeader`] when it is not there, or twice.
    pub(super) fn need(&mut self, names: &[&str]) -> Result<usize, UsageError> {
        self.take(names)?.ok_or_else(|| {
            let message = format!("the header has no column {:?}", names[0]);
            UsageError::new(UsageCode::BadHeader, message).in_field(names[0]).at_line(self.line)
        })
    }

    /// Passes over the columns whose names, in [`plain`] form, the format is known to have beside its readings.
    pub(super) fn ignore(&mut self, is_known: impl Fn(&str) -> bool) {
        for (taken, name) in self.taken.iter_mut().zip(&self.plain) {
            *taken = *taken || is_known(name);
        }
    }

    /// Refuses columns that nobody asked for.
    ///
    /// # Errors
    /// [`UsageCode::UnknownColumn`] for the first of them that has a name.
    pub(super) fn finish(&self) -> Result<(), UsageError> {
        let rest = self.taken.iter().zip(&self.names).find(|(taken, name)| !**taken && !name.is_empty());
        let Some((_, name)) = rest else { return Ok(()) };
        let message = format!("the meaning of the column {:?} is not known; take it out of the file", clip(name));
        Err(UsageError::new(UsageCode::UnknownColumn, message).in_field(clip(name)).at_line(self.line))
    }

    /// Refuses a row that is shorter than the heading, or that says something beyond it.
    ///
    /// # Errors
    /// [`UsageCode::BadRow`], without a place.
    pub(super) fn check(&self, row: TableRow<'_>) -> Result<(), UsageError> {
        if (self.len()..row.len()).all(|idx| row.bytes(idx).is_empty()) && row.len() >= self.len() {
            return Ok(());
        }
        row.expect_len(self.len())
    }
}

/// Reads dates in the order that was said, the file shows (a year first) or the format has.
#[derive(Debug)]
pub(super) struct Dates {
    order: DateOrder,
    last: Option<(String, NaiveDate)>,
}

impl Dates {
    /// Dates of a format that writes them in `usual` order.
    pub(super) fn new(options: &ReadOptions, usual: DateOrder) -> Self {
        Self { order: options.date_order.unwrap_or(usual), last: None }
    }

    /// The day; the one before is remembered, because rows come by days.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`], without a place.
    pub(super) fn read(&mut self, text: &str) -> Result<NaiveDate, UsageError> {
        if let Some((last, day)) = &self.last
            && last == text
        {
            return Ok(*day);
        }
        let starts_with_year = text.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
        let order = if starts_with_year { DateOrder::YearMonthDay } else { self.order };
        let day = parse_date(text, order)?;
        self.last = Some((text.to_owned(), day));
        Ok(day)
    }

    /// The day and the rest of a text that begins with a date and goes on after a blank or a `T`.
    ///
    /// # Errors
    /// As [`Dates::read`].
    pub(super) fn read_first<'t>(&mut self, text: &'t str) -> Result<(NaiveDate, &'t str), UsageError> {
        let (date, rest) = text.split_once([' ', 'T', '\u{a0}']).unwrap_or((text, ""));
        Ok((self.read(date)?, rest.trim()))
    }
}

/// The unit of a column: what the caller said, or what the file says.
///
/// # Errors
/// [`UsageCode::BadUnit`] for one that is no energy, without a place.
pub(super) fn unit_of(options: &ReadOptions, said: &str) -> Result<Unit, UsageError> {
    match options.unit {
        Some(unit) => Ok(unit),
        None => said.parse().map_err(|e: super::super::UnitError| UsageError::new(UsageCode::BadUnit, e.to_string())),
    }
}

/// The unit in the brackets that end a column's name: `USAGE (kWh)`.
pub(super) fn unit_in_brackets(name: &str) -> Option<&str> {
    let (_, unit) = name.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    Some(unit.trim())
}

/// Numbers of a unit.
pub(super) fn numbers(unit: Unit, decimal_sign: u8) -> NumberFormat {
    NumberFormat { decimal_sign, power_of_ten: unit.power_of_ten(), is_register: false }
}

/// An interval that starts or ends at `stamp`, as the caller said or as is `usual` in the format.
///
/// # Errors
/// As [`Collector::starting`].
pub(super) fn stamped(
    collector: &mut Collector,
    stamp: Stamp,
    said: Option<StampSide>,
    usual: StampSide,
) -> Result<Times, UsageError> {
    match said.unwrap_or(usual) {
        StampSide::Start => collector.starting(stamp),
        StampSide::End => collector.ending(stamp),
    }
}

/// A value of that quality, a blank (a dash is one), or what a word such as `MISSING` or `N/A` says is missing.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place.
pub(super) fn cell(text: &str, numbers: NumberFormat, quality: Quality) -> Result<Cell, UsageError> {
    match without_number(text) {
        Some(cell) => Ok(cell),
        None => Ok(Cell::Value(numbers.read(text)?, quality)),
    }
}

/// The cell of a text that is no number and does not try to be one.
fn without_number(text: &str) -> Option<Cell> {
    match text.as_bytes() {
        [b'0'..=b'9' | b'.' | b',', ..] | [b'-' | b'+', b'0'..=b'9', ..] => None,
        _ if is_blank(text) => Some(Cell::Blank),
        _ if is_missing(text) => Some(Cell::Value(0, Quality::Missing)),
        _ => None,
    }
}

/// Adds a cell whose time may be one that the clock skipped: files of a fixed form fill the hour of the spring change
/// with a blank or a zero. Such a row is no interval and holds no energy: it is left out and said.
///
/// # Errors
/// [`UsageCode::LocalTimeDoesNotExist`] where it holds energy; what `times` and the collector refuse.
pub(super) fn push_unless_skipped(
    collector: &mut Collector,
    series_idx: usize,
    line: u64,
    times: Result<Times, UsageError>,
    cell: Cell,
    rank: Rank,
) -> Result<(), UsageError> {
    match times {
        Ok(times) => collector.push_ranked(series_idx, line, times, cell, rank),
        Err(error) if error.code == UsageCode::LocalTimeDoesNotExist && holds_nothing(cell) => {
            let detail = "the clock skipped this time and the file has no energy in it: left out";
            collector.warn("skipped_hour_empty", Some(line), detail);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn holds_nothing(cell: Cell) -> bool {
    matches!(cell, Cell::Blank | Cell::Value(0, _))
}

/// What a word says of how a value came to be, in the languages of the formats; `None` where it is not known.
pub(super) fn quality_word(word: &str) -> Option<Quality> {
    // What nearly all rows have.
    if matches!(word, "" | "R" | "Read" | "Real" | "Uitgelezen") {
        return Some(Quality::Measured);
    }
    let plain = plain(word);
    Some(match plain.as_str() {
        "" | "r" | "real" | "read" | "actual" | "actual read" | "valid" | "validated" | "measured" | "uitgelezen"
        | "gelezen" | "releve" | "lu" | "brut" | "b" | "a" | "abgelesen" => Quality::Measured,
        "e" | "estimated" | "estimate" | "estimada" | "estimado" | "geschat" | "estime" | "estimee" => {
            Quality::Estimated
        }
        "substituted" | "corrected" | "edited" | "c" | "corrige" | "berekend" | "calculated" | "calcule" => {
            Quality::Substituted
        }
        "missing" | "no consumption" | "geen verbruik" | "pas de consommation" | "no data" => Quality::Missing,
        _ => return None,
    })
}

/// The cell of a value and the word that the file says of it. A value of a word that is not known counts as estimated,
/// and that is said.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place.
pub(super) fn cell_of_word(
    collector: &mut Collector,
    line: u64,
    text: &str,
    word: &str,
    numbers: NumberFormat,
) -> Result<Cell, UsageError> {
    if let Some(cell) = without_number(text) {
        return Ok(cell);
    }
    let quality = quality_word(word);
    let value = numbers.read(text)?;
    Ok(match quality {
        Some(Quality::Missing) if value == 0 => Cell::Value(0, Quality::Missing),
        Some(Quality::Missing) | None => {
            let detail = format!("{:?} is no quality that is known: its values count as estimated", clip(word));
            collector.warn("quality_not_known", Some(line), detail);
            Cell::Value(value, Quality::Estimated)
        }
        Some(quality) => Cell::Value(value, quality),
    })
}
