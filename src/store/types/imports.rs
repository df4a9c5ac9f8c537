//! Imports of readings: what is asked for, what came of it, and the record that stays.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::usage::{ChangeSum, Channel, OnConflict, Reading, ReadingChange, Readings};
use crate::words::{ComparisonId, CustomerId, ImportId, Timestamp};

/// Readings to be merged, each channel sorted by start and free of overlap, with a note on where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageImport {
    /// Made by this call.
    pub id: ImportId,
    /// By channel; may hold [`crate::usage::Quality::Missing`].
    pub readings: BTreeMap<Channel, Readings>,
    /// Rule for readings that differ.
    pub on_conflict: OnConflict,
    /// Declare gaps as zero, after the merge.
    pub fill: Option<FillZero>,
    /// Where the readings come from.
    pub source: ImportSource,
}

/// Which gaps are declared to be zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FillZero {
    /// Between the first and the last reading that the file has of a channel.
    WithinFile,
    /// Within `[start, end)`, seconds since the epoch.
    Within(Range<i64>),
}

/// What is known of the file that readings come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSource {
    /// Name of the file, if there was one.
    pub file_name: Option<String>,
    /// SHA-256 of what was sent.
    pub sha256: [u8; 32],
    /// The reader that understood it: `csv`, `json`.
    pub format: String,
    /// Size of what was sent, bytes.
    pub n_bytes: u64,
    /// Rows of the file, repeats and blank ones included.
    pub rows: u64,
    /// Rows that said the same as another one.
    pub exact_repeats: u64,
    /// Cells left blank.
    pub blank: u64,
    /// What was chosen, JSON: which series feeds which channel.
    pub choices: serde_json::Value,
    /// What a reader of the numbers should know, JSON.
    pub warnings: serde_json::Value,
}

/// What an import counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportCounts {
    /// Rows of the file.
    pub rows: u64,
    /// Rows that said the same as another one.
    pub exact_repeats: u64,
    /// Cells left blank.
    pub blank: u64,
    /// Readings where none was.
    pub added: u64,
    /// Readings that replaced another one.
    pub replaced: u64,
    /// Readings that are gone: taken back by a revert, or declared zeros in the place of which one of another length stands.
    pub removed: u64,
    /// Of those added or replaced, gaps declared to be zero.
    pub filled: u64,
    /// Readings that differ and did not replace the stored one.
    pub kept: u64,
    /// Readings that were there already.
    pub unchanged: u64,
    /// Of a revert: readings that a later import changed again, which stay.
    pub newer: u64,
}

impl ImportCounts {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            exact_repeats: self.exact_repeats + other.exact_repeats,
            blank: self.blank + other.blank,
            added: self.added + other.added,
            replaced: self.replaced + other.replaced,
            removed: self.removed + other.removed,
            filled: self.filled + other.filled,
            kept: self.kept + other.kept,
            unchanged: self.unchanged + other.unchanged,
            newer: self.newer + other.newer,
        }
    }
}

/// What kind of import a record tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    /// Readings of one customer.
    Usage,
    /// A file of many meter points; its parts are imports of one customer each.
    MeterPoints,
    /// The undoing of an import of one customer.
    Revert,
}

impl ImportKind {
    /// The word in databases and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::MeterPoints => "meter_points",
            Self::Revert => "revert",
        }
    }
}

/// What has become of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// All of it was done.
    Done,
    /// A file of many meter points of which some customers are left: it is being worked on, or was stopped.
    Incomplete,
    /// It was done and has been reverted.
    Reverted,
}

impl ImportState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Done, Self::Incomplete, Self::Reverted];

    /// The word in databases and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::Reverted => "reverted",
        }
    }
}

/// The record of an import, as it is kept: also of one that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportRow {
    /// Its id; a later one is greater.
    pub id: ImportId,
    /// What it is.
    pub kind: ImportKind,
    /// What has become of it.
    pub state: ImportState,
    /// Whose readings; `None` for a file of many meter points.
    pub customer_id: Option<CustomerId>,
    /// The import of many meter points that this one is a part of.
    pub part_of: Option<ImportId>,
    /// Of a revert, what it takes back.
    pub reverts: Option<ImportId>,
    /// The revert that took it back.
    pub reverted_by: Option<ImportId>,
    /// The latest earlier import of the same bytes for the same customer.
    pub same_file_as: Option<ImportId>,
    /// Name of the file, if there was one.
    pub file_name: Option<String>,
    /// SHA-256 of the file, hex; of a revert, that of the file it takes back.
    pub sha256: String,
    /// The reader that understood it; `revert` for a revert.
    pub format: String,
    /// Size of the file, bytes; 0 for a revert.
    #[serde(rename = "size_bytes")]
    pub n_bytes: u64,
    /// The rule for readings that differ: `replace_unless_worse`, `replace`, `keep`, `refuse`; `None` for a revert.
    pub on_conflict: Option<String>,
    /// What it counted.
    pub counts: ImportCounts,
    /// What was chosen.
    pub choices: serde_json::Value,
    /// What a reader of the numbers should know.
    pub warnings: serde_json::Value,
    /// Usage revision before; `None` for a file of many meter points.
    pub revision_before: Option<i64>,
    /// Usage revision after: the same if nothing changed.
    pub revision_after: Option<i64>,
    /// When.
    pub created_at: Timestamp,
}

/// What an import or a revert did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The record that stays.
    pub record: ImportRow,
    /// Comparisons that became stale by this.
    pub stale: Vec<ComparisonId>,
}

/// What an import or a revert would do, made by the same steps in the same transaction and not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPreview {
    /// The record that would stay.
    pub record: ImportRow,
    /// The channels that would change: readings before and after, whole for every local day that changes.
    pub channels: BTreeMap<Channel, (Vec<Reading>, Vec<Reading>)>,
    /// Comparisons that would become stale.
    pub stale: Vec<ComparisonId>,
}

/// The answer of [`crate::store::ImportStore::revert_import`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// This call took it back.
    Done(ImportOutcome),
    /// It was taken back before: the record of that.
    Already(ImportRow),
}

/// Which imports a list shows; every part given must match. Without a customer and a whole, parts are not shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportFilter {
    /// Of one customer, parts included.
    pub customer_id: Option<CustomerId>,
    /// The parts of one import of many meter points.
    pub part_of: Option<ImportId>,
    /// Of these bytes.
    pub sha256: Option<[u8; 32]>,
    /// In this state.
    pub state: Option<ImportState>,
}

/// What a usage revision changed in one channel, as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionChannel {
    /// The channel.
    pub channel: Channel,
    /// What changed.
    #[serde(flatten)]
    pub sum: ChangeSum,
}

/// The readings that a usage revision changed, by channel.
pub type RevisionChanges = BTreeMap<Channel, Vec<ReadingChange>>;

/// Which customers list meter points, and as which channels, by meter point.
pub type MeterPointCustomers = BTreeMap<String, Vec<(CustomerId, Channel)>>;

/// What became of one meter point of a file of many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeterPointRow {
    /// Its place in the file, from 0.
    pub place: u32,
    /// The meter point: the meter as the file names it, or one of its series (`6001234567/E2`) where a customer lists
    /// that. `None` for the series without a meter.
    pub meter_point_id: Option<String>,
    /// Readings that its customer's import was given; 0 before.
    pub n_readings: u64,
    /// What became of it.
    pub state: MeterPointState,
    /// The customer that lists the meter point.
    pub customer_id: Option<CustomerId>,
    /// The import of that customer's commit.
    pub part_id: Option<ImportId>,
    /// Why it is unmapped or refused.
    pub code: Option<String>,
    /// The same for people.
    pub detail: Option<String>,
}

/// What became of a meter point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterPointState {
    /// Not yet stored.
    Pending,
    /// Stored, with all of its customer.
    Done,
    /// No customer lists it.
    Unmapped,
    /// Several customers list it, or the readings cannot be stored.
    Refused,
}

impl MeterPointState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Done, Self::Unmapped, Self::Refused];

    /// The word in databases and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Unmapped => "unmapped",
            Self::Refused => "refused",
        }
    }
}

/// A file of many meter points, before its readings are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterPointsImport {
    /// Made by this call; of a file that is gone on with the record of the first call counts.
    pub id: ImportId,
    /// Rule for readings that differ.
    pub on_conflict: OnConflict,
    /// Where the readings come from.
    pub source: ImportSource,
    /// By which the same file, read in the same way, finds a record that is not finished.
    pub resume_key: [u8; 32],
    /// The meter points of the file: the meter, or what the file calls one of its series where a customer lists that.
    pub meter_points: Vec<MeterPointRow>,
}

/// One customer's share of a file of many meter points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerShare {
    /// The import of many meter points.
    pub import_id: ImportId,
    /// The customer.
    pub customer_id: CustomerId,
    /// Places of its meter points, with the channels that each feeds and the number of readings.
    pub meter_points: Vec<ShareMeterPoint>,
    /// Its readings.
    pub import: UsageImport,
}

/// A meter point of a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareMeterPoint {
    /// Its place in the file.
    pub place: u32,
    /// The meter point.
    pub id: String,
    /// The channels that it feeds.
    pub channels: Vec<Channel>,
    /// Readings of it in the share.
    pub n_readings: u64,
}

/// The answer of [`crate::store::ImportStore::import_share`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "made once a call")]
pub enum ShareOutcome {
    /// This call stored it.
    Done(ImportOutcome),
    /// None of its meter points is pending: another call settled them.
    Already,
    /// Customers list its meter points differently by now.
    Moved,
    /// The import of many meter points was reverted: nothing more is stored.
    Reverted,
}

/// How many meter points of a file there are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MeterPointCounts {
    /// Not yet stored.
    pub pending: u64,
    /// Stored.
    pub done: u64,
    /// No customer lists them.
    pub unmapped: u64,
    /// Listed by several customers, or not storable.
    pub refused: u64,
}

/// A record with what is known of its meter points by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProgress {
    /// The record; its counts are those of the parts stored by now.
    pub record: ImportRow,
    /// `None` unless it is a file of many meter points.
    pub meter_points: Option<MeterPointCounts>,
    /// Customers whose readings are stored by now; `None` likewise.
    pub n_customers: Option<u64>,
}

/// Why a meter point is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterPointRefusal {
    /// Its place in the file.
    pub place: u32,
    /// [`MeterPointState::Unmapped`] or [`MeterPointState::Refused`].
    pub state: MeterPointState,
    /// The customer, if there is one.
    pub customer_id: Option<CustomerId>,
    /// Stable.
    pub code: String,
    /// For people.
    pub detail: String,
}
