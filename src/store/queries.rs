//! The statements. Text that is the same on both engines stands once, in macros (one file a subject) expanded for each
//! native connection; what differs (locks, batches) stands in `sqlite` and `postgres`, with the reason.
//!
//! `tenant_id` is bound in every `WHERE`, for every table: a partitioned database then looks at one partition.
//! Where a plain text id is compared with "", that is "from the first one": no id is empty.

mod comparisons;
mod imports;
mod postgres;
mod resources;
mod shared;
mod sqlite;
mod usage;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Text};

use super::rows::{
    BlockRecord, ComparisonPlanRecord, ComparisonRecord, ComparisonSharedRecord, CustomerRecord, CustomerVersionRecord,
    ImportRecord, MeterPointRecord, NewerPlanVersionRecord, NewerSharedRecord, PeriodRecord, PlanVersionRecord,
    ResultRecord, SharedEntryRecord, SharedInputRecord, UsageRevisionRecord,
};

/// Channel, month and revision of a block.
pub(super) type BlockRevisionRecord = (String, NaiveDate, i64);

/// A comparison, its two renderings, whether a newer plan version applies to its period, and whether a newer version of
/// a shared input differs within what it used.
pub(super) type FullComparison = (ComparisonRecord, Vec<u8>, Vec<u8>, bool, bool);

/// Conditions of a list of plans; texts are already escaped for `LIKE`.
#[derive(Debug, Clone, Default)]
pub(super) struct PlanConditions {
    pub(super) like: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) territory: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) in_force_on: Option<NaiveDate>,
}

/// Conditions of a list of comparisons.
#[derive(Debug, Clone, Default)]
pub(super) struct ComparisonConditions {
    pub(super) customer_id: Option<String>,
    pub(super) period: Option<(NaiveDate, NaiveDate)>,
    pub(super) plan: Option<(String, String)>,
    pub(super) current: Option<bool>,
    pub(super) stale: Option<bool>,
    pub(super) created_from: Option<i64>,
    pub(super) created_to: Option<i64>,
    pub(super) before: Option<(i64, Vec<u8>)>,
    pub(super) stood_at: Option<i64>,
}

/// Conditions of a list of imports.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportConditions {
    pub(super) customer_id: Option<String>,
    pub(super) part_of: Option<Vec<u8>>,
    pub(super) sha256: Option<Vec<u8>>,
    pub(super) state: Option<&'static str>,
    pub(super) before: Option<Vec<u8>>,
}

/// Conditions of a list of an import's meter points.
#[derive(Debug, Clone)]
pub(super) struct MeterPointConditions {
    /// One of these; all of them when empty.
    pub(super) states: Vec<&'static str>,
    /// The place before the first; -1 for all.
    pub(super) after: i32,
}

/// Every statement of the store, over one connection. See `units` for what they are put together to.
pub(super) trait Queries {
    /// Asks whether the table of applied migrations is there: `is_present`.
    const MIGRATION_TABLE: &'static str;

    // ---- customers
    fn customer(&mut self, tenant: &str, id: &str) -> QueryResult<Option<CustomerRecord>>;
    /// Reads the head and holds it until the transaction ends.
    fn lock_customer(&mut self, tenant: &str, id: &str) -> QueryResult<Option<CustomerRecord>>;
    fn customers_after(&mut self, tenant: &str, after: &str, limit: i64) -> QueryResult<Vec<CustomerRecord>>;
    /// 0 when somebody was faster.
    fn insert_customer(&mut self, record: &CustomerRecord) -> QueryResult<usize>;
    fn update_customer(&mut self, record: &CustomerRecord) -> QueryResult<usize>;
    fn insert_customer_version(&mut self, record: &CustomerVersionRecord<'_>) -> QueryResult<usize>;
    fn customer_versions_after(&mut self, tenant: &str, id: &str, after: i64) -> QueryResult<Vec<(i64, i64)>>;
    fn customer_version(&mut self, tenant: &str, id: &str, version: i64) -> QueryResult<Option<String>>;

    // ---- plans
    fn insert_plan(&mut self, tenant: &str, id: &str) -> QueryResult<usize>;
    /// Number of the newest version; the plan is held until the transaction ends.
    fn lock_plan(&mut self, tenant: &str, id: &str) -> QueryResult<i32>;
    fn update_plan(&mut self, tenant: &str, id: &str, newest: i32, search_text: &str) -> QueryResult<usize>;
    fn plan_version(&mut self, tenant: &str, id: &str, version: i32) -> QueryResult<Option<PlanVersionRecord>>;
    fn plan_versions(&mut self, tenant: &str, ids: &[&str]) -> QueryResult<Vec<PlanVersionRecord>>;
    fn insert_plan_version(&mut self, record: &PlanVersionRecord) -> QueryResult<usize>;
    fn set_plan_tags(&mut self, tenant: &str, id: &str, tags: &[&str]) -> QueryResult<()>;
    fn plans_after(
        &mut self,
        tenant: &str,
        conditions: &PlanConditions,
        after: &str,
        limit: i64,
    ) -> QueryResult<Vec<PlanVersionRecord>>;
    /// Versions above the given ones (plan id, version) that apply to a day of the period.
    fn plan_versions_above(
        &mut self,
        tenant: &str,
        seen: &[(&str, i32)],
        period: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<NewerPlanVersionRecord>>;
    /// The same for a stored comparison.
    fn newer_plan_versions(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<Vec<NewerPlanVersionRecord>>;

    // ---- billing periods
    fn insert_cycle(&mut self, tenant: &str, cycle: &str) -> QueryResult<usize>;
    fn lock_cycle(&mut self, tenant: &str, cycle: &str) -> QueryResult<String>;
    fn period(&mut self, tenant: &str, id: &str) -> QueryResult<Option<PeriodRecord>>;
    /// 0 when somebody was faster.
    fn insert_period(&mut self, record: &PeriodRecord) -> QueryResult<usize>;
    fn periods_after(&mut self, tenant: &str, after: &str, limit: i64) -> QueryResult<Vec<PeriodRecord>>;
    fn cycle_periods(
        &mut self,
        tenant: &str,
        cycle: &str,
        days: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<PeriodRecord>>;

    // ---- calendars, price series and event lists
    fn newest_shared_input(&mut self, tenant: &str, kind: &str, id: &str) -> QueryResult<Option<SharedInputRecord>>;
    fn shared_input(
        &mut self,
        tenant: &str,
        kind: &str,
        id: &str,
        version: i32,
    ) -> QueryResult<Option<SharedInputRecord>>;
    /// 0 when somebody was faster.
    fn insert_shared_input(&mut self, record: &SharedInputRecord) -> QueryResult<usize>;
    /// Newest first.
    fn shared_input_versions(&mut self, tenant: &str, kind: &str, id: &str) -> QueryResult<Vec<SharedEntryRecord>>;
    /// The newest version of each.
    fn shared_inputs_after(
        &mut self,
        tenant: &str,
        kind: &str,
        after: &str,
        limit: i64,
    ) -> QueryResult<Vec<SharedEntryRecord>>;
    /// Whether a version above differs within `[start, end)`.
    fn is_shared_input_changed(
        &mut self,
        tenant: &str,
        kind: &str,
        id: &str,
        above: i32,
        used: (i64, i64),
    ) -> QueryResult<bool>;
    fn insert_comparison_shared_input(&mut self, record: &ComparisonSharedRecord<'_>) -> QueryResult<usize>;
    fn delete_comparison_shared_inputs(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<usize>;
    /// Versions that a stored comparison has not seen and that differ within what it used.
    fn newer_shared_inputs(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<Vec<NewerSharedRecord>>;

    // ---- usage
    /// Current blocks of the months from the first to the last, of one channel or of all.
    fn current_blocks(
        &mut self,
        tenant: &str,
        customer: &str,
        channel: Option<&str>,
        months: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<BlockRecord>>;
    /// Blocks of the months that one of these revisions wrote, replaced or not.
    fn blocks_of_revisions(
        &mut self,
        tenant: &str,
        customer: &str,
        months: (NaiveDate, NaiveDate),
        revisions: &[i64],
    ) -> QueryResult<Vec<BlockRecord>>;
    fn current_block_revisions(
        &mut self,
        tenant: &str,
        customer: &str,
        months: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<BlockRevisionRecord>>;
    fn insert_block(&mut self, record: &BlockRecord) -> QueryResult<usize>;
    fn replace_block(&mut self, record: &BlockRecord, replaced_by: i64) -> QueryResult<usize>;
    fn insert_usage_revision(&mut self, record: &UsageRevisionRecord) -> QueryResult<usize>;
    fn set_usage_revision(&mut self, tenant: &str, customer: &str, revision: i64) -> QueryResult<usize>;
    fn usage_revisions_after(
        &mut self,
        tenant: &str,
        customer: &str,
        after: i64,
        limit: i64,
    ) -> QueryResult<Vec<UsageRevisionRecord>>;
    /// Whether a revision above `after` changed a reading that overlaps `[start, end)`, as far as the log says.
    fn is_usage_changed(&mut self, tenant: &str, customer: &str, after: i64, instants: (i64, i64))
    -> QueryResult<bool>;

    // ---- imports
    fn insert_import(&mut self, record: &ImportRecord) -> QueryResult<usize>;
    fn import(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<ImportRecord>>;
    /// The latest import of a file for a customer.
    fn latest_import_of_file(&mut self, tenant: &str, customer: &str, sha256: &[u8]) -> QueryResult<Option<Vec<u8>>>;
    /// Newest first.
    fn imports(&mut self, tenant: &str, conditions: &ImportConditions, limit: i64) -> QueryResult<Vec<ImportRecord>>;
    fn mark_reverted(&mut self, tenant: &str, id: &[u8], by: &[u8]) -> QueryResult<usize>;
    /// The blocks that a revision wrote and those that it replaced.
    fn blocks_around_revision(&mut self, tenant: &str, customer: &str, revision: i64) -> QueryResult<Vec<BlockRecord>>;
    /// The blocks that stood at a revision.
    fn blocks_at_revision(
        &mut self,
        tenant: &str,
        customer: &str,
        months: (NaiveDate, NaiveDate),
        revision: i64,
    ) -> QueryResult<Vec<BlockRecord>>;
    /// Whether a revision from this one on was made before imports were kept, so that blocks it replaced may be gone.
    fn is_revision_unrecorded(&mut self, tenant: &str, customer: &str, from: i64) -> QueryResult<bool>;
    /// Replaces those of a customer: meter point and channel, each pair once.
    fn set_meter_points(&mut self, tenant: &str, customer: &str, points: &[(&str, &str)]) -> QueryResult<()>;
    /// Meter point, customer and channel, sorted.
    fn customers_of_meter_points(
        &mut self,
        tenant: &str,
        meter_points: &[&str],
    ) -> QueryResult<Vec<(String, String, String)>>;
    fn insert_import_meter_points(&mut self, records: &[MeterPointRecord]) -> QueryResult<usize>;
    fn unfinished_import(&mut self, tenant: &str, resume_key: &[u8]) -> QueryResult<Option<ImportRecord>>;
    /// 0 when somebody was faster.
    fn insert_unfinished_import(&mut self, record: &ImportRecord) -> QueryResult<usize>;
    /// By place.
    fn import_meter_points(
        &mut self,
        tenant: &str,
        import: &[u8],
        conditions: &MeterPointConditions,
        limit: i64,
    ) -> QueryResult<Vec<MeterPointRecord>>;
    /// How many meter points there are in each state.
    fn import_meter_point_states(&mut self, tenant: &str, import: &[u8]) -> QueryResult<Vec<(String, i64)>>;
    fn import_meter_point(&mut self, tenant: &str, import: &[u8], place: i32) -> QueryResult<Option<MeterPointRecord>>;
    /// The state of an import of many meter points, which stays so until the transaction ends.
    fn share_import(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<String>>;
    /// 0 when it is not pending any more.
    fn settle_import_meter_point(&mut self, record: &MeterPointRecord) -> QueryResult<usize>;
    /// The counts of an import's parts.
    fn part_counts(&mut self, tenant: &str, import: &[u8]) -> QueryResult<Vec<String>>;
    /// Of an import of many meter points.
    fn revert_whole(&mut self, tenant: &str, id: &[u8], counts: &str) -> QueryResult<usize>;
    /// 0 when it is not incomplete any more.
    fn finish_import(&mut self, tenant: &str, id: &[u8], state: &str, counts: &str) -> QueryResult<usize>;

    // ---- comparisons
    fn current_comparison(&mut self, tenant: &str, key_digest: &[u8]) -> QueryResult<Option<FullComparison>>;
    fn full_comparison(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<FullComparison>>;
    fn comparison(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<ComparisonRecord>>;
    /// 0 when a current row of the key stands.
    fn insert_comparison(&mut self, record: &ComparisonRecord) -> QueryResult<usize>;
    fn insert_result(&mut self, record: &ResultRecord<'_>) -> QueryResult<usize>;
    fn insert_comparison_plans(
        &mut self,
        tenant: &str,
        comparison: &[u8],
        records: &[ComparisonPlanRecord],
    ) -> QueryResult<usize>;
    fn delete_comparison_plans(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<usize>;
    /// 0 when it was superseded before.
    fn supersede_comparison(
        &mut self,
        tenant: &str,
        id: &[u8],
        at: i64,
        successor: &[u8],
        reason: &str,
        note: Option<&str>,
    ) -> QueryResult<usize>;
    /// Clears the mark and records other inputs, of a current row.
    fn refresh_comparison(&mut self, tenant: &str, id: &[u8], usage_revision: i64, inputs: &str) -> QueryResult<usize>;
    /// Current rows of a customer that are not marked: id and window, in no order (asked for one by id, SQLite would
    /// walk through all the tenant's rows).
    fn unmarked_comparisons(&mut self, tenant: &str, customer: &str) -> QueryResult<Vec<(Vec<u8>, i64, i64)>>;
    fn mark_stale(&mut self, tenant: &str, ids: &[Vec<u8>], since: i64) -> QueryResult<usize>;
    /// Newest first.
    fn comparisons(
        &mut self,
        tenant: &str,
        conditions: &ComparisonConditions,
        limit: i64,
    ) -> QueryResult<Vec<ComparisonRecord>>;
    /// Newest first.
    fn chain(&mut self, tenant: &str, key_digest: &[u8]) -> QueryResult<Vec<ComparisonRecord>>;

    // ---- the schema
    fn applied_migrations(&mut self) -> QueryResult<Vec<String>>;
}

#[derive(QueryableByName)]
struct NewerRow {
    #[diesel(sql_type = Text)]
    plan_id: String,
    #[diesel(sql_type = Integer)]
    version: i32,
    #[diesel(sql_type = BigInt)]
    created_at: i64,
}

#[derive(QueryableByName)]
struct PresenceRow {
    #[diesel(sql_type = Bool)]
    is_present: bool,
}

#[derive(QueryableByName)]
struct MigrationRow {
    #[diesel(sql_type = Text)]
    version: String,
}
