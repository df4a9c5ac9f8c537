//! One file a format. A reader turns rows, elements or members into values of series, and nothing else: what a conflict,
//! a gap or a length is, the room above decides for all of them.

mod ameren;
mod bill_history;
mod columns;
mod datadis;
mod dutch_registers;
mod e_distribuzione;
mod enedis;
mod esb;
mod fluvius;
mod generic;
mod green_button;
mod heading;
mod home_assistant;
mod japan;
mod json_walk;
mod nem12;
mod octopus_csv;
mod octopus_japan_json;
mod octopus_json;
mod opower;
mod own_csv;
mod own_json;
#[cfg(feature = "parquet")]
mod parquet;
mod recent;
mod sdge;
mod time_periods;

use super::UsageReader;

/// In the order in which they are asked: what is known by its first bytes or its header before what is only likely.
pub(super) const READERS: &[&dyn UsageReader] = &[
    // By their first bytes.
    #[cfg(feature = "parquet")]
    &parquet::Parquet,
    &green_button::GreenButton,
    &nem12::Nem12,
    &octopus_json::OctopusJson,
    &octopus_japan_json::OctopusJapanJson,
    &own_json::OwnJson,
    // By their header.
    &home_assistant::HomeAssistant,
    &octopus_csv::OctopusCsv,
    &own_csv::OwnCsv,
    &bill_history::BillHistory,
    &opower::Opower,
    &sdge::Sdge,
    &ameren::Ameren,
    &time_periods::Sce,
    &time_periods::Cooperative,
    &esb::Esb,
    &fluvius::Fluvius,
    &e_distribuzione::EDistribuzione,
    &datadis::Datadis,
    &enedis::Enedis,
    &dutch_registers::DutchRegisters,
    &japan::TokyoElectric,
    &japan::KansaiElectric,
    &japan::HalfHourColumns,
    // By the words of its headings alone.
    &generic::Generic,
];
