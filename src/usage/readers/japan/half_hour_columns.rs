//! Half hours as network operators give them to retailers: a row a day and supply point, 48 columns, and a mark that says
//! whether the day is confirmed.
//!
//! ```text
//! 供給地点特定番号,年月日,確定区分,00:00-00:30,…,23:30-24:00
//! 0000000000000000000000,20260401,速報,0.1,…
//! ```
//!
//! A confirmed (`確定`) day replaces the provisional (`速報`) one, whose values count as estimated. Values are kWh unless
//! the caller says otherwise.

use super::super::super::unit::Unit;
use super::super::super::{ReadOptions, Source, UsageError, UsageFile, UsageReader};
use super::super::columns::Role;
use super::super::generic::{Label, Layout, read_table};
use super::in_japan;

/// Half hours of a day.
const N_HALF_HOURS: usize = 48;

/// The reader of rows of 48 half hours.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct HalfHourColumns;

impl UsageReader for HalfHourColumns {
    fn format(&self) -> &'static str {
        "half_hour_columns"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let Some(layout) = Layout::find(source.head()) else { return false };
        let has = |wanted: Role| layout.roles.contains(&Some(wanted));
        layout.intervals.len() == N_HALF_HOURS
            && layout.intervals.iter().all(|interval| matches!(interval.label, Label::Range(..)))
            && has(Role::Meter)
            && layout.headings.iter().any(|heading| heading.contains("供給地点"))
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let unit = options.unit.or(Some(Unit::KilowattHour));
        read_table(self.format(), source, &ReadOptions { unit, ..in_japan(options) })
    }
}
