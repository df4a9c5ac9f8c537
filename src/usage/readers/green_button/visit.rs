//! One pass over a feed: elements to links, reading types and readings.

use std::collections::HashMap;

use chrono::{DateTime, Datelike as _, NaiveDate, Offset as _, TimeZone as _};
use quick_xml::events::BytesStart;

use super::super::super::collect::Collector;
use super::super::super::number::clip;
use super::super::super::{ReadOptions, UsageCode, UsageError};
use super::feed::{Feed, Links, ReadingType};
use super::meaning::quality;
use super::nodes::{Node, Part, Resource, Value};
use super::streams::{Block, Reading, Streams};
use super::xml::{Visit, Vocabulary, attribute, bad_xml};

/// What is read of an element's text is a number.
const MAX_TEXT_BYTES: usize = 1000;

/// Bytes of the links of one entry: a usage point may list all that is in it.
const MAX_ENTRY_BYTES: usize = 16 << 20;

/// Entries whose links come after their readings.
const MAX_LATE_ENTRIES: usize = 100_000;

/// What this pass is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Everything, as long as what blocks belong to comes before them.
    All,
    /// Everything but readings: a block came before what it belongs to.
    Links,
    /// Readings, all links being known.
    Readings,
}

/// What the open entry holds so far.
#[derive(Debug, Default)]
struct Entry {
    links: Links,
    n_bytes: usize,
    is_usage_point: bool,
    service: Option<i64>,
    is_meter_reading: bool,
    is_reading_type: bool,
    reading_type: ReadingType,
    /// Links that were there when its last block began.
    links_at_block: Option<usize>,
}

/// What the feed says of its local time.
#[derive(Debug, Clone, Copy, Default)]
struct LocalTime {
    line: u64,
    /// Seconds east of UTC in winter.
    zone: Option<i64>,
    /// Seconds that the clock is set forward in summer.
    summer: Option<i64>,
    never_summer: bool,
}

/// One pass.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    aim: Aim,
    options: &'a ReadOptions,
    feed: Feed,
    /// By the number of the entry.
    late_links: HashMap<u64, Links>,
    local_time: LocalTime,
    streams: Streams,
    nodes: Vec<Node>,
    text: String,
    n_entries: u64,
    is_in_entry: bool,
    entry: Entry,
    block: Block,
    reading: Reading,
}

impl<'a> Pass<'a> {
    /// The first pass over a feed.
    pub(super) fn first(options: &'a ReadOptions) -> Self {
        Self {
            aim: Aim::All,
            options,
            feed: Feed::default(),
            late_links: HashMap::new(),
            local_time: LocalTime::default(),
            streams: Streams::new(options),
            nodes: Vec::new(),
            text: String::new(),
            n_entries: 0,
            is_in_entry: false,
            entry: Entry::default(),
            block: Block::default(),
            reading: Reading::default(),
        }
    }

    /// Whether the first pass could not take all readings.
    pub(super) fn wants_second(&self) -> bool {
        self.aim == Aim::Links
    }

    /// The pass that takes the readings, with what the first one found.
    pub(super) fn second(self) -> Self {
        Self {
            aim: Aim::Readings,
            feed: self.feed,
            late_links: self.late_links,
            local_time: self.local_time,
            ..Self::first(self.options)
        }
    }

    /// What was collected.
    ///
    /// # Errors
    /// As [`Streams::check`].
    pub(super) fn finish(mut self) -> Result<Collector, UsageError> {
        self.streams.check()?;
        if let Some((line, detail)) = self.contradicted_zone() {
            self.streams.collector.warn("time_zone_contradicts", Some(line), detail);
        }
        Ok(self.streams.collector)
    }

    /// The feed's own offsets, where they are not those of the zone that the caller named.
    fn contradicted_zone(&self) -> Option<(u64, String)> {
        let LocalTime { line, zone, summer, never_summer } = self.local_time;
        let (named, said) = (self.options.time_zone?, zone?);
        let year = DateTime::from_timestamp(self.streams.first_start?, 0)?.year();
        let offset = |month| {
            let noon = NaiveDate::from_ymd_opt(year, month, 15)?.and_hms_opt(12, 0, 0)?;
            Some(i64::from(named.offset_from_utc_datetime(&noon).fix().local_minus_utc()))
        };
        let (january, july) = (offset(1)?, offset(7)?);
        let (winter, advance) = (january.min(july), (january - july).abs());
        let said_advance = if never_summer { Some(0) } else { summer };
        if said == winter && said_advance.is_none_or(|said| said == advance) {
            return None;
        }
        let said_advance = said_advance.unwrap_or(0);
        let detail = format!(
            "the file's local time is {said} seconds from UTC and {said_advance} more in summer, that of {named} is \
             {winter} and {advance}: check the time zone"
        );
        Some((line, detail))
    }

    fn open_resource(&mut self, resource: Resource) -> Result<(), UsageError> {
        match resource {
            Resource::UsagePoint => (self.entry.is_usage_point, self.entry.service) = (true, None),
            Resource::MeterReading => self.entry.is_meter_reading = true,
            Resource::ReadingType => {
                (self.entry.is_reading_type, self.entry.reading_type) = (true, ReadingType::default());
            }
            Resource::LocalTimeParameters => self.local_time = LocalTime::default(),
            Resource::IntervalBlock => return self.open_block(),
        }
        Ok(())
    }

    fn open_block(&mut self) -> Result<(), UsageError> {
        self.entry.links_at_block = Some(self.entry.links.len());
        let chain = match self.aim {
            Aim::All => self.feed.chain(&self.entry.links),
            Aim::Links => None,
            Aim::Readings => {
                let links = self.late_links.get(&self.n_entries).unwrap_or(&self.entry.links);
                Some(self.feed.chain_of_whole_feed(links))
            }
        };
        if let Some(chain) = chain {
            self.block = self.streams.block(chain, &self.feed, self.options)?;
            return Ok(());
        }
        if self.aim == Aim::All {
            // The readings are left to a second pass.
            self.aim = Aim::Links;
            self.streams = Streams::new(self.options);
        }
        if let Some(node) = self.nodes.last_mut() {
            *node = Node::Passed;
        }
        Ok(())
    }

    fn close_entry(&mut self) -> Result<(), UsageError> {
        let entry = std::mem::take(&mut self.entry);
        if self.aim == Aim::Readings {
            return Ok(());
        }
        if entry.is_usage_point {
            self.feed.add_usage_point(&entry.links, entry.service)?;
        }
        if entry.is_meter_reading {
            self.feed.add_meter_reading(&entry.links)?;
        }
        if entry.is_reading_type {
            self.feed.add_reading_type(&entry.links, entry.reading_type)?;
        }
        if entry.links_at_block.is_some_and(|n| n < entry.links.len()) {
            if self.late_links.len() == MAX_LATE_ENTRIES || entry.n_bytes > MAX_TEXT_BYTES * 10 {
                let message = "too many entries have their links after their readings; put the links first";
                return Err(UsageError::new(UsageCode::TooLarge, message));
            }
            self.late_links.insert(self.n_entries, entry.links);
        }
        Ok(())
    }

    fn add_link(&mut self, start: &BytesStart<'_>) -> Result<(), UsageError> {
        if let (Some(relation), Some(href)) = (attribute(start, "rel")?, attribute(start, "href")?) {
            self.entry.n_bytes += href.len() + 64;
            if self.entry.n_bytes > MAX_ENTRY_BYTES {
                return Err(UsageError::new(UsageCode::TooLarge, "an entry has more links than any feed of readings"));
            }
            self.entry.links.add(&relation, &href);
        }
        Ok(())
    }

    /// Takes the text of an element.
    fn set(&mut self, value: Value) -> Result<(), UsageError> {
        let text = self.text.trim();
        match value {
            Value::Value => {
                self.reading.value = self.streams.value(self.block, text)?;
                return Ok(());
            }
            Value::SummerRule => {
                self.local_time.never_summer = text.eq_ignore_ascii_case("FFFFFFFF");
                return Ok(());
            }
            _ => {}
        }
        let number: i64 = text.parse().map_err(|_| {
            let message = format!("{:?} is no whole number", clip(text));
            UsageError::new(UsageCode::BadNumber, message).in_field(value.name())
        })?;
        let reading_type = &mut self.entry.reading_type;
        match value {
            Value::ServiceKind => self.entry.service = Some(number),
            Value::Accumulation => reading_type.accumulation = Some(number),
            Value::Commodity => reading_type.commodity = Some(number),
            Value::DataQualifier => reading_type.data_qualifier = Some(number),
            Value::DefaultQuality => reading_type.default_quality = Some(number),
            Value::FlowDirection => reading_type.flow_direction = Some(number),
            Value::IntervalLength => reading_type.interval_length = Some(number),
            Value::PowerOfTen => reading_type.power_of_ten = Some(number),
            Value::Uom => reading_type.uom = Some(number),
            Value::BlockStart => self.block.start = Some(number),
            Value::Start => self.reading.start = Some(number),
            Value::Duration => self.reading.duration = Some(number),
            Value::Quality => {
                let found = quality(number).map_err(|e| e.in_field(value.name()))?;
                self.reading.quality = self.reading.quality.max(Some(found));
                self.reading.is_questionable |= number == 10;
            }
            Value::ZoneOffset => self.local_time.zone = Some(number),
            Value::SummerOffset => self.local_time.summer = Some(number),
            Value::Value | Value::SummerRule => {}
        }
        Ok(())
    }
}

impl Visit for Pass<'_> {
    fn open(&mut self, vocabulary: Vocabulary, name: &str, start: &BytesStart<'_>) -> Result<bool, UsageError> {
        let around = self.nodes.last().copied().unwrap_or(Node::Around);
        let mut node = around.child(vocabulary, name);
        if let Node::Resource(resource) = node {
            // The second pass takes readings alone.
            if self.aim == Aim::Readings && resource != Resource::IntervalBlock {
                node = Node::Passed;
            }
        }
        self.nodes.push(node);
        match node {
            Node::Value(_) => self.text.clear(),
            Node::Part(Part::IntervalReading) => {
                self.reading = Reading::default();
                return Ok(true);
            }
            Node::Resource(resource) => {
                self.open_resource(resource)?;
                return Ok(resource == Resource::LocalTimeParameters);
            }
            Node::Link => self.add_link(start)?,
            Node::Entry if self.is_in_entry => return Err(bad_xml("an entry lies within an entry")),
            Node::Entry => {
                self.is_in_entry = true;
                self.n_entries += 1;
                self.entry = Entry::default();
            }
            Node::Around | Node::Part(_) | Node::Passed => {}
        }
        Ok(false)
    }

    fn line(&mut self, line: u64) {
        if self.nodes.last() == Some(&Node::Part(Part::IntervalReading)) {
            self.reading.line = line;
        } else {
            self.local_time.line = line;
        }
    }

    fn text(&mut self, part: &str) -> Result<(), UsageError> {
        if let Some(Node::Value(value)) = self.nodes.last() {
            if self.text.len() + part.len() > MAX_TEXT_BYTES {
                return Err(bad_xml("the text is too long for a number").in_field(value.name()));
            }
            self.text.push_str(part);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), UsageError> {
        match self.nodes.pop() {
            Some(Node::Value(value)) => self.set(value),
            Some(Node::Part(Part::IntervalReading)) => self.streams.take(&mut self.block, &self.reading),
            Some(Node::Entry) => {
                self.is_in_entry = false;
                self.close_entry()
            }
            Some(Node::Resource(_)) if !self.is_in_entry => self.close_entry(),
            _ => Ok(()),
        }
    }
}
