//! What the numbers of a reading type mean: unit, direction, quality, and whether they are energy of intervals.

use super::super::super::file::{Direction, Quantity};
use super::super::super::number::NumberFormat;
use super::super::super::{Quality, ReadOptions, UsageCode, UsageError};
use super::feed::ReadingType;

/// How the values of a stream are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) quantity: Quantity,
    pub(super) direction: Direction,
    /// The unit, with the prefix that its power of ten has.
    pub(super) unit: String,
    pub(super) format: NumberFormat,
    /// Whether it is electricity at all.
    pub(super) is_electric: bool,
    /// Of readings that do not say theirs.
    pub(super) default_quality: Quality,
    /// Nothing says whether the values are energy of intervals or standings.
    pub(super) accumulation_assumed: bool,
}

impl Meaning {
    /// The meaning of the values of a reading type.
    ///
    /// * `service`: `ServiceCategory/kind` of the usage point, if it is known.
    ///
    /// # Errors
    /// [`UsageCode::UnitNeeded`] when nothing names a unit, [`UsageCode::BadNumber`] and [`UsageCode::BadQuality`] for
    /// members that no reading type has; without a line.
    pub(super) fn new(
        reading_type: &ReadingType,
        service: Option<i64>,
        options: &ReadOptions,
    ) -> Result<Self, UsageError> {
        let power_of_ten = reading_type.power_of_ten.unwrap_or(0);
        let power_of_ten = i8::try_from(power_of_ten).ok().filter(|power| power.abs() <= 12).ok_or_else(|| {
            let message = format!("{power_of_ten} is no power of ten of a reading type; it is from -12 to 12");
            UsageError::new(UsageCode::BadNumber, message).in_field("powerOfTenMultiplier")
        })?;
        let is_electric = service.is_none_or(|kind| kind == 0)
            && reading_type.commodity.is_none_or(|commodity| (0..=2).contains(&commodity))
            && reading_type.uom.is_none_or(|uom| !matches!(uom, 42 | 119 | 132 | 169));
        let (quantity, unit, power_of_ten) = match (options.unit, reading_type.uom) {
            (Some(unit), None | Some(38 | 72)) if is_electric => {
                let quantity = match unit.quantity() {
                    Quantity::Energy => energy(reading_type),
                    other => other,
                };
                (quantity, unit.as_str().to_owned(), unit.power_of_ten())
            }
            (_, Some(uom)) => {
                let (unit, rest) = unit_name(uom, power_of_ten);
                match uom {
                    72 if is_electric => (energy(reading_type), unit, power_of_ten - 3),
                    38 if is_electric => (power(reading_type), unit, power_of_ten - 3),
                    _ => (Quantity::Other, unit, rest),
                }
            }
            (_, None) if !is_electric => (Quantity::Other, String::new(), power_of_ten),
            (_, None) => {
                let message = "no ReadingType with a uom can be found for the readings: say their unit with --unit \
                               (unit in the API)";
                return Err(UsageError::new(UsageCode::UnitNeeded, message).in_field("uom"));
            }
        };
        let is_register = matches!(quantity, Quantity::Register | Quantity::Other);
        Ok(Self {
            quantity,
            direction: match reading_type.flow_direction {
                Some(1) => Direction::Import,
                Some(19) => Direction::Export,
                Some(4) => Direction::Net,
                Some(20) => Direction::Total,
                _ => Direction::Other,
            },
            unit,
            format: NumberFormat { decimal_sign: b'.', power_of_ten, is_register },
            is_electric,
            default_quality: match reading_type.default_quality {
                Some(code) => quality(code).map_err(|e| e.in_field("defaultQuality"))?,
                None => Quality::Measured,
            },
            accumulation_assumed: quantity == Quantity::Energy
                && reading_type.accumulation.is_none_or(|accumulation| accumulation == 0),
        })
    }

    /// The stream's word beside the meter: none for plain energy, whose direction says all.
    pub(super) fn channel(&self, service: Option<i64>) -> Option<String> {
        let direction = self.direction_name();
        match self.quantity {
            Quantity::Energy => None,
            Quantity::Register => Some(format!("{direction} register")),
            Quantity::MeanPower => Some(format!("{direction} {}", self.unit)),
            Quantity::Other if self.is_electric => Some(format!("{direction} {}", self.unit)),
            Quantity::Other => Some(match service {
                Some(1) => "gas".to_owned(),
                Some(2) => "water".to_owned(),
                _ => format!("not electricity, {}", self.unit),
            }),
        }
    }

    /// The direction's word.
    pub(super) fn direction_name(&self) -> &'static str {
        match self.direction {
            Direction::Import => "import",
            Direction::Export => "export",
            Direction::Net => "net",
            Direction::Total => "total",
            Direction::Other => "other",
        }
    }
}

/// Energy of intervals, or the standings of a register.
fn energy(reading_type: &ReadingType) -> Quantity {
    match reading_type.accumulation {
        None | Some(0 | 4) => Quantity::Energy,
        // Bulk quantity, continuous cumulative, cumulative.
        Some(1..=3) => Quantity::Register,
        Some(_) => Quantity::Other,
    }
}

/// Mean power; the highest or lowest of an interval, and what was there at an instant, make no energy.
fn power(reading_type: &ReadingType) -> Quantity {
    let is_extreme = matches!(reading_type.data_qualifier, Some(8 | 9));
    if is_extreme || reading_type.accumulation == Some(12) { Quantity::Other } else { Quantity::MeanPower }
}

/// The name of a unit of measure (ESPI `uom`, which has the numbers of IEC 61968-9) with a prefix for the power of ten,
/// and the power that no prefix takes.
fn unit_name(uom: i64, power_of_ten: i8) -> (String, i8) {
    let name = match uom {
        0 => "",
        5 => "A",
        23 => "°C",
        29 => "V",
        31 => "J",
        33 => "Hz",
        38 => "W",
        42 => "m³",
        61 => "VA",
        63 => "var",
        65 => "cosθ",
        69 => "A²",
        67 => "V²",
        71 => "VAh",
        72 => "Wh",
        73 => "varh",
        105 => "A²h",
        106 => "Ah",
        119 => "ft³",
        132 => "Btu",
        169 => "therm",
        other => return (format!("uom {other}"), power_of_ten),
    };
    let prefix = match power_of_ten {
        0 => "",
        3 => "k",
        6 => "M",
        9 => "G",
        -3 => "m",
        _ => return (name.to_owned(), power_of_ten),
    };
    let takes_prefix = matches!(uom, 5 | 29 | 31 | 38 | 61 | 63 | 71 | 72 | 73 | 106);
    if takes_prefix { (format!("{prefix}{name}"), 0) } else { (name.to_owned(), power_of_ten) }
}

/// The quality behind an ESPI `QualityOfReading`. 8 and 9 are estimates, 12 a projection, 13 mixed with estimates, 15
/// normalised to other weather; 10, questionable, counts as an estimate. 7 was edited by hand.
///
/// # Errors
/// [`UsageCode::BadQuality`], without a place.
pub(super) fn quality(code: i64) -> Result<Quality, UsageError> {
    match code {
        0 | 11 | 14 | 16..=19 => Ok(Quality::Measured),
        7 => Ok(Quality::Substituted),
        8..=10 | 12 | 13 | 15 => Ok(Quality::Estimated),
        _ => {
            let message = format!("{code} is no quality of a reading; they are 0 and 7 to 19");
            Err(UsageError::new(UsageCode::BadQuality, message))
        }
    }
}
