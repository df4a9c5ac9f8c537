//! What the caller knows about a file of readings and the file may not say.

use chrono_tz::Tz;
use itertools::Itertools as _;

use crate::usage::{ChannelChoice, DateOrder, ReadOptions, StampSide, Unit};

/// Flags of every command that reads a file of readings.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ReadFlags {
    /// The format, instead of finding it by content: csv, green_button, nem12, …
    #[arg(long = "as", id = "as", value_name = "FORMAT")]
    format: Option<String>,
    /// Unit of the values where the file names none: kWh, Wh, MWh, or kW, W, MW of mean power
    #[arg(long, value_name = "UNIT")]
    unit: Option<Unit>,
    /// Whether the file's times are the start or the end of intervals
    #[arg(long, value_name = "SIDE")]
    stamp: Option<StampSide>,
    /// What 03/04/2026 is: dmy (3 April), mdy (4 March) or ymd
    #[arg(long, value_name = "ORDER")]
    date_order: Option<DateOrder>,
    /// Which series of the file feeds which channel, as in import=E1; several for one channel are added up
    #[arg(long = "channel", value_name = "CHANNEL=SERIES")]
    channels: Vec<ChannelChoice>,
}

impl ReadFlags {
    /// For the readers.
    pub(super) fn options(&self, time_zone: Option<Tz>) -> ReadOptions {
        let Self { format, unit, stamp, date_order, channels } = self.clone();
        ReadOptions { time_zone, format, unit, stamp, date_order, channels }
    }

    /// For a query of the API.
    pub(super) fn parameters(&self) -> Vec<(&'static str, Option<String>)> {
        let channels = self.channels.iter().map(ToString::to_string).join(",");
        vec![
            ("as", self.format.clone()),
            ("unit", self.unit.map(|unit| unit.as_str().to_owned())),
            ("stamp", self.stamp.map(|side| side.as_str().to_owned())),
            ("date_order", self.date_order.map(|order| order.as_str().to_owned())),
            ("channel", Some(channels).filter(|channels| !channels.is_empty())),
        ]
    }
}
