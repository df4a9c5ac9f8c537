//! Cells of columns as text, by their types.

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, SecondsFormat, TimeDelta};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use super::super::super::number::clip;
use super::super::super::{UsageCode, UsageError};
use super::super::columns::{Role, role_of};

/// The name that pandas gives to an index without one.
const UNNAMED_INDEX: &str = "__index_level_0__";

/// How a column is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) heading: String,
    kind: Kind,
    max_definition: i16,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// So many in a second since the epoch.
    Timestamp {
        per_second: i64,
        is_utc: bool,
    },
    /// Since midnight.
    Clock {
        per_second: i64,
    },
    /// Since the epoch.
    Days,
    /// Since the epoch, in a unit that its size tells.
    Epoch,
    /// Whole numbers of 10^-scale.
    Number {
        scale: usize,
        is_unsigned: bool,
    },
    Float,
    Text,
    Boolean,
}

impl Plan {
    /// How a column is read; `None` for an index without meaning.
    ///
    /// # Errors
    /// [`UsageCode::UnknownColumn`] for a list, a structure, or a type that is no time, number or text.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Option<Self>, UsageError> {
        let name = column.path().parts().join(".");
        let refuse = |what: &str| {
            let message = format!("the column {:?} holds {what}; write the readings in plain columns", clip(&name));
            UsageError::new(UsageCode::UnknownColumn, message).in_field(clip(&name))
        };
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 || column.max_def_level() > 1 {
            return Err(refuse("lists or structures"));
        }
        let kind = kind(column, &name).ok_or_else(|| refuse("no times, numbers or texts"))?;
        let heading = match (name.as_str(), kind) {
            (UNNAMED_INDEX, Kind::Timestamp { .. }) => "timestamp".to_owned(),
            (UNNAMED_INDEX, _) => return Ok(None),
            _ => name.replace(['\r', '\n'], " "),
        };
        Ok(Some(Self { heading, kind, max_definition: column.max_def_level() }))
    }
}

fn kind(column: &ColumnDescriptor, name: &str) -> Option<Kind> {
    let (millis, micros, nanos) = (1000, 1_000_000, 1_000_000_000);
    let per_second = |unit: TimeUnit| match unit {
        TimeUnit::MILLIS => millis,
        TimeUnit::MICROS => micros,
        TimeUnit::NANOS => nanos,
    };
    let number = |is_unsigned| Kind::Number { scale: 0, is_unsigned };
    let decimal = || {
        let scale = usize::try_from(column.type_scale()).ok().filter(|scale| *scale <= 60)?;
        Some(Kind::Number { scale, is_unsigned: false })
    };
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(stamp)) => {
            return Some(Kind::Timestamp { per_second: per_second(stamp.unit), is_utc: stamp.is_adjusted_to_u_t_c });
        }
        Some(LogicalType::Time(time)) => return Some(Kind::Clock { per_second: per_second(time.unit) }),
        Some(LogicalType::Date) => return Some(Kind::Days),
        Some(LogicalType::Decimal(_)) => return decimal(),
        Some(LogicalType::Integer(integer)) if !integer.is_signed => return Some(number(true)),
        Some(LogicalType::Uuid | LogicalType::Float16 | LogicalType::Bson) => return None,
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS => return Some(Kind::Timestamp { per_second: millis, is_utc: true }),
        ConvertedType::TIMESTAMP_MICROS => return Some(Kind::Timestamp { per_second: micros, is_utc: true }),
        ConvertedType::TIME_MILLIS => return Some(Kind::Clock { per_second: millis }),
        ConvertedType::TIME_MICROS => return Some(Kind::Clock { per_second: micros }),
        ConvertedType::DATE => return Some(Kind::Days),
        ConvertedType::DECIMAL => return decimal(),
        _ => {}
    }
    match column.physical_type() {
        PhysicalType::BOOLEAN => Some(Kind::Boolean),
        PhysicalType::INT32 | PhysicalType::INT64 if matches!(role_of(name), Some(Role::Time(_))) => Some(Kind::Epoch),
        PhysicalType::INT32 | PhysicalType::INT64 => Some(number(false)),
        PhysicalType::INT96 => Some(Kind::Timestamp { per_second: nanos, is_utc: false }),
        PhysicalType::FLOAT | PhysicalType::DOUBLE => Some(Kind::Float),
        PhysicalType::BYTE_ARRAY => Some(Kind::Text),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => None,
    }
}

/// A column of a row group, read a batch at a time.
pub(super) struct Column<'p> {
    plan: &'p Plan,
    values: Values,
    definitions: Vec<i16>,
    row_idx: usize,
    value_idx: usize,
}

enum Values {
    Booleans(ColumnReaderImpl<BoolType>, Vec<bool>),
    Int32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Int96(ColumnReaderImpl<Int96Type>, Vec<Int96>),
    Floats(ColumnReaderImpl<FloatType>, Vec<f32>),
    Doubles(ColumnReaderImpl<DoubleType>, Vec<f64>),
    Bytes(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
    FixedBytes(ColumnReaderImpl<FixedLenByteArrayType>, Vec<FixedLenByteArray>),
}

impl<'p> Column<'p> {
    /// A column at its first row.
    pub(super) fn new(plan: &'p Plan, reader: ColumnReader) -> Self {
        let values = match reader {
            ColumnReader::BoolColumnReader(reader) => Values::Booleans(reader, Vec::new()),
            ColumnReader::Int32ColumnReader(reader) => Values::Int32(reader, Vec::new()),
            ColumnReader::Int64ColumnReader(reader) => Values::Int64(reader, Vec::new()),
            ColumnReader::Int96ColumnReader(reader) => Values::Int96(reader, Vec::new()),
            ColumnReader::FloatColumnReader(reader) => Values::Floats(reader, Vec::new()),
            ColumnReader::DoubleColumnReader(reader) => Values::Doubles(reader, Vec::new()),
            ColumnReader::ByteArrayColumnReader(reader) => Values::Bytes(reader, Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => Values::FixedBytes(reader, Vec::new()),
        };
        Self { plan, values, definitions: Vec::new(), row_idx: 0, value_idx: 0 }
    }

    /// The column's name.
    pub(super) fn heading(&self) -> &'p str {
        &self.plan.heading
    }

    /// Reads the next rows, at most so many, and gives their number; 0 at the end.
    pub(super) fn read(&mut self, n_rows: usize) -> Result<usize, ParquetError> {
        self.definitions.clear();
        (self.row_idx, self.value_idx) = (0, 0);
        let definitions = &mut self.definitions;
        let (n, n_values) = match &mut self.values {
            Values::Booleans(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Int32(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Int64(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Int96(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Floats(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Doubles(reader, values) => batch(reader, values, definitions, n_rows),
            Values::Bytes(reader, values) => batch(reader, values, definitions, n_rows),
            Values::FixedBytes(reader, values) => batch(reader, values, definitions, n_rows),
        }?;
        let n_defined = if self.plan.max_definition == 0 {
            n
        } else {
            self.definitions.iter().filter(|level| **level == self.plan.max_definition).count()
        };
        if n_defined != n_values || self.plan.max_definition > 0 && self.definitions.len() != n {
            return Err(ParquetError::General("a column has another number of values than it says".to_owned()));
        }
        Ok(n)
    }

    /// The text of the next row's cell; nothing for null.
    ///
    /// # Errors
    /// [`UsageCode::BadEncoding`] for a text that is not UTF-8.
    pub(super) fn next(&mut self, text: &mut String) -> Result<(), UsageError> {
        let is_null = self.plan.max_definition > 0 && self.definitions[self.row_idx] != self.plan.max_definition;
        self.row_idx += 1;
        if is_null {
            return Ok(());
        }
        let idx = self.value_idx;
        self.value_idx += 1;
        let kind = self.plan.kind;
        match &self.values {
            Values::Booleans(_, values) => text.push_str(if values[idx] { "true" } else { "false" }),
            Values::Int32(_, values) => {
                let value = values[idx];
                let is_unsigned = matches!(kind, Kind::Number { is_unsigned: true, .. });
                let value = if is_unsigned { i64::from(value.cast_unsigned()) } else { i64::from(value) };
                write_integer(value, kind, text);
            }
            Values::Int64(_, values) => write_integer(values[idx], kind, text),
            Values::Int96(_, values) => {
                let [nanos_low, nanos_high, day] = *values[idx].data() else { return Ok(()) };
                let nanos = (u64::from(nanos_high) << 32) | u64::from(nanos_low);
                write_julian(day, nanos, text);
            }
            Values::Floats(_, values) if values[idx].is_nan() => {}
            Values::Doubles(_, values) if values[idx].is_nan() => {}
            Values::Floats(_, values) => write(text, &values[idx]),
            Values::Doubles(_, values) => write(text, &values[idx]),
            Values::Bytes(_, values) => write_bytes(values[idx].data(), kind, text)?,
            Values::FixedBytes(_, values) => write_bytes(values[idx].data(), kind, text)?,
        }
        Ok(())
    }
}

/// The next rows of a column: their number and that of their values.
fn batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
    definitions: &mut Vec<i16>,
    n_rows: usize,
) -> Result<(usize, usize), ParquetError> {
    values.clear();
    let (n, ..) = reader.read_records(n_rows, Some(definitions), None, values)?;
    Ok((n, values.len()))
}

fn write(text: &mut String, value: &dyn std::fmt::Display) {
    // Writing into a text does not fail.
    let _ = write!(text, "{value}");
}

fn write_integer(value: i64, kind: Kind, text: &mut String) {
    match kind {
        Kind::Timestamp { per_second, is_utc } => write_instant(value, per_second, is_utc, text),
        Kind::Epoch => {
            // Ten digits are seconds until the year 2286, thirteen milliseconds.
            let per_second = match value.unsigned_abs() {
                0..100_000_000_000 => 1,
                100_000_000_000..100_000_000_000_000 => 1000,
                100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
                _ => 1_000_000_000,
            };
            write_instant(value, per_second, true, text);
        }
        Kind::Clock { per_second } => {
            let seconds = value.div_euclid(per_second);
            write(text, &format_args!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60));
            if seconds % 60 != 0 || value.rem_euclid(per_second) != 0 {
                write(text, &format_args!(":{:02}", seconds % 60));
            }
        }
        Kind::Days => {
            let day = TimeDelta::try_days(value).and_then(|days| NaiveDate::default().checked_add_signed(days));
            match day {
                Some(day) => write(text, &day),
                None => write(text, &value),
            }
        }
        Kind::Number { is_unsigned: true, .. } => write(text, &value.cast_unsigned()),
        Kind::Number { scale, .. } => write_scaled(i128::from(value), scale, text),
        Kind::Float | Kind::Text | Kind::Boolean => write(text, &value),
    }
}

/// An instant or a local time; what no calendar has stays a number, which is refused where times are read.
fn write_instant(value: i64, per_second: i64, is_utc: bool, text: &mut String) {
    let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    let instant = u32::try_from(nanos).ok().and_then(|n| DateTime::from_timestamp(value.div_euclid(per_second), n));
    match instant {
        Some(instant) if is_utc => text.push_str(&instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        Some(instant) => write(text, &instant.naive_utc().format("%Y-%m-%dT%H:%M:%S%.f")),
        None => write(text, &value),
    }
}

/// An `INT96`: the Julian day and the nanoseconds since its midnight.
fn write_julian(day: u32, nanos: u64, text: &mut String) {
    /// Julian day of 1970-01-01.
    const EPOCH_DAY: i64 = 2_440_588;
    let seconds = (i64::from(day) - EPOCH_DAY) * 86_400 + i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX / 2);
    let rest = u32::try_from(nanos % 1_000_000_000).unwrap_or(0);
    match DateTime::from_timestamp(seconds, rest) {
        Some(instant) => write(text, &instant.naive_utc().format("%Y-%m-%dT%H:%M:%S%.f")),
        None => write(text, &seconds),
    }
}

fn write_scaled(value: i128, scale: usize, text: &mut String) {
    if scale == 0 {
        return write(text, &value);
    }
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    write(text, &format_args!("{}{whole}.{fraction}", if value < 0 { "-" } else { "" }));
}

/// A text, or a decimal in two's complement, most significant byte first.
fn write_bytes(bytes: &[u8], kind: Kind, text: &mut String) -> Result<(), UsageError> {
    if let Kind::Number { scale, .. } = kind {
        let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
        let filler = if is_negative { 0xff } else { 0 };
        let n_extra = bytes.len().saturating_sub(16);
        if bytes[..n_extra].iter().any(|byte| *byte != filler) {
            return Err(UsageError::new(UsageCode::BadNumber, "no meter counts that much in one interval"));
        }
        let mut value = [filler; 16];
        let bytes = &bytes[n_extra..];
        value[16 - bytes.len()..].copy_from_slice(bytes);
        write_scaled(i128::from_be_bytes(value), scale, text);
        return Ok(());
    }
    let cell = std::str::from_utf8(bytes)
        .map_err(|_| UsageError::new(UsageCode::BadEncoding, "a text of the column is not UTF-8"))?;
    // A row is a line.
    text.extend(cell.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    Ok(())
}
