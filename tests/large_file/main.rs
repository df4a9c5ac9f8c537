//! A file larger than the memory it may take. A binary of its own: it counts all that is allocated.
//!
//! `SAMEBILL_FILE_MEGABYTES` (100; a thousand in a long run) says how large the file is. It is made while it is read, so that
//! no disk has to hold it.

use std::io::{self, Read, Seek, SeekFrom};

use peak_alloc::PeakAlloc;
use samebill::usage::{Quality, ReadOptions, open};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MEGABYTE: u64 = 1_000_000;

/// The most that may be allocated at once while a file of any size is read.
const MOST: usize = 64_000_000;

/// Days of five minutes that the file has of each meter.
const N_DAYS: u64 = 30;

/// A NEM12 file of as many meters as are wanted, a month of five minutes each.
struct Meters {
    n_meters: u64,
    /// The meter whose text is at hand.
    meter: u64,
    text: Vec<u8>,
    at: usize,
}

impl Meters {
    fn new(n_meters: u64) -> Self {
        Self { n_meters, meter: 0, text: b"100,NEM12,202601010000,MDP,RETAILER\n".to_vec(), at: 0 }
    }

    fn text_of(meter: u64) -> String {
        use std::fmt::Write as _;
        let mut text = format!("200,{:010},E1,E1,E1,N1,M{meter},kWh,5,\n", 6_000_000_000 + meter);
        for day in 1..=N_DAYS {
            let _ = write!(text, "300,202604{day:02}");
            for i in 0..288 {
                let _ = write!(text, ",0.{:03}", value(meter, day, i));
            }
            text.push_str(",A,,,20260501000000,\n");
        }
        text
    }
}

/// Watt-hours of an interval.
fn value(meter: u64, day: u64, i: u64) -> u64 {
    (meter * 31 + day * 17 + i * 7) % 500
}

impl Read for Meters {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            if self.meter == self.n_meters {
                return Ok(0);
            }
            self.meter += 1;
            self.text = Self::text_of(self.meter).into_bytes();
            self.at = 0;
        }
        let n = buffer.len().min(self.text.len() - self.at);
        buffer[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Seek for Meters {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        assert_eq!(to, SeekFrom::Start(0), "a reader begins anew and goes nowhere else");
        *self = Self::new(self.n_meters);
        Ok(0)
    }
}

#[test]
fn a_file_of_many_meters_is_read_in_little_memory() {
    let megabytes: u64 = std::env::var("SAMEBILL_FILE_MEGABYTES").map_or(100, |text| text.parse().unwrap());
    let n_meters = megabytes * MEGABYTE / u64::try_from(Meters::text_of(1).len()).unwrap() + 1;
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut file = open(Meters::new(n_meters), &ReadOptions::default()).unwrap();
    assert_eq!(file.n_series() as u64, n_meters);
    for idx in 0..file.n_series() {
        let series = file.series(idx).unwrap().checked().unwrap();
        let meter = idx as u64 + 1;
        let expected: u64 = (1..=N_DAYS).flat_map(|day| (0..288).map(move |i| value(meter, day, i))).sum();
        let sum: i64 = series.readings.iter().map(|reading| reading.milliwatt_hours).sum();
        assert_eq!(u64::try_from(sum).unwrap(), expected * 1_000, "meter {meter}");
        assert!(series.readings.iter().all(|reading| reading.quality == Quality::Measured));
    }
    let most = MEMORY.peak_usage() - before;
    eprintln!("{megabytes} MB of {n_meters} meters: {} kB at most", most / 1000);
    assert!(most < MOST, "{most} bytes were allocated at once");
}
