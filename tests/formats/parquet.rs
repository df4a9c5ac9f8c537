//! Parquet. Files are made here: a schema, and columns of cells.

use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use samebill::usage::{ReadOptions, StampSide};

use super::samples::{check, facts, samples};
use super::told::{mutate, told, zone};

/// Cells of a column; `None` is null.
#[derive(Clone)]
enum Cells {
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Int96(Vec<Option<[u32; 3]>>),
    Float(Vec<Option<f32>>),
    Double(Vec<Option<f64>>),
    Text(Vec<Option<&'static str>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Fixed(Vec<Option<Vec<u8>>>),
}

/// A file of one row group; columns marked as `optional` in the schema may have nulls.
fn file_packed(schema: &str, columns: &[Cells], compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message readings {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for cells in columns {
        let mut column = group.next_column().unwrap().unwrap();
        macro_rules! write {
            ($type:ty, $cells:expr, $value:expr) => {{
                let levels: Vec<i16> = $cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                let values: Vec<_> = $cells.iter().flatten().map($value).collect();
                column.typed::<$type>().write_batch(&values, Some(&levels), None).unwrap();
            }};
        }
        match cells {
            Cells::Int32(cells) => write!(Int32Type, cells, |value| *value),
            Cells::Int64(cells) => write!(Int64Type, cells, |value| *value),
            Cells::Int96(cells) => write!(Int96Type, cells, |value| Int96::from(value.to_vec())),
            Cells::Float(cells) => write!(FloatType, cells, |value| *value),
            Cells::Double(cells) => write!(DoubleType, cells, |value| *value),
            Cells::Text(cells) => write!(ByteArrayType, cells, |value| (*value).into()),
            Cells::Bytes(cells) => write!(ByteArrayType, cells, |value| value.clone().into()),
            Cells::Fixed(cells) => write!(FixedLenByteArrayType, cells, |value| value.clone().into()),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn file(schema: &str, columns: &[Cells]) -> Vec<u8> {
    file_packed(schema, columns, Compression::SNAPPY)
}

const UTC: &str = "optional int64 start (TIMESTAMP(MICROS,true));";
const KWH: &str = "optional double kwh;";

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: i64 = 1_767_225_600;

/// Starts of hours from the new year on, in parts of a second.
fn hours(per_second: i64, n: i64) -> Cells {
    Cells::Int64((0..n).map(|i| Some((NEW_YEAR + i * 3600) * per_second)).collect())
}

fn kwh(values: &[f64]) -> Cells {
    Cells::Double(values.iter().copied().map(Some).collect())
}

fn told_of(schema: &str, columns: &[Cells]) -> String {
    told(file(schema, columns), &ReadOptions::default())
}

#[test]
fn samples_hold_what_their_readme_says() {
    check("parquet");
    facts(
        "parquet/half_hourly_utc_snappy.parquet",
        &[
            ("import_kwh", 1488, "371.76", "2026-01-01T00:00Z", "2026-02-01T00:00Z", &[]),
            ("export_kwh", 1488, "0", "2026-01-01T00:00Z", "2026-02-01T00:00Z", &[]),
        ],
        &[("export", 1488), ("import", 1488)],
    );
}

#[test]
fn times_of_every_type_are_the_same_instants() {
    let values = kwh(&[0.1, 0.2, 0.3]);
    let expected = "kwh 3 0.6";
    for (schema, per_second) in [
        ("optional int64 start (TIMESTAMP(MILLIS,true));", 1000),
        (UTC, 1_000_000),
        ("optional int64 start (TIMESTAMP(NANOS,true));", 1_000_000_000),
        ("optional int64 start (TIMESTAMP_MILLIS);", 1000),
        ("optional int64 start (TIMESTAMP_MICROS);", 1_000_000),
        ("optional int64 start;", 1),
        ("optional int64 start;", 1000),
        ("optional int64 start;", 1_000_000),
        ("optional int64 start;", 1_000_000_000),
        ("optional int64 __index_level_0__ (TIMESTAMP(NANOS,true));", 1_000_000_000),
    ] {
        let schema = format!("{schema} {KWH}");
        assert_eq!(told_of(&schema, &[hours(per_second, 3), values.clone()]), expected, "{schema} {per_second}");
    }
    let text =
        Cells::Text(vec![Some("2026-01-01T01:00:00+01:00"), Some("2026-01-01T01:00:00Z"), Some("2026-01-01 02:00Z")]);
    assert_eq!(told_of(&format!("optional binary start (UTF8); {KWH}"), &[text, values.clone()]), expected);
    // The Julian day of 2026-01-01 is 2461042.
    let nanos = |hour: u64| {
        let n = hour * 3_600_000_000_000;
        [u32::try_from(n & 0xffff_ffff).unwrap(), u32::try_from(n >> 32).unwrap(), 2_461_042]
    };
    let old = Cells::Int96((0..3).map(|hour| Some(nanos(hour))).collect());
    let old = file(&format!("optional int96 start; {KWH}"), &[old, values.clone()]);
    assert_eq!(told(&old, &ReadOptions::default()), "time_zone_needed@2 start");
    assert_eq!(told(&old, &zone("UTC")), expected);
    let days = Cells::Int32(vec![Some(20_454); 3]);
    let clocks = Cells::Int32((0..3).map(|hour| Some(hour * 3_600_000)).collect());
    let parts = format!("optional int32 date (DATE); optional int32 time (TIME_MILLIS); {KWH}");
    assert_eq!(told(file(&parts, &[days, clocks, values]), &zone("UTC")), expected);
}

#[test]
fn local_times_follow_the_clocks_of_their_zone() {
    let schema = format!("optional int64 start (TIMESTAMP(MILLIS,false)); {KWH}");
    // 2026-03-08 in Chicago has no 02:00, 2026-11-01 has 01:00 twice.
    let at = |texts: &[&str]| {
        Cells::Int64(
            texts
                .iter()
                .map(|t| Some(t.parse::<chrono::NaiveDateTime>().unwrap().and_utc().timestamp_millis()))
                .collect(),
        )
    };
    let spring = at(&["2026-03-08T00:00:00", "2026-03-08T01:00:00", "2026-03-08T03:00:00"]);
    let autumn = at(&["2026-11-01T00:00:00", "2026-11-01T01:00:00", "2026-11-01T01:00:00"]);
    let values = kwh(&[1.0, 2.0, 3.0]);
    for local in [spring, autumn] {
        let bytes = file(&schema, &[local, values.clone()]);
        assert_eq!(told(&bytes, &ReadOptions::default()), "time_zone_needed@2 start");
        assert_eq!(told(&bytes, &zone("America/Chicago")), "kwh 3 6");
    }
    let skipped = file(&schema, &[at(&["2026-03-08T01:00:00", "2026-03-08T02:00:00"]), kwh(&[1.0, 2.0])]);
    assert_eq!(told(skipped, &zone("America/Chicago")), "local_time_does_not_exist@3 start");
}

#[test]
fn numbers_of_every_type_are_read_exactly() {
    let of = |column: &str, cells: Cells| told_of(&format!("{UTC} optional {column};"), &[hours(1_000_000, 3), cells]);
    assert_eq!(of("float kwh", Cells::Float(vec![Some(0.1), Some(0.2), Some(-0.3)])), "kwh 3 0");
    assert_eq!(of("double kwh", kwh(&[0.123_456_785, 1e-7, 100_000.0])), "kwh 3 100000.123457");
    assert_eq!(of("double energy_wh", kwh(&[100.0, 50.5, 1.0])), "energy_wh 3 0.1515");
    assert_eq!(of("int32 wh", Cells::Int32(vec![Some(100), Some(-1), Some(2)])), "wh 3 0.101");
    assert_eq!(of("int64 wh", Cells::Int64(vec![Some(100), Some(-1), None])), "wh 2 0.099 blank=1 gaps=1");
    assert_eq!(of("int32 kwh (DECIMAL(9,3))", Cells::Int32(vec![Some(1), Some(-2500), Some(12)])), "kwh 3 -2.487");
    assert_eq!(
        of("int64 kwh (DECIMAL(18,14))", Cells::Int64(vec![Some(12_345_678_901_234), Some(0), Some(1)])),
        "kwh 3 0.123457"
    );
    let fixed = vec![Some(vec![0xff, 0xff, 0xff]), Some(vec![0, 1, 0]), Some(vec![0, 0, 1])];
    assert_eq!(of("fixed_len_byte_array(3) kwh (DECIMAL(6,2))", Cells::Fixed(fixed)), "kwh 3 2.56");
    let bytes = vec![Some(vec![0x80]), Some(vec![0x7f]), Some(vec![0; 20])];
    assert_eq!(of("binary kwh (DECIMAL(30,1))", Cells::Bytes(bytes)), "kwh 3 -0.1");
    let huge = vec![Some(vec![1; 40]), None, None];
    assert_eq!(of("binary kwh (DECIMAL(30,1))", Cells::Bytes(huge)), "bad_number kwh");
    assert_eq!(
        of("binary kwh (UTF8)", Cells::Text(vec![Some("0.5"), Some(""), Some("0.25")])),
        "kwh 2 0.75 blank=1 gaps=1"
    );
    assert_eq!(of("double kwh", kwh(&[1.0, f64::NAN, 2.0])), "kwh 2 3 blank=1 gaps=1");
    assert_eq!(of("double kwh", kwh(&[1.0, f64::INFINITY, 2.0])), "bad_number@3 kwh");
    assert_eq!(of("double kwh", kwh(&[1.0, 1e300, 2.0])), "bad_number@3 kwh");
    assert_eq!(of("double kvarh", kwh(&[1.0, 2.0, 3.0])), "kvarh 3 -");
    assert_eq!(of("double value", kwh(&[1.0, 2.0, 3.0])), "unit_needed@1 value");
    assert_eq!(of("double kwh", Cells::Double(vec![Some(1.0), None, Some(2.0)])), "kwh 2 3 blank=1 gaps=1");
}

#[test]
fn trouble_is_told_by_row() {
    let of = |seconds: &[i64], values: &[f64]| {
        let starts = Cells::Int64(seconds.iter().map(|s| Some((NEW_YEAR + s) * 1_000_000)).collect());
        told_of(&format!("{UTC} {KWH}"), &[starts, kwh(values)])
    };
    assert_eq!(of(&[0, 3600, 10_800, 14_400], &[1.0, 1.0, 1.0, 1.0]), "kwh 4 4 gaps=1");
    assert_eq!(of(&[0, 3600, 3600, 7200], &[1.0, 1.0, 1.0, 1.0]), "kwh 3 3 repeats=1");
    assert_eq!(of(&[0, 3600, 3600, 7200], &[1.0, 1.0, 2.0, 1.0]), "kwh 3 3 conflict@3+4");
    assert_eq!(of(&[0, 3600, 7201], &[1.0, 1.0, 1.0]), "bad_time@4 start");
    assert_eq!(of(&[0, 3600, 253_402_300_799], &[1.0, 1.0, 1.0]), "bad_time@4 start");
    let ends = Cells::Int64([3600, 9000, 10_800].iter().map(|s| Some((NEW_YEAR + s) * 1_000_000)).collect());
    let schema = format!("{UTC} optional int64 end (TIMESTAMP(MICROS,true)); {KWH}");
    assert_eq!(told_of(&schema, &[hours(1_000_000, 3), ends, kwh(&[1.0; 3])]), "interval_length@3 end");
    assert_eq!(told_of(&format!("{UTC} {KWH}"), &[hours(1_000_000, 0), kwh(&[])]), "no_readings");
    assert_eq!(
        told_of(
            &format!("{UTC} {KWH} optional double humidity;"),
            &[hours(1_000_000, 2), kwh(&[1.0; 2]), kwh(&[1.0; 2])]
        ),
        "unknown_column@1 humidity"
    );
    assert_eq!(
        told_of(&format!("{UTC} {KWH} optional double cost;"), &[hours(1_000_000, 2), kwh(&[1.0; 2]), kwh(&[1.0; 2])]),
        "kwh 2 2"
    );
    let nulls = Cells::Int64(vec![Some(NEW_YEAR * 1_000_000), None]);
    assert!(told_of(&format!("{UTC} {KWH}"), &[nulls, kwh(&[1.0; 2])]).starts_with("bad_time@3"));
    let options = ReadOptions { stamp: Some(StampSide::End), ..ReadOptions::default() };
    assert_eq!(told(file(&format!("{UTC} {KWH}"), &[hours(1_000_000, 3), kwh(&[1.0; 3])]), &options), "kwh 3 3");
}

#[test]
fn meters_and_qualities_come_from_columns_of_text() {
    let schema = format!("{UTC} optional binary meter (UTF8); optional binary quality (UTF8); {KWH}");
    let starts = Cells::Int64([0, 3600, 0, 3600].iter().map(|s| Some((NEW_YEAR + s) * 1_000_000)).collect());
    let meters = Cells::Text(vec![Some("a"), Some("a"), Some("b\nc"), Some("b\nc")]);
    let qualities = Cells::Text(vec![Some("measured"), Some("estimated"), Some("substituted"), None]);
    let found = told_of(&schema, &[starts.clone(), meters.clone(), qualities, kwh(&[1.0, 2.0, 3.0, 4.0])]);
    assert_eq!(found, "a/kwh 2 3 estimated=1; b c/kwh 2 7 substituted=1");
    let unknown = Cells::Text(vec![Some("measured"), Some("good?"), None, None]);
    let found = told_of(&schema, &[starts, meters, unknown, kwh(&[1.0; 4])]);
    assert_eq!(found, "bad_quality@3 quality");
}

#[test]
fn files_are_read_packed_or_not() {
    let columns = [hours(1_000_000, 5000), kwh(&vec![0.25; 5000])];
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = file_packed(&format!("{UTC} {KWH}"), &columns, compression);
        assert_eq!(told(bytes, &ReadOptions::default()), "kwh 5000 1250", "{compression}");
    }
}

#[test]
fn lists_and_structures_are_refused_by_name() {
    let schema = parse_message_type("message m { optional group readings { optional double kwh; } }").unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0], Some(&[2]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    assert_eq!(told(writer.into_inner().unwrap(), &ReadOptions::default()), "unknown_column readings.kwh");
}

#[test]
fn damaged_and_hostile_files_are_refused() {
    let bytes = file(&format!("{UTC} {KWH}"), &[hours(1_000_000, 100), kwh(&[0.25; 100])]);
    let forced = ReadOptions { format: Some("parquet".to_owned()), ..ReadOptions::default() };
    for n in 0..bytes.len() {
        assert_eq!(told(&bytes[..n], &forced), "bad_row", "cut at {n}");
    }
    // The unpacked size of the first page, as its header says it, made two gigabytes.
    let mut bomb = bytes.clone();
    assert_eq!((bomb[4], bomb[6]), (0x15, 0x15), "a page header begins behind the mark");
    bomb.splice(7..8 + usize::from(bomb[7] & 0x80 != 0), [0xfe, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(told(bomb, &forced), "bad_row");
    // A root that says it has a thousand million columns: the number is the last of its element, and two columns are 4.
    let root = [0x48, 8].iter().chain(b"readings").copied().collect::<Vec<u8>>();
    let at = bytes.windows(root.len()).position(|window| window == root).unwrap() + root.len();
    assert_eq!(bytes[at..at + 2], [0x15, 4], "the number of children behind the name");
    let mut wide = bytes.clone();
    wide.splice(at + 1..at + 2, [0x80, 0xa8, 0xd6, 0xb9, 0x07]);
    let n = wide.len() - 8;
    let n_metadata = u32::from_le_bytes(wide[n..n + 4].try_into().unwrap()) + 4;
    wide.splice(n..n + 4, n_metadata.to_le_bytes());
    assert_eq!(told(wide, &forced), "bad_row");
    // Groups within groups, 250 deep.
    let (open, close) = ("optional group a { ".repeat(250), "}".repeat(250));
    let deep = parse_message_type(&format!("message m {{ {open} optional double kwh; {close} }}")).unwrap();
    let deep = SerializedFileWriter::new(Vec::new(), Arc::new(deep), Arc::default()).unwrap().into_inner().unwrap();
    assert_eq!(told(deep, &forced), "bad_row");
    // Ten million rows of one text, in a few kilobytes.
    let text: &'static str = Box::leak("2026-01-01T00:00:00Z".repeat(500).into_boxed_str());
    let rows = Cells::Text(vec![Some(text); 20_000]);
    let packed = file_packed("optional binary start (UTF8);", &[rows], Compression::ZSTD(ZstdLevel::default()));
    assert!(packed.len() < 100_000);
    assert_eq!(told(packed, &forced), "too_large");
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("parquet".to_owned()), ..zone("America/Chicago") };
    let schema = format!("{UTC} optional binary meter (UTF8); {KWH}");
    let meters = Cells::Text(vec![Some("a"); 40]);
    mutate(&file(&schema, &[hours(1_000_000, 40), meters, kwh(&[0.25; 40])]), &options, 400);
    if let Some(samples) = samples() {
        let bytes = std::fs::read(samples.join("parquet/half_hourly_utc_snappy.parquet")).unwrap();
        mutate(&bytes, &options, 60);
    }
}
