//! Units of energy and power as files write them.

use std::str::FromStr;

use super::file::Quantity;

/// A unit whose values become energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Wh
    WattHour,
    /// kWh
    KilowattHour,
    /// `MWh`
    MegawattHour,
    /// W: mean power of the interval
    Watt,
    /// kW: mean power of the interval
    Kilowatt,
    /// MW: mean power of the interval
    Megawatt,
}

impl Unit {
    /// How it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WattHour => "Wh",
            Self::KilowattHour => "kWh",
            Self::MegawattHour => "MWh",
            Self::Watt => "W",
            Self::Kilowatt => "kW",
            Self::Megawatt => "MW",
        }
    }

    /// Power of ten of the unit in kWh or kW.
    pub(super) fn power_of_ten(self) -> i8 {
        match self {
            Self::WattHour | Self::Watt => -3,
            Self::KilowattHour | Self::Kilowatt => 0,
            Self::MegawattHour | Self::Megawatt => 3,
        }
    }

    /// Energy, or mean power.
    pub(super) fn quantity(self) -> Quantity {
        match self {
            Self::WattHour | Self::KilowattHour | Self::MegawattHour => Quantity::Energy,
            Self::Watt | Self::Kilowatt | Self::Megawatt => Quantity::MeanPower,
        }
    }
}

/// A text that is none of the units that become energy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no unit of energy or mean power; write kWh, Wh, MWh, kW, W or MW")]
pub struct UnitError(String);

impl FromStr for Unit {
    type Err = UnitError;

    /// In any case: NEM12 files have `KWH`, `kwh` and `kWh`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "wh" => Ok(Self::WattHour),
            "kwh" => Ok(Self::KilowattHour),
            "mwh" => Ok(Self::MegawattHour),
            "w" => Ok(Self::Watt),
            "kw" => Ok(Self::Kilowatt),
            "mw" => Ok(Self::Megawatt),
            _ => Err(UnitError(text.to_owned())),
        }
    }
}
