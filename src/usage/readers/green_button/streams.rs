//! The streams of readings of a feed: their names, and their values into the collector.

use std::collections::{HashMap, HashSet};

use super::super::super::collect::{Cell, Collector};
use super::super::super::file::{Quantity, SeriesLabel};
use super::super::super::stamp::Stamp;
use super::super::super::{Quality, ReadOptions, StampSide, UsageCode, UsageError};
use super::feed::{Chain, Feed, ReadingType, last_part};
use super::meaning::Meaning;

/// The longest local day; what lasts longer is a bill.
const LONGEST_DAY_SECONDS: i64 = 25 * 3600;

/// The reading that is open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    /// On which its element begins.
    pub(super) line: u64,
    /// Seconds since the epoch.
    pub(super) start: Option<i64>,
    /// Seconds.
    pub(super) duration: Option<i64>,
    /// Millionths.
    pub(super) value: Option<i64>,
    pub(super) quality: Option<Quality>,
    pub(super) is_questionable: bool,
}

/// The block that is open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    stream_idx: usize,
    /// Seconds since the epoch.
    pub(super) start: Option<i64>,
    n_readings: i64,
}

/// A stream on its way.
#[derive(Debug, Clone)]
struct Stream {
    series_idx: usize,
    meaning: Meaning,
    interval_length: Option<i64>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) collector: Collector,
    streams: Vec<Stream>,
    stream_by_chain: HashMap<Chain, usize>,
    names: HashSet<String>,
    usage_point_by_meter: HashMap<String, usize>,
    stamp: Option<StampSide>,
    has_electricity: bool,
    other_services: Vec<String>,
    n_longer: u64,
    /// Start of the first reading that was taken.
    pub(super) first_start: Option<i64>,
}

impl Streams {
    /// None yet.
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            collector: Collector::new(options),
            streams: Vec::new(),
            stream_by_chain: HashMap::new(),
            names: HashSet::new(),
            usage_point_by_meter: HashMap::new(),
            stamp: options.stamp,
            has_electricity: false,
            other_services: Vec::new(),
            n_longer: 0,
            first_start: None,
        }
    }

    /// A block of readings of a chain begins.
    ///
    /// # Errors
    /// As [`Meaning::new`]; [`UsageCode::TooLarge`].
    pub(super) fn block(&mut self, chain: Chain, feed: &Feed, options: &ReadOptions) -> Result<Block, UsageError> {
        let stream_idx = match self.stream_by_chain.get(&chain) {
            Some(idx) => *idx,
            None => self.add_stream(chain, feed, options)?,
        };
        Ok(Block { stream_idx, start: None, n_readings: 0 })
    }

    fn add_stream(&mut self, chain: Chain, feed: &Feed, options: &ReadOptions) -> Result<usize, UsageError> {
        let unknown = ReadingType::default();
        let reading_type = chain.reading_type.map_or(&unknown, |idx| &feed.reading_types[idx]);
        let service = chain.usage_point.and_then(|idx| feed.usage_points[idx].service);
        let meaning = Meaning::new(reading_type, service, options)?;
        if meaning.accumulation_assumed {
            let detail = "the ReadingType does not say how it accumulates: taken as energy of each interval";
            self.collector.warn("accumulation_assumed", None, detail);
        }
        if meaning.is_electric {
            self.has_electricity = true;
        } else {
            let service = meaning.channel(service).unwrap_or_default();
            if !self.other_services.contains(&service) && self.other_services.len() < 4 {
                self.other_services.push(service);
            }
        }
        let label = self.label(chain, feed, &meaning, service);
        let series_idx = self.collector.series(&label)?;
        self.names.insert(label.name());
        let interval_length = reading_type.interval_length.filter(|seconds| *seconds > 0);
        self.streams.push(Stream { series_idx, meaning, interval_length });
        self.stream_by_chain.insert(chain, self.streams.len() - 1);
        Ok(self.streams.len() - 1)
    }

    /// A name that no other stream of the feed has.
    fn label(&mut self, chain: Chain, feed: &Feed, meaning: &Meaning, service: Option<i64>) -> SeriesLabel {
        let meter = chain.usage_point.and_then(|idx| {
            let link = &feed.usage_points[idx].link;
            let short = last_part(link)?.to_owned();
            let owner = *self.usage_point_by_meter.entry(short.clone()).or_insert(idx);
            Some(if owner == idx { short } else { link.clone() })
        });
        let mut label = SeriesLabel {
            meter,
            channel: meaning.channel(service),
            direction: meaning.direction,
            unit: meaning.unit.clone(),
            quantity: meaning.quantity,
        };
        let plain = label.channel.clone().unwrap_or_else(|| meaning.direction_name().to_owned());
        let link = chain.meter_reading.map_or("", |idx| feed.meter_readings[idx].links.own.as_str());
        let mut names = [last_part(link).unwrap_or_default().to_owned(), link.to_owned()].into_iter();
        let mut n = 1_u32;
        while self.names.contains(&label.name()) {
            let name = names.next().unwrap_or_else(|| {
                n += 1;
                n.to_string()
            });
            label.channel = Some(format!("{plain} {name}"));
        }
        label
    }

    /// The value of a reading of a block.
    ///
    /// # Errors
    /// [`UsageCode::BadNumber`], with its field.
    pub(super) fn value(&self, block: Block, text: &str) -> Result<Option<i64>, UsageError> {
        if text.is_empty() {
            return Ok(None);
        }
        self.streams[block.stream_idx].meaning.format.read(text).map(Some).map_err(|e| e.in_field("value"))
    }

    /// Takes a reading of a block.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`], [`UsageCode::IntervalLength`]; what the collector refuses. With the line.
    pub(super) fn take(&mut self, block: &mut Block, reading: &Reading) -> Result<(), UsageError> {
        let place = |e: UsageError| e.at_line(reading.line);
        let Self { collector, streams, .. } = self;
        let Stream { series_idx, meaning, interval_length } = &streams[block.stream_idx];
        collector.count_row();
        let duration = reading.duration.or(*interval_length).unwrap_or(0);
        let start = match (reading.start, block.start, interval_length) {
            (Some(start), _, _) => start,
            (None, Some(first), Some(length)) => first.saturating_add(length.saturating_mul(block.n_readings)),
            (None, _, _) => {
                let message = "the reading has no start, and its block does not say where and in which steps it begins";
                return Err(place(UsageError::new(UsageCode::BadTime, message).in_field("timePeriod/start")));
            }
        };
        block.n_readings += 1;
        let is_register = meaning.quantity == Quantity::Register;
        if duration > LONGEST_DAY_SECONDS && !is_register {
            self.n_longer += 1;
            let detail = format!("a reading of {duration} seconds is a bill and no interval: not read");
            collector.warn("longer_than_a_day", Some(reading.line), detail);
            return Ok(());
        }
        let epoch = |seconds| Stamp::epoch(seconds).map_err(|e| place(e.in_field("timePeriod/start")));
        let times = if is_register {
            // What the register showed when the period was over.
            let is_of_start = self.stamp == Some(StampSide::Start);
            let at = if is_of_start { start } else { start.saturating_add(duration.max(0)) };
            collector.starting(epoch(at)?)
        } else if self.stamp == Some(StampSide::End) {
            collector.ending(epoch(start)?)
        } else {
            collector.starting(epoch(start)?)
        };
        let mut times = times.map_err(place)?;
        if duration > 0 && !is_register {
            times = match times.lasting(duration) {
                Ok(times) => times,
                Err(_) if meaning.quantity == Quantity::Other => times,
                Err(e) => return Err(place(e.in_field("timePeriod/duration"))),
            };
        }
        if reading.is_questionable {
            let detail = "a reading is marked as questionable: counted as estimated";
            collector.warn("questionable_reading", Some(reading.line), detail);
        }
        let quality = reading.quality.unwrap_or(meaning.default_quality);
        let cell = reading.value.map_or(Cell::Blank, |value| Cell::Value(value, quality));
        self.first_start.get_or_insert(start);
        collector.push(*series_idx, reading.line, times, cell).map_err(place)
    }

    /// Refuses a feed that has nothing but bills or other services.
    ///
    /// # Errors
    /// [`UsageCode::NotIntervals`], [`UsageCode::NotElectricity`].
    pub(super) fn check(&self) -> Result<(), UsageError> {
        if self.n_longer > 0 && self.first_start.is_none() {
            let message = "every reading of the file is longer than a day: these are bills, no intervals";
            return Err(UsageError::new(UsageCode::NotIntervals, message));
        }
        if !self.has_electricity && !self.other_services.is_empty() {
            let message = format!("the file holds {} and no electricity", self.other_services.join(", "));
            return Err(UsageError::new(UsageCode::NotElectricity, message));
        }
        Ok(())
    }
}
