//! What a user of files waits for: `import/green_button_year`, `import/csv_year`, `import/nem12_year` read a year of one
//! meter to its settled readings; beside each, `bare/…` is the fastest loop of the library over the same bytes that does
//! nothing with them, which no reader on that library can beat, and `records/…` the loop of its tutorial.
//!
//! `cargo bench --bench formats`. With `SAMEBILL_FILE=FILE` it reads that file instead and prints the best time and the
//! sums as JSON (what `benches/peers/readers` asks for).

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Cursor;
use std::time::Instant;

use chrono::DateTime;
use criterion::{Criterion, Throughput, criterion_group};
use samebill::usage::{Quality, ReadOptions, open, read};

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// 2026-01-01 in Brisbane (UTC+10), seconds since the epoch.
const START: i64 = 1_767_189_600;
/// Quarter hours of a year.
const N_QUARTERS: i64 = 35_040;
/// Five minutes of a day.
const N_FIVE_MINUTES: i64 = 288;

/// Watt-hours from a plain generator.
fn watt_hours(i: i64) -> i64 {
    (i * 7_919 + i / 96 * 31) % 1_800
}

/// A year of quarter hours as a Green Button feed, a block a day.
fn green_button() -> String {
    let mut text = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi">
<entry><link rel="self" href="/UsagePoint/1"/><link rel="related" href="/UsagePoint/1/MeterReading"/><content>
<espi:UsagePoint><espi:ServiceCategory><espi:kind>0</espi:kind></espi:ServiceCategory></espi:UsagePoint></content></entry>
<entry><link rel="self" href="/UsagePoint/1/MeterReading/1"/><link rel="up" href="/UsagePoint/1/MeterReading"/>
<link rel="related" href="/UsagePoint/1/MeterReading/1/IntervalBlock"/><link rel="related" href="/ReadingType/1"/>
<content><espi:MeterReading/></content></entry>
<entry><link rel="self" href="/ReadingType/1"/><content><espi:ReadingType><espi:accumulationBehaviour>4</espi:accumulationBehaviour>
<espi:commodity>1</espi:commodity><espi:flowDirection>1</espi:flowDirection><espi:intervalLength>900</espi:intervalLength>
<espi:kind>12</espi:kind><espi:powerOfTenMultiplier>0</espi:powerOfTenMultiplier><espi:uom>72</espi:uom></espi:ReadingType></content></entry>
"#,
    );
    for day in 0..N_QUARTERS / 96 {
        let start = START + day * 86_400;
        let _ = write!(
            text,
            "<entry><link rel=\"self\" href=\"/UsagePoint/1/MeterReading/1/IntervalBlock/{day}\"/>\
             <link rel=\"up\" href=\"/UsagePoint/1/MeterReading/1/IntervalBlock\"/><content><espi:IntervalBlock>\
             <espi:interval><espi:duration>86400</espi:duration><espi:start>{start}</espi:start></espi:interval>"
        );
        for i in 0..96 {
            let (at, value) = (start + i * 900, watt_hours(day * 96 + i));
            let _ = write!(
                text,
                "\n<espi:IntervalReading><espi:timePeriod><espi:duration>900</espi:duration><espi:start>{at}</espi:start>\
                 </espi:timePeriod><espi:value>{value}</espi:value></espi:IntervalReading>"
            );
        }
        text.push_str("</espi:IntervalBlock></content></entry>\n");
    }
    text.push_str("</feed>\n");
    text
}

/// A year of quarter hours as our own CSV.
fn csv() -> String {
    let mut text = String::from("start,kwh\n");
    for i in 0..N_QUARTERS {
        let start = DateTime::from_timestamp(START + i * 900, 0).expect("an instant of 2026");
        let value = watt_hours(i);
        let _ = writeln!(text, "{}Z,{}.{:03}", start.format("%Y-%m-%dT%H:%M:%S"), value / 1000, value % 1000);
    }
    text
}

/// A year of five minutes of a meter with import and export, as NEM12.
fn nem12() -> String {
    let mut text = String::from("100,NEM12,202701010000,MDP,RETAILER\n");
    for (suffix, factor) in [("E1", 1), ("B1", 3)] {
        let _ = writeln!(text, "200,6001234567,E1B1,{suffix},{suffix},N1,METER1,kWh,5,");
        for day in 0..365 {
            let date = DateTime::from_timestamp(START + 36_000 + day * 86_400, 0).expect("an instant of 2026");
            let _ = write!(text, "300,{}", date.format("%Y%m%d"));
            for i in 0..N_FIVE_MINUTES {
                let value = watt_hours((day * N_FIVE_MINUTES + i) * factor) / 3;
                let _ = write!(text, ",{}.{:03}", value / 1000, value % 1000);
            }
            text.push_str(",A,,,20270101000000,\n");
        }
    }
    text.push_str("900\n");
    text
}

/// Readings of the channels of a file.
fn n_read(text: &str) -> usize {
    read(Cursor::new(text), &ReadOptions::default()).expect("a good file").n_readings()
}

/// Every event of the XML library, namespaces resolved as ours have to be.
fn bare_xml(text: &str) -> usize {
    let mut reader = quick_xml::NsReader::from_reader(text.as_bytes());
    let mut buffer = Vec::new();
    let mut n = 0;
    loop {
        match reader.read_resolved_event_into(&mut buffer).expect("good XML") {
            (_, quick_xml::events::Event::Eof) => return n,
            event => n += usize::from(!black_box(event).1.is_empty()),
        }
        buffer.clear();
    }
}

/// Every record of the CSV library.
fn bare_csv(text: &str) -> usize {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::ByteRecord::new();
    let mut n = 0;
    while reader.read_byte_record(&mut record).expect("good CSV") {
        n += black_box(record.len());
    }
    n
}

/// Every record of the CSV library's own iterator, as its tutorial reads them: texts, a new record a row.
fn bare_records(text: &str) -> usize {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    reader.records().map(|record| black_box(record.expect("good CSV")).len()).sum()
}

fn formats(c: &mut Criterion) {
    type Bare = (&'static str, fn(&str) -> usize);
    let years: [(&str, String, usize, &[Bare]); 3] = [
        ("green_button", green_button(), 35_040, &[("bare", bare_xml)]),
        ("csv", csv(), 35_040, &[("bare", bare_csv), ("records", bare_records)]),
        ("nem12", nem12(), 2 * 365 * 288, &[("bare", bare_csv), ("records", bare_records)]),
    ];
    for (name, text, n_readings, bare) in &years {
        let mut group = c.benchmark_group("formats");
        group.throughput(Throughput::Bytes(text.len() as u64));
        for (kind, bare) in *bare {
            group.bench_function(format!("{kind}/{name}_year"), |b| b.iter(|| bare(black_box(text))));
        }
        group.bench_function(format!("import/{name}_year"), |b| {
            b.iter(|| assert_eq!(n_read(black_box(text)), *n_readings));
        });
        group.finish();
    }
}

/// Bytes of a stored reading of the households in the fixtures.
fn stored_bytes() {
    for name in ["uk-home-30min-2013-dst.csv", "il-home-60min-2017-dst.csv", "il-home-60min-2016-leap.csv"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage").join(name);
        let file = std::fs::File::open(path).expect("a fixture");
        let usage = read(file, &ReadOptions::default()).expect("a good file");
        let (mut n_bytes, mut n_readings) = (0, 0);
        for readings in usage.readings.values() {
            // A block a month, as the store cuts them.
            let month = |reading: &samebill::usage::Reading| {
                DateTime::from_timestamp(reading.start, 0).map(|at| at.format("%Y-%m").to_string())
            };
            for block in readings.to_vec().chunk_by(|a, b| month(a) == month(b)) {
                n_bytes += samebill::usage::block::encode(block).len();
            }
            n_readings += readings.len();
        }
        let per_reading = n_bytes * 100 / n_readings;
        println!("formats/stored/{name}: {}.{:02} bytes a reading", per_reading / 100, per_reading % 100);
    }
}

/// One file, the best of ten times, as JSON.
fn time_file(path: &str) {
    let bytes = std::fs::read(path).expect("SAMEBILL_FILE is readable");
    let mut best = f64::INFINITY;
    let mut sums = Vec::new();
    for _ in 0..10 {
        let begun = Instant::now();
        let mut file = open(Cursor::new(&bytes), &ReadOptions::default()).expect("a good file");
        sums = (0..file.n_series())
            .map(|idx| {
                let series = file.series(idx).and_then(samebill::usage::FileSeries::checked).expect("a good series");
                let valued = series.readings.iter().filter(|reading| reading.quality != Quality::Missing);
                (series.label.name(), valued.map(|reading| reading.milliwatt_hours).sum::<i64>())
            })
            .collect();
        best = best.min(begun.elapsed().as_secs_f64());
    }
    println!("{}", serde_json::json!({"seconds": best, "milliwatt_hours": sums}));
}

criterion_group!(benches, formats);

fn main() {
    if let Ok(path) = std::env::var("SAMEBILL_FILE") {
        return time_file(&path);
    }
    if let Ok(path) = std::env::var("SAMEBILL_WRITE_NEM12") {
        return std::fs::write(path, nem12()).expect("the file can be written");
    }
    benches();
    stored_bytes();
    Criterion::default().configure_from_args().final_summary();
}
