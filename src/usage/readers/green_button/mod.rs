//! Green Button: the XML feeds of the Energy Services Provider Interface (ESPI, NAESB REQ.21), in which North
//! American utilities and others hand out readings.
//!
//! A feed has entries that links hold together: a `UsagePoint` (a meter point; electricity, gas, water) has each
//! `MeterReading` (stream) below it, which has a `ReadingType` (unit, direction) and an `IntervalBlock` of readings or
//! more. The order says nothing. Where a link is missing, the only resource of its kind is meant.
//!
//! | element | holds |
//! | --- | --- |
//! | `timePeriod/start`, `duration` | seconds since the epoch; the reading's own length, not `intervalLength` |
//! | `value` | an integer in units of 10^`powerOfTenMultiplier` of `uom` |
//! | `uom` | 72 Wh is energy, 38 W is mean power; all others are shown and never billed |
//! | `flowDirection` | 1 import, 19 export, 4 net, 20 total |
//! | `accumulationBehaviour` | 4 (or none) energy of the interval; 1, 2, 3 standings of a register |
//! | `ReadingQuality/quality` | of the reading, or `defaultQuality` of its type |
//! | `LocalTimeParameters` | held against the zone that the caller named |
//!
//! Costs, titles and billed totals are no input. Readings longer than a day (billing months) are left out and said.
//! The meter is the last part of the link of its `UsagePoint`. `--unit` overrides unit and multiplier;
//! `--stamp start` says that the standing of a register is of the start of its period, `--stamp end` that starts of
//! intervals are their ends.
//!
//! Feeds in the usual order are read in one pass; where a block comes before what its links lead to, in two.

mod feed;
mod meaning;
mod nodes;
mod streams;
mod visit;
mod xml;

use super::super::{ReadOptions, Source, UsageError, UsageFile, UsageReader};
use visit::Pass;

/// The reader of Green Button XML.
#[derive(Debug, Clone, Copy)]
pub(super) struct GreenButton;

impl UsageReader for GreenButton {
    fn format(&self) -> &'static str {
        "green_button"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let head = source.head().trim_ascii_start();
        let namespace = b"http://naesb.org/espi";
        head.first() == Some(&b'<') && head.windows(namespace.len()).any(|window| window == namespace)
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut pass = Pass::first(options);
        xml::walk(source.open()?, &mut pass)?;
        if pass.wants_second() {
            pass = pass.second();
            xml::walk(source.open()?, &mut pass)?;
        }
        pass.finish()?.finish(self.format())
    }
}
