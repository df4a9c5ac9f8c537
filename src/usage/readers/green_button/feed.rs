//! What a feed tells of its readings, and which block of readings belongs to what: by the links of the entries, not by
//! their order.

use std::collections::HashMap;

use super::super::super::{UsageCode, UsageError};
use super::xml::bad_xml;

/// Bytes of links that are kept: a feed of ten thousand meters has a few million.
const MAX_LINK_BYTES: usize = 64 << 20;

/// The links of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// `rel="self"`: the entry's own.
    pub(super) own: String,
    /// `rel="up"`: the collection it is in.
    pub(super) up: String,
    /// `rel="related"`.
    pub(super) related: Vec<String>,
}

impl Links {
    /// Adds a link; a slash at its end says nothing.
    pub(super) fn add(&mut self, relation: &str, href: &str) {
        let href = href.trim_end_matches('/').to_owned();
        match relation {
            "self" => self.own = href,
            "up" => self.up = href,
            "related" => self.related.push(href),
            _ => {}
        }
    }

    /// Number of links.
    pub(super) fn len(&self) -> usize {
        self.related.len() + usize::from(!self.own.is_empty()) + usize::from(!self.up.is_empty())
    }

    /// Bytes of their texts.
    pub(super) fn n_bytes(&self) -> usize {
        self.own.len() + self.up.len() + self.related.iter().map(String::len).sum::<usize>()
    }

    /// The link of the resource that this one lies in: what stands before `/COLLECTION` in its own link or the one up.
    fn before(&self, collection: &str) -> Option<&str> {
        [&self.own, &self.up].into_iter().find_map(|link| {
            let at = link.rfind(collection)?;
            let rest = &link[at + collection.len()..];
            (rest.is_empty() || rest.starts_with('/') || rest.starts_with('?')).then(|| &link[..at])
        })
    }
}

/// Where a service is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsagePoint {
    /// Its link.
    pub(super) link: String,
    /// `ServiceCategory/kind`: 0 electricity, 1 gas, 2 water.
    pub(super) service: Option<i64>,
}

/// A stream of readings of one usage point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MeterReading {
    pub(super) links: Links,
}

/// What the numbers of a stream are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReadingType {
    pub(super) accumulation: Option<i64>,
    pub(super) commodity: Option<i64>,
    pub(super) data_qualifier: Option<i64>,
    pub(super) default_quality: Option<i64>,
    pub(super) flow_direction: Option<i64>,
    /// Seconds.
    pub(super) interval_length: Option<i64>,
    pub(super) power_of_ten: Option<i64>,
    pub(super) uom: Option<i64>,
}

/// What a block of readings belongs to: indices into the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Chain {
    pub(super) usage_point: Option<usize>,
    pub(super) meter_reading: Option<usize>,
    pub(super) reading_type: Option<usize>,
}

/// Everything but the readings.
#[derive(Debug, Default)]
pub(super) struct Feed {
    pub(super) usage_points: Vec<UsagePoint>,
    pub(super) meter_readings: Vec<MeterReading>,
    pub(super) reading_types: Vec<ReadingType>,
    usage_point_by_link: HashMap<String, usize>,
    usage_point_by_related: HashMap<String, usize>,
    meter_reading_by_link: HashMap<String, usize>,
    meter_reading_by_related: HashMap<String, usize>,
    reading_type_by_link: HashMap<String, usize>,
    n_link_bytes: usize,
}

impl Feed {
    /// Adds a usage point; one that is there already is not added again.
    ///
    /// # Errors
    /// [`UsageCode::TooLarge`].
    pub(super) fn add_usage_point(&mut self, links: &Links, service: Option<i64>) -> Result<(), UsageError> {
        if self.usage_point_by_link.contains_key(&links.own) {
            return Ok(());
        }
        self.count(links)?;
        let idx = self.usage_points.len();
        self.usage_points.push(UsagePoint { link: links.own.clone(), service });
        insert(&mut self.usage_point_by_link, &links.own, idx);
        for link in &links.related {
            insert(&mut self.usage_point_by_related, link, idx);
        }
        Ok(())
    }

    /// Adds a meter reading; one that is there already is not added again.
    ///
    /// # Errors
    /// [`UsageCode::TooLarge`].
    pub(super) fn add_meter_reading(&mut self, links: &Links) -> Result<(), UsageError> {
        if self.meter_reading_by_link.contains_key(&links.own) {
            return Ok(());
        }
        // A block of which this is the beginning is found without being listed.
        let mut links = links.clone();
        let own = links.own.clone();
        links
            .related
            .retain(|link| own.is_empty() || !link.strip_prefix(&own).is_some_and(|rest| rest.starts_with('/')));
        self.count(&links)?;
        let idx = self.meter_readings.len();
        insert(&mut self.meter_reading_by_link, &links.own, idx);
        for link in &links.related {
            insert(&mut self.meter_reading_by_related, link, idx);
        }
        self.meter_readings.push(MeterReading { links });
        Ok(())
    }

    /// Adds a reading type.
    ///
    /// # Errors
    /// [`UsageCode::TooLarge`]; [`UsageCode::BadXml`] when another one has the same link.
    pub(super) fn add_reading_type(&mut self, links: &Links, reading_type: ReadingType) -> Result<(), UsageError> {
        if let Some(idx) = self.reading_type_by_link.get(&links.own) {
            if self.reading_types[*idx] == reading_type {
                return Ok(());
            }
            let message = format!("two different ReadingTypes have the link {:?}", links.own);
            return Err(bad_xml(message));
        }
        self.count(links)?;
        insert(&mut self.reading_type_by_link, &links.own, self.reading_types.len());
        self.reading_types.push(reading_type);
        Ok(())
    }

    fn count(&mut self, links: &Links) -> Result<(), UsageError> {
        self.n_link_bytes += links.n_bytes() + 64;
        if self.n_link_bytes > MAX_LINK_BYTES {
            return Err(UsageError::new(UsageCode::TooLarge, "the feed has too many entries; split it"));
        }
        Ok(())
    }

    /// What a block of readings belongs to, as far as links lead; `None` where a link is missing, or what it leads to
    /// has not come yet.
    pub(super) fn chain(&self, block: &Links) -> Option<Chain> {
        let meter_reading = self.meter_reading_of(block)?;
        let reading_type = self.reading_type_of(meter_reading)?;
        let usage_point = self.usage_point_of(meter_reading)?;
        Some(Chain {
            usage_point: Some(usage_point),
            meter_reading: Some(meter_reading),
            reading_type: Some(reading_type),
        })
    }

    /// The same once the whole feed is known: where no link leads further, the only one there is.
    pub(super) fn chain_of_whole_feed(&self, block: &Links) -> Chain {
        let only = |n: usize| (n == 1).then_some(0);
        let meter_reading = self.meter_reading_of(block).or_else(|| only(self.meter_readings.len()));
        let leads_nowhere =
            |idx: usize| self.meter_readings[idx].links.related.iter().any(|l| l.contains("ReadingType/"));
        let reading_type = match meter_reading {
            Some(idx) => {
                self.reading_type_of(idx).or_else(|| only(self.reading_types.len()).filter(|_| !leads_nowhere(idx)))
            }
            None => only(self.reading_types.len()),
        };
        let usage_point =
            meter_reading.and_then(|idx| self.usage_point_of(idx)).or_else(|| only(self.usage_points.len()));
        Chain { usage_point, meter_reading, reading_type }
    }

    fn meter_reading_of(&self, block: &Links) -> Option<usize> {
        let within = || self.meter_reading_by_link.get(block.before("/IntervalBlock")?);
        let related = |link: &String| self.meter_reading_by_related.get(link);
        related(&block.own).or_else(|| related(&block.up)).or_else(within).copied()
    }

    fn reading_type_of(&self, meter_reading: usize) -> Option<usize> {
        let links = &self.meter_readings[meter_reading].links;
        links.related.iter().find_map(|link| self.reading_type_by_link.get(link)).copied()
    }

    fn usage_point_of(&self, meter_reading: usize) -> Option<usize> {
        let links = &self.meter_readings[meter_reading].links;
        let within = || self.usage_point_by_link.get(links.before("/MeterReading")?);
        let related = |link: &String| self.usage_point_by_related.get(link);
        related(&links.own).or_else(|| related(&links.up)).or_else(within).copied()
    }
}

fn insert(map: &mut HashMap<String, usize>, link: &str, idx: usize) {
    if !link.is_empty() {
        map.entry(link.to_owned()).or_insert(idx);
    }
}

/// What a resource is called within its collection: the last part of its link.
pub(super) fn last_part(link: &str) -> Option<&str> {
    link.rsplit('/').next().filter(|part| !part.is_empty())
}
