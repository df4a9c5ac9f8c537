//! Files of Japanese suppliers and network operators. One time zone without summer time: it is taken where none is given.

mod half_hour_columns;
mod kansai_electric;
mod tokyo_electric;

pub(super) use half_hour_columns::HalfHourColumns;
pub(super) use kansai_electric::KansaiElectric;
pub(super) use tokyo_electric::TokyoElectric;

use super::super::ReadOptions;

/// The caller's options, in Japan where they name no time zone.
fn in_japan(options: &ReadOptions) -> ReadOptions {
    ReadOptions { time_zone: options.time_zone.or(Some(chrono_tz::Asia::Tokyo)), ..options.clone() }
}
