//! The elements of a feed that are looked into, by where they lie and what they are called.

use super::xml::Vocabulary;

/// An element that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// The feed and what may lie around resources.
    Around,
    Entry,
    /// A link of an entry.
    Link,
    Resource(Resource),
    /// A part of a resource that has parts of its own.
    Part(Part),
    Value(Value),
    /// Not looked into.
    Passed,
}

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    UsagePoint,
    MeterReading,
    ReadingType,
    IntervalBlock,
    LocalTimeParameters,
}

/// What lies within a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    ServiceCategory,
    BlockInterval,
    IntervalReading,
    TimePeriod,
    ReadingQuality,
}

/// An element whose text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the element is called value")]
pub(super) enum Value {
    ServiceKind,
    Accumulation,
    Commodity,
    DataQualifier,
    DefaultQuality,
    FlowDirection,
    IntervalLength,
    PowerOfTen,
    Uom,
    BlockStart,
    Start,
    Duration,
    Value,
    Quality,
    ZoneOffset,
    SummerOffset,
    SummerRule,
}

impl Value {
    /// The element's name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ServiceKind => "ServiceCategory/kind",
            Self::Accumulation => "accumulationBehaviour",
            Self::Commodity => "commodity",
            Self::DataQualifier => "dataQualifier",
            Self::DefaultQuality => "defaultQuality",
            Self::FlowDirection => "flowDirection",
            Self::IntervalLength => "intervalLength",
            Self::PowerOfTen => "powerOfTenMultiplier",
            Self::Uom => "uom",
            Self::BlockStart => "interval/start",
            Self::Start => "timePeriod/start",
            Self::Duration => "timePeriod/duration",
            Self::Value => "value",
            Self::Quality => "ReadingQuality/quality",
            Self::ZoneOffset => "tzOffset",
            Self::SummerOffset => "dstOffset",
            Self::SummerRule => "dstStartRule",
        }
    }
}

impl Node {
    /// The kind of an element that lies in this one.
    pub(super) fn child(self, vocabulary: Vocabulary, name: &str) -> Self {
        match (self, vocabulary) {
            (_, Vocabulary::Other) => Self::Passed,
            (Self::Entry, Vocabulary::Atom) if name == "link" => Self::Link,
            (Self::Around | Self::Entry, Vocabulary::Atom) => match name {
                "entry" => Self::Entry,
                "content" | "feed" => Self::Around,
                _ => Self::Passed,
            },
            (Self::Around | Self::Entry, Vocabulary::Espi) => match name {
                "UsagePoint" => Self::Resource(Resource::UsagePoint),
                "MeterReading" => Self::Resource(Resource::MeterReading),
                "ReadingType" => Self::Resource(Resource::ReadingType),
                "IntervalBlock" => Self::Resource(Resource::IntervalBlock),
                "LocalTimeParameters" => Self::Resource(Resource::LocalTimeParameters),
                // Billed totals.
                "UsageSummary" | "ElectricPowerUsageSummary" | "ElectricPowerQualitySummary" => Self::Passed,
                _ => Self::Around,
            },
            (Self::Resource(resource), Vocabulary::Espi) => part_of_resource(resource, name),
            (Self::Part(part), Vocabulary::Espi) => part_of_part(part, name),
            (Self::Link | Self::Value(_) | Self::Passed, _) | (Self::Resource(_) | Self::Part(_), Vocabulary::Atom) => {
                Self::Passed
            }
        }
    }
}

fn part_of_resource(resource: Resource, name: &str) -> Node {
    match (resource, name) {
        (Resource::UsagePoint, "ServiceCategory") => Node::Part(Part::ServiceCategory),
        (Resource::ReadingType, "accumulationBehaviour") => Node::Value(Value::Accumulation),
        (Resource::ReadingType, "commodity") => Node::Value(Value::Commodity),
        (Resource::ReadingType, "dataQualifier") => Node::Value(Value::DataQualifier),
        (Resource::ReadingType, "defaultQuality") => Node::Value(Value::DefaultQuality),
        (Resource::ReadingType, "flowDirection") => Node::Value(Value::FlowDirection),
        (Resource::ReadingType, "intervalLength") => Node::Value(Value::IntervalLength),
        (Resource::ReadingType, "powerOfTenMultiplier") => Node::Value(Value::PowerOfTen),
        (Resource::ReadingType, "uom") => Node::Value(Value::Uom),
        (Resource::IntervalBlock, "interval") => Node::Part(Part::BlockInterval),
        (Resource::IntervalBlock, "IntervalReading") => Node::Part(Part::IntervalReading),
        (Resource::LocalTimeParameters, "tzOffset") => Node::Value(Value::ZoneOffset),
        (Resource::LocalTimeParameters, "dstOffset") => Node::Value(Value::SummerOffset),
        (Resource::LocalTimeParameters, "dstStartRule") => Node::Value(Value::SummerRule),
        _ => Node::Passed,
    }
}

fn part_of_part(part: Part, name: &str) -> Node {
    match (part, name) {
        (Part::ServiceCategory, "kind") => Node::Value(Value::ServiceKind),
        (Part::BlockInterval, "start") => Node::Value(Value::BlockStart),
        (Part::IntervalReading, "timePeriod") => Node::Part(Part::TimePeriod),
        (Part::IntervalReading, "value") => Node::Value(Value::Value),
        (Part::IntervalReading, "ReadingQuality") => Node::Part(Part::ReadingQuality),
        (Part::TimePeriod, "start") => Node::Value(Value::Start),
        (Part::TimePeriod, "duration") => Node::Value(Value::Duration),
        (Part::ReadingQuality, "quality") => Node::Value(Value::Quality),
        _ => Node::Passed,
    }
}
