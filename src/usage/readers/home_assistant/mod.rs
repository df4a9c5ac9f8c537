//! What Home Assistant lets its users download.
//!
//! | file | reader |
//! | --- | --- |
//! | energy dashboard: `entity_id,type,unit,<times…>`, a row a sensor | `dashboard.rs` |
//! | history: `entity_id,state,last_changed`, standings at odd times | `history.rs` |
//! | statistics: `start,…,sum`, standings at the ends of hours | `statistics.rs` |
//!
//! Import is what all `grid_consumption` sensors counted together, export what all `grid_return` sensors did. Devices, roofs
//! and batteries are kept apart. Units are those of the sensors; where a file names none, `--unit` does.

mod dashboard;
mod history;
mod statistics;

use super::super::table::Table;
use super::super::unit::Unit;
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::plain_names;

/// The name of the format.
const FORMAT: &str = "home_assistant";

/// The reader of Home Assistant's downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct HomeAssistant;

impl UsageReader for HomeAssistant {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        shape(source).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let is_heading = |names: &[String]| shape_of(names).is_some();
        match shape(source) {
            Some(Shape::Dashboard) => dashboard::read(source, options),
            Some(Shape::History) => history::read(source, options, is_heading),
            Some(Shape::Statistics) => statistics::read(source, options, is_heading),
            None if source.head().trim_ascii().is_empty() => {
                Err(UsageError::new(UsageCode::NoReadings, "the file is empty"))
            }
            None => {
                let message = "the header is none of Home Assistant's: entity_id,type,unit,… or entity_id,state,last_changed \
                               or start,state,sum";
                Err(UsageError::new(UsageCode::BadHeader, message).at_line(1))
            }
        }
    }
}

/// The shapes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Dashboard,
    History,
    Statistics,
}

/// The shape that the first row tells.
fn shape(source: &Source<'_>) -> Option<Shape> {
    let mut table = Table::new(Box::new(source.head()), b',');
    shape_of(&plain_names(table.next_row().ok()??))
}

fn shape_of(names: &[String]) -> Option<Shape> {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    match names {
        [entity, kind, unit, ..] if entity == "entity_id" && kind == "type" && unit == "unit" => Some(Shape::Dashboard),
        _ if has("entity_id") && has("state") && (has("last_changed") || has("last_updated")) => Some(Shape::History),
        _ if has("start") && has("sum") => Some(Shape::Statistics),
        _ => None,
    }
}

/// The unit of standings: of the row, or said by the caller.
///
/// # Errors
/// [`UsageCode::UnitNeeded`], [`UsageCode::BadUnit`]: power at odd times is no energy.
fn unit_of_standings(options: &ReadOptions, said: &str) -> Result<Unit, UsageError> {
    let unit = match options.unit {
        Some(unit) => unit,
        None if said.is_empty() => {
            let message =
                "the file does not say in which unit its sensors count: give --unit kWh or Wh (unit in the API)";
            return Err(UsageError::new(UsageCode::UnitNeeded, message));
        }
        None => {
            said.parse().map_err(|e: super::super::UnitError| UsageError::new(UsageCode::BadUnit, e.to_string()))?
        }
    };
    if unit.quantity() == super::super::Quantity::MeanPower {
        let message = format!("{} at odd moments is no energy: take a sensor that counts energy", unit.as_str());
        return Err(UsageError::new(UsageCode::BadUnit, message));
    }
    Ok(unit)
}

/// Whether a state is none: the sensor was not there.
fn is_unknown(state: &str) -> bool {
    matches!(state, "" | "unknown" | "unavailable" | "None" | "null")
}
