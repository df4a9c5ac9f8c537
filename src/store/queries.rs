//! The statements. Text that is the same on both engines stands once, in a macro expanded for each native
//! connection; what differs (locks, batches) is written beside it, per engine, with the reason.
//!
//! `tenant_id` is bound in every `WHERE`, for every table: a partitioned database then looks at one partition.
//! Where a plain text id is compared with "", that is "from the first one": no id is empty.

use chrono::NaiveDate;
use diesel::dsl::{exists, sql};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Date, Integer, Text};
use diesel::sqlite::SqliteConnection;

use super::rows::{
    BlockRecord, ComparisonPlanRecord, ComparisonRecord, CustomerRecord, CustomerVersionRecord, NewerPlanVersionRecord,
    PeriodRecord, PlanVersionRecord, ResultRecord, UsageRevisionRecord,
};
use super::schema::{
    billing_cycles, comparison_plans, comparison_results, comparisons, customer_versions, customers, plan_tags,
    plan_versions, plans, registered_periods, usage_blocks, usage_revisions,
};

/// Channel, month and revision of a block.
pub(super) type BlockRevisionRecord = (String, NaiveDate, i64);

/// A comparison, its two renderings, and whether a newer plan version applies to its period.
pub(super) type FullComparison = (ComparisonRecord, Vec<u8>, Vec<u8>, bool);

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
    fn delete_block(&mut self, record: &BlockRecord) -> QueryResult<usize>;
    /// Whether a comparison was made from the readings of `[start, end)` as they were at a usage revision from
    /// `revisions.0` to before `revisions.1`.
    fn is_usage_recorded(
        &mut self,
        tenant: &str,
        customer: &str,
        instants: (i64, i64),
        revisions: (i64, i64),
    ) -> QueryResult<bool>;
    fn insert_usage_revision(&mut self, record: &UsageRevisionRecord) -> QueryResult<usize>;
    fn set_usage_revision(&mut self, tenant: &str, customer: &str, revision: i64) -> QueryResult<usize>;
    fn usage_revision(
        &mut self,
        tenant: &str,
        customer: &str,
        revision: i64,
    ) -> QueryResult<Option<UsageRevisionRecord>>;
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
    /// Current rows of a customer that are not marked: id and window.
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

/// Versions of a comparison's unpinned plans above the recorded ones that apply to a day of its period; `$tenant`
/// is bound for each table. The comparison is the one of the surrounding query, or `$comparison`.
macro_rules! newer_versions {
    ($tenant:expr) => {
        comparison_plans::table
            .inner_join(
                plan_versions::table.on(plan_versions::tenant_id
                    .eq($tenant)
                    .and(plan_versions::plan_id.eq(comparison_plans::plan_id))
                    .and(plan_versions::version.gt(comparison_plans::newest_version))),
            )
            .filter(comparison_plans::tenant_id.eq($tenant))
            .filter(comparison_plans::comparison_id.eq(comparisons::id))
            .filter(comparison_plans::pinned.eq(false))
            .filter(
                plan_versions::in_force_from
                    .is_null()
                    .or(plan_versions::in_force_from.assume_not_null().lt(comparisons::period_end)),
            )
            .filter(
                plan_versions::in_force_to
                    .is_null()
                    .or(plan_versions::in_force_to.assume_not_null().gt(comparisons::period_start)),
            )
    };
}

/// A comparison with its renderings; freshness by tenant-wide inputs comes with it in one statement: the hot path.
macro_rules! full_comparison {
    ($tenant:expr) => {
        comparisons::table
            .inner_join(comparison_results::table.on(
                comparison_results::tenant_id.eq($tenant).and(comparison_results::comparison_id.eq(comparisons::id)),
            ))
            .filter(comparisons::tenant_id.eq($tenant))
            .select((
                ComparisonRecord::as_select(),
                comparison_results::result,
                comparison_results::summary,
                exists(newer_versions!($tenant)),
            ))
    };
}

macro_rules! shared_queries {
    () => {
        fn customer(&mut self, tenant: &str, id: &str) -> QueryResult<Option<CustomerRecord>> {
            customers::table.find((tenant, id)).select(CustomerRecord::as_select()).first(self).optional()
        }

        fn customers_after(&mut self, tenant: &str, after: &str, limit: i64) -> QueryResult<Vec<CustomerRecord>> {
            customers::table
                .filter(customers::tenant_id.eq(tenant))
                .filter(customers::id.gt(after))
                .order(customers::id)
                .limit(limit)
                .select(CustomerRecord::as_select())
                .load(self)
        }

        fn insert_customer(&mut self, record: &CustomerRecord) -> QueryResult<usize> {
            diesel::insert_into(customers::table)
                .values(record)
                .on_conflict((customers::tenant_id, customers::id))
                .do_nothing()
                .execute(self)
        }

        fn update_customer(&mut self, record: &CustomerRecord) -> QueryResult<usize> {
            diesel::update(customers::table.find((&record.tenant_id, &record.id))).set(record).execute(self)
        }

        fn insert_customer_version(&mut self, record: &CustomerVersionRecord<'_>) -> QueryResult<usize> {
            diesel::insert_into(customer_versions::table).values(record).execute(self)
        }

        fn customer_version(&mut self, tenant: &str, id: &str, version: i64) -> QueryResult<Option<String>> {
            customer_versions::table
                .find((tenant, id, version))
                .select(customer_versions::document)
                .first(self)
                .optional()
        }

        fn customer_versions_after(&mut self, tenant: &str, id: &str, after: i64) -> QueryResult<Vec<(i64, i64)>> {
            customer_versions::table
                .filter(customer_versions::tenant_id.eq(tenant))
                .filter(customer_versions::customer_id.eq(id))
                .filter(customer_versions::version.gt(after))
                .order(customer_versions::version)
                .select((customer_versions::version, customer_versions::created_at))
                .load(self)
        }

        fn insert_plan(&mut self, tenant: &str, id: &str) -> QueryResult<usize> {
            diesel::insert_into(plans::table)
                .values((
                    plans::tenant_id.eq(tenant),
                    plans::id.eq(id),
                    plans::newest_version.eq(0),
                    plans::search_text.eq(""),
                ))
                .on_conflict((plans::tenant_id, plans::id))
                .do_nothing()
                .execute(self)
        }

        fn update_plan(&mut self, tenant: &str, id: &str, newest: i32, search_text: &str) -> QueryResult<usize> {
            diesel::update(plans::table.find((tenant, id)))
                .set((plans::newest_version.eq(newest), plans::search_text.eq(search_text)))
                .execute(self)
        }

        fn plan_version(&mut self, tenant: &str, id: &str, version: i32) -> QueryResult<Option<PlanVersionRecord>> {
            plan_versions::table
                .find((tenant, id, version))
                .select(PlanVersionRecord::as_select())
                .first(self)
                .optional()
        }

        fn plan_versions(&mut self, tenant: &str, ids: &[&str]) -> QueryResult<Vec<PlanVersionRecord>> {
            plan_versions::table
                .filter(plan_versions::tenant_id.eq(tenant))
                .filter(plan_versions::plan_id.eq_any(ids))
                .order((plan_versions::plan_id, plan_versions::version))
                .select(PlanVersionRecord::as_select())
                .load(self)
        }

        fn insert_plan_version(&mut self, record: &PlanVersionRecord) -> QueryResult<usize> {
            diesel::insert_into(plan_versions::table).values(record).execute(self)
        }

        fn set_plan_tags(&mut self, tenant: &str, id: &str, tags: &[&str]) -> QueryResult<()> {
            diesel::delete(plan_tags::table.filter(plan_tags::tenant_id.eq(tenant)).filter(plan_tags::plan_id.eq(id)))
                .execute(self)?;
            for tag in tags {
                diesel::insert_into(plan_tags::table)
                    .values((plan_tags::tenant_id.eq(tenant), plan_tags::tag.eq(tag), plan_tags::plan_id.eq(id)))
                    .on_conflict((plan_tags::tenant_id, plan_tags::tag, plan_tags::plan_id))
                    .do_nothing()
                    .execute(self)?;
            }
            Ok(())
        }

        fn plans_after(
            &mut self,
            tenant: &str,
            conditions: &PlanConditions,
            after: &str,
            limit: i64,
        ) -> QueryResult<Vec<PlanVersionRecord>> {
            let mut query = plans::table
                .inner_join(
                    plan_versions::table.on(plan_versions::tenant_id
                        .eq(tenant)
                        .and(plan_versions::plan_id.eq(plans::id))
                        .and(plan_versions::version.eq(plans::newest_version))),
                )
                .filter(plans::tenant_id.eq(tenant))
                .filter(plans::id.gt(after))
                .order(plans::id)
                .limit(limit)
                .select(PlanVersionRecord::as_select())
                .into_boxed();
            if let Some(like) = &conditions.like {
                query = query.filter(plans::search_text.like(like).escape('\\'));
            }
            if let Some(provider) = &conditions.provider {
                query = query.filter(plan_versions::provider.eq(provider));
            }
            if let Some(territory) = &conditions.territory {
                query = query.filter(plan_versions::territory.eq(territory));
            }
            if let Some(tag) = &conditions.tag {
                let tagged = plan_tags::table
                    .filter(plan_tags::tenant_id.eq(tenant))
                    .filter(plan_tags::tag.eq(tag))
                    .filter(plan_tags::plan_id.eq(plans::id));
                query = query.filter(exists(tagged));
            }
            if let Some(day) = conditions.in_force_on {
                query = query
                    .filter(
                        plan_versions::in_force_from
                            .is_null()
                            .or(plan_versions::in_force_from.assume_not_null().le(day)),
                    )
                    .filter(
                        plan_versions::in_force_to.is_null().or(plan_versions::in_force_to.assume_not_null().gt(day)),
                    );
            }
            query.load(self)
        }

        fn newer_plan_versions(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<Vec<NewerPlanVersionRecord>> {
            newer_versions!(tenant.to_owned())
                .inner_join(comparisons::table.on(comparisons::tenant_id.eq(tenant.to_owned())))
                .filter(comparisons::id.eq(comparison))
                .order((plan_versions::plan_id, plan_versions::version))
                .select((plan_versions::plan_id, plan_versions::version, plan_versions::created_at))
                .load(self)
        }

        fn insert_cycle(&mut self, tenant: &str, cycle: &str) -> QueryResult<usize> {
            diesel::insert_into(billing_cycles::table)
                .values((billing_cycles::tenant_id.eq(tenant), billing_cycles::id.eq(cycle)))
                .on_conflict((billing_cycles::tenant_id, billing_cycles::id))
                .do_nothing()
                .execute(self)
        }

        fn period(&mut self, tenant: &str, id: &str) -> QueryResult<Option<PeriodRecord>> {
            registered_periods::table.find((tenant, id)).select(PeriodRecord::as_select()).first(self).optional()
        }

        fn insert_period(&mut self, record: &PeriodRecord) -> QueryResult<usize> {
            diesel::insert_into(registered_periods::table)
                .values(record)
                .on_conflict((registered_periods::tenant_id, registered_periods::id))
                .do_nothing()
                .execute(self)
        }

        fn periods_after(&mut self, tenant: &str, after: &str, limit: i64) -> QueryResult<Vec<PeriodRecord>> {
            registered_periods::table
                .filter(registered_periods::tenant_id.eq(tenant))
                .filter(registered_periods::id.gt(after))
                .order(registered_periods::id)
                .limit(limit)
                .select(PeriodRecord::as_select())
                .load(self)
        }

        fn cycle_periods(
            &mut self,
            tenant: &str,
            cycle: &str,
            days: (NaiveDate, NaiveDate),
        ) -> QueryResult<Vec<PeriodRecord>> {
            registered_periods::table
                .filter(registered_periods::tenant_id.eq(tenant))
                .filter(registered_periods::cycle.eq(cycle))
                .filter(registered_periods::start_date.lt(days.1))
                .filter(registered_periods::end_date.gt(days.0))
                .order(registered_periods::start_date)
                .select(PeriodRecord::as_select())
                .load(self)
        }

        fn current_blocks(
            &mut self,
            tenant: &str,
            customer: &str,
            channel: Option<&str>,
            months: (NaiveDate, NaiveDate),
        ) -> QueryResult<Vec<BlockRecord>> {
            let query = usage_blocks::table
                .filter(usage_blocks::tenant_id.eq(tenant))
                .filter(usage_blocks::customer_id.eq(customer))
                .filter(usage_blocks::month.between(months.0, months.1))
                .filter(usage_blocks::replaced_by.is_null())
                .order((usage_blocks::channel, usage_blocks::month))
                .select(BlockRecord::as_select());
            match channel {
                Some(channel) => query.filter(usage_blocks::channel.eq(channel)).load(self),
                None => query.load(self),
            }
        }

        fn blocks_of_revisions(
            &mut self,
            tenant: &str,
            customer: &str,
            months: (NaiveDate, NaiveDate),
            revisions: &[i64],
        ) -> QueryResult<Vec<BlockRecord>> {
            usage_blocks::table
                .filter(usage_blocks::tenant_id.eq(tenant))
                .filter(usage_blocks::customer_id.eq(customer))
                .filter(usage_blocks::month.between(months.0, months.1))
                .filter(usage_blocks::revision.eq_any(revisions))
                .order((usage_blocks::channel, usage_blocks::month))
                .select(BlockRecord::as_select())
                .load(self)
        }

        fn current_block_revisions(
            &mut self,
            tenant: &str,
            customer: &str,
            months: (NaiveDate, NaiveDate),
        ) -> QueryResult<Vec<BlockRevisionRecord>> {
            usage_blocks::table
                .filter(usage_blocks::tenant_id.eq(tenant))
                .filter(usage_blocks::customer_id.eq(customer))
                .filter(usage_blocks::month.between(months.0, months.1))
                .filter(usage_blocks::replaced_by.is_null())
                .order((usage_blocks::channel, usage_blocks::month))
                .select((usage_blocks::channel, usage_blocks::month, usage_blocks::revision))
                .load(self)
        }

        fn insert_block(&mut self, record: &BlockRecord) -> QueryResult<usize> {
            diesel::insert_into(usage_blocks::table).values(record).execute(self)
        }

        fn replace_block(&mut self, record: &BlockRecord, replaced_by: i64) -> QueryResult<usize> {
            let key = (&record.tenant_id, &record.customer_id, &record.channel, record.month, record.revision);
            diesel::update(usage_blocks::table.find(key)).set(usage_blocks::replaced_by.eq(replaced_by)).execute(self)
        }

        fn delete_block(&mut self, record: &BlockRecord) -> QueryResult<usize> {
            let key = (&record.tenant_id, &record.customer_id, &record.channel, record.month, record.revision);
            diesel::delete(usage_blocks::table.find(key)).execute(self)
        }

        fn is_usage_recorded(
            &mut self,
            tenant: &str,
            customer: &str,
            instants: (i64, i64),
            revisions: (i64, i64),
        ) -> QueryResult<bool> {
            diesel::select(exists(
                comparisons::table
                    .filter(comparisons::tenant_id.eq(tenant))
                    .filter(comparisons::customer_id.eq(customer))
                    .filter(comparisons::window_start.lt(instants.1))
                    .filter(comparisons::window_end.gt(instants.0))
                    .filter(comparisons::usage_revision.ge(revisions.0))
                    .filter(comparisons::usage_revision.lt(revisions.1)),
            ))
            .get_result(self)
        }

        fn insert_usage_revision(&mut self, record: &UsageRevisionRecord) -> QueryResult<usize> {
            diesel::insert_into(usage_revisions::table).values(record).execute(self)
        }

        fn set_usage_revision(&mut self, tenant: &str, customer: &str, revision: i64) -> QueryResult<usize> {
            diesel::update(customers::table.find((tenant, customer)))
                .set(customers::usage_revision.eq(revision))
                .execute(self)
        }

        fn usage_revision(
            &mut self,
            tenant: &str,
            customer: &str,
            revision: i64,
        ) -> QueryResult<Option<UsageRevisionRecord>> {
            usage_revisions::table
                .find((tenant, customer, revision))
                .select(UsageRevisionRecord::as_select())
                .first(self)
                .optional()
        }

        fn usage_revisions_after(
            &mut self,
            tenant: &str,
            customer: &str,
            after: i64,
            limit: i64,
        ) -> QueryResult<Vec<UsageRevisionRecord>> {
            usage_revisions::table
                .filter(usage_revisions::tenant_id.eq(tenant))
                .filter(usage_revisions::customer_id.eq(customer))
                .filter(usage_revisions::revision.gt(after))
                .order(usage_revisions::revision)
                .limit(limit)
                .select(UsageRevisionRecord::as_select())
                .load(self)
        }

        fn is_usage_changed(
            &mut self,
            tenant: &str,
            customer: &str,
            after: i64,
            instants: (i64, i64),
        ) -> QueryResult<bool> {
            diesel::select(exists(
                usage_revisions::table
                    .filter(usage_revisions::tenant_id.eq(tenant))
                    .filter(usage_revisions::customer_id.eq(customer))
                    .filter(usage_revisions::revision.gt(after))
                    .filter(usage_revisions::first_start.lt(instants.1))
                    .filter(usage_revisions::last_end.gt(instants.0)),
            ))
            .get_result(self)
        }

        fn current_comparison(&mut self, tenant: &str, key_digest: &[u8]) -> QueryResult<Option<FullComparison>> {
            full_comparison!(tenant)
                .filter(comparisons::key_digest.eq(key_digest))
                .filter(comparisons::superseded_at.is_null())
                .first(self)
                .optional()
        }

        fn full_comparison(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<FullComparison>> {
            full_comparison!(tenant).filter(comparisons::id.eq(id)).first(self).optional()
        }

        fn comparison(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<ComparisonRecord>> {
            comparisons::table.find((tenant, id)).select(ComparisonRecord::as_select()).first(self).optional()
        }

        fn insert_comparison(&mut self, record: &ComparisonRecord) -> QueryResult<usize> {
            diesel::insert_into(comparisons::table)
                .values(record)
                .on_conflict(sql::<Bool>("(tenant_id, key_digest) WHERE superseded_at IS NULL"))
                .do_nothing()
                .execute(self)
        }

        fn insert_result(&mut self, record: &ResultRecord<'_>) -> QueryResult<usize> {
            diesel::insert_into(comparison_results::table).values(record).execute(self)
        }

        fn delete_comparison_plans(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<usize> {
            diesel::delete(
                comparison_plans::table
                    .filter(comparison_plans::tenant_id.eq(tenant))
                    .filter(comparison_plans::comparison_id.eq(comparison)),
            )
            .execute(self)
        }

        fn supersede_comparison(
            &mut self,
            tenant: &str,
            id: &[u8],
            at: i64,
            successor: &[u8],
            reason: &str,
            note: Option<&str>,
        ) -> QueryResult<usize> {
            diesel::update(
                comparisons::table
                    .filter(comparisons::tenant_id.eq(tenant))
                    .filter(comparisons::id.eq(id))
                    .filter(comparisons::superseded_at.is_null()),
            )
            .set((
                comparisons::superseded_at.eq(at),
                comparisons::successor_id.eq(successor),
                comparisons::supersede_reason.eq(reason),
                comparisons::supersede_note.eq(note),
            ))
            .execute(self)
        }

        fn refresh_comparison(
            &mut self,
            tenant: &str,
            id: &[u8],
            usage_revision: i64,
            inputs: &str,
        ) -> QueryResult<usize> {
            diesel::update(
                comparisons::table
                    .filter(comparisons::tenant_id.eq(tenant))
                    .filter(comparisons::id.eq(id))
                    .filter(comparisons::superseded_at.is_null()),
            )
            .set((
                comparisons::stale_since.eq(None::<i64>),
                comparisons::usage_revision.eq(usage_revision),
                comparisons::inputs.eq(inputs),
            ))
            .execute(self)
        }

        fn unmarked_comparisons(&mut self, tenant: &str, customer: &str) -> QueryResult<Vec<(Vec<u8>, i64, i64)>> {
            comparisons::table
                .filter(comparisons::tenant_id.eq(tenant))
                .filter(comparisons::customer_id.eq(customer))
                .filter(comparisons::superseded_at.is_null())
                .filter(comparisons::stale_since.is_null())
                .order(comparisons::id)
                .select((comparisons::id, comparisons::window_start, comparisons::window_end))
                .load(self)
        }

        fn mark_stale(&mut self, tenant: &str, ids: &[Vec<u8>], since: i64) -> QueryResult<usize> {
            diesel::update(
                comparisons::table
                    .filter(comparisons::tenant_id.eq(tenant))
                    .filter(comparisons::id.eq_any(ids))
                    .filter(comparisons::superseded_at.is_null())
                    .filter(comparisons::stale_since.is_null()),
            )
            .set(comparisons::stale_since.eq(since))
            .execute(self)
        }

        fn comparisons(
            &mut self,
            tenant: &str,
            conditions: &ComparisonConditions,
            limit: i64,
        ) -> QueryResult<Vec<ComparisonRecord>> {
            let mut query = comparisons::table
                .filter(comparisons::tenant_id.eq(tenant))
                .order((comparisons::created_at.desc(), comparisons::id.desc()))
                .limit(limit)
                .select(ComparisonRecord::as_select())
                .into_boxed();
            if let Some(customer) = &conditions.customer_id {
                query = query.filter(comparisons::customer_id.eq(customer));
            }
            if let Some((start, end)) = conditions.period {
                query = query.filter(comparisons::period_start.eq(start)).filter(comparisons::period_end.eq(end));
            }
            if let Some((plan, reference)) = &conditions.plan {
                let with_plan = comparison_plans::table
                    .filter(comparison_plans::tenant_id.eq(tenant))
                    .filter(comparison_plans::plan_id.eq(plan))
                    .filter(comparison_plans::comparison_id.eq(comparisons::id))
                    .filter(comparison_plans::reference.eq(reference));
                query = query.filter(exists(with_plan));
            }
            match conditions.current {
                Some(true) => query = query.filter(comparisons::superseded_at.is_null()),
                Some(false) => query = query.filter(comparisons::superseded_at.is_not_null()),
                None => {}
            }
            match conditions.stale {
                Some(true) => query = query.filter(comparisons::stale_since.is_not_null()),
                Some(false) => query = query.filter(comparisons::stale_since.is_null()),
                None => {}
            }
            if conditions.stale.is_some() {
                query = query.filter(comparisons::superseded_at.is_null());
            }
            if let Some(from) = conditions.created_from {
                query = query.filter(comparisons::created_at.ge(from));
            }
            if let Some(to) = conditions.created_to {
                query = query.filter(comparisons::created_at.lt(to));
            }
            if let Some((created_at, id)) = &conditions.before {
                query = query
                    .filter(comparisons::created_at.le(created_at))
                    .filter(comparisons::created_at.lt(created_at).or(comparisons::id.lt(id)));
            }
            if let Some(at) = conditions.stood_at {
                query = query.filter(comparisons::created_at.le(at)).filter(
                    comparisons::superseded_at.is_null().or(comparisons::superseded_at.assume_not_null().gt(at)),
                );
            }
            query.load(self)
        }

        fn chain(&mut self, tenant: &str, key_digest: &[u8]) -> QueryResult<Vec<ComparisonRecord>> {
            comparisons::table
                .filter(comparisons::tenant_id.eq(tenant))
                .filter(comparisons::key_digest.eq(key_digest))
                .order((comparisons::created_at.desc(), comparisons::id.desc()))
                .select(ComparisonRecord::as_select())
                .load(self)
        }

        fn applied_migrations(&mut self) -> QueryResult<Vec<String>> {
            let table: PresenceRow = diesel::sql_query(Self::MIGRATION_TABLE).get_result(self)?;
            if !table.is_present {
                return Ok(Vec::new());
            }
            let rows: Vec<MigrationRow> =
                diesel::sql_query("SELECT version FROM __diesel_schema_migrations ORDER BY version").load(self)?;
            Ok(rows.into_iter().map(|row| row.version).collect())
        }
    };
}

impl Queries for SqliteConnection {
    shared_queries!();

    const MIGRATION_TABLE: &'static str =
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '__diesel_schema_migrations') AS is_present";

    // BEGIN IMMEDIATE holds the whole database: there is no row to lock.

    fn lock_customer(&mut self, tenant: &str, id: &str) -> QueryResult<Option<CustomerRecord>> {
        self.customer(tenant, id)
    }

    fn lock_plan(&mut self, tenant: &str, id: &str) -> QueryResult<i32> {
        plans::table.find((tenant, id)).select(plans::newest_version).first(self)
    }

    fn lock_cycle(&mut self, tenant: &str, cycle: &str) -> QueryResult<String> {
        billing_cycles::table.find((tenant, cycle)).select(billing_cycles::id).first(self)
    }

    // A batch is one JSON text: one cached statement whatever its length, where diesel would prepare each anew.

    fn plan_versions_above(
        &mut self,
        tenant: &str,
        seen: &[(&str, i32)],
        period: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<NewerPlanVersionRecord>> {
        let rows: Vec<NewerRow> = diesel::sql_query(
            "SELECT v.plan_id, v.version, v.created_at FROM json_each(?) AS seen \
             CROSS JOIN plan_versions AS v ON v.tenant_id = ? AND v.plan_id = seen.value ->> 0 \
             AND v.version > seen.value ->> 1 \
             WHERE (v.in_force_from IS NULL OR v.in_force_from < ?) \
             AND (v.in_force_to IS NULL OR v.in_force_to > ?) ORDER BY v.plan_id, v.version",
        )
        .bind::<Text, _>(serde_json::to_string(seen).expect("texts and numbers are JSON"))
        .bind::<Text, _>(tenant)
        .bind::<Date, _>(period.1)
        .bind::<Date, _>(period.0)
        .load(self)?;
        Ok(rows.into_iter().map(|row| (row.plan_id, row.version, row.created_at)).collect())
    }

    fn insert_comparison_plans(
        &mut self,
        tenant: &str,
        comparison: &[u8],
        records: &[ComparisonPlanRecord],
    ) -> QueryResult<usize> {
        let rows: Vec<_> =
            records.iter().map(|r| (&r.reference, &r.plan_id, r.newest_version, i32::from(r.pinned))).collect();
        diesel::sql_query(
            "INSERT INTO comparison_plans (tenant_id, comparison_id, reference, plan_id, newest_version, pinned) \
             SELECT ?, ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)",
        )
        .bind::<Text, _>(tenant)
        .bind::<Binary, _>(comparison)
        .bind::<Text, _>(serde_json::to_string(&rows).expect("texts and numbers are JSON"))
        .execute(self)
    }
}

impl Queries for PgConnection {
    shared_queries!();

    const MIGRATION_TABLE: &'static str = "SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL AS is_present";

    // FOR NO KEY UPDATE: FOR SHARE would starve imports, FOR KEY SHARE excludes nothing, and FOR UPDATE would
    // wait for the foreign keys that point here.

    fn lock_customer(&mut self, tenant: &str, id: &str) -> QueryResult<Option<CustomerRecord>> {
        customers::table
            .find((tenant, id))
            .select(CustomerRecord::as_select())
            .for_no_key_update()
            .first(self)
            .optional()
    }

    fn lock_plan(&mut self, tenant: &str, id: &str) -> QueryResult<i32> {
        plans::table.find((tenant, id)).select(plans::newest_version).for_no_key_update().first(self)
    }

    fn lock_cycle(&mut self, tenant: &str, cycle: &str) -> QueryResult<String> {
        billing_cycles::table.find((tenant, cycle)).select(billing_cycles::id).for_no_key_update().first(self)
    }

    // A batch is a few arrays: one prepared statement whatever its length.

    fn plan_versions_above(
        &mut self,
        tenant: &str,
        seen: &[(&str, i32)],
        period: (NaiveDate, NaiveDate),
    ) -> QueryResult<Vec<NewerPlanVersionRecord>> {
        let (plans, versions): (Vec<&str>, Vec<i32>) = seen.iter().copied().unzip();
        let rows: Vec<NewerRow> = diesel::sql_query(
            "SELECT v.plan_id, v.version, v.created_at FROM UNNEST($1, $2) AS seen (plan_id, version) \
             JOIN plan_versions AS v ON v.tenant_id = $3 AND v.plan_id = seen.plan_id COLLATE \"C\" \
             AND v.version > seen.version \
             WHERE (v.in_force_from IS NULL OR v.in_force_from < $4) \
             AND (v.in_force_to IS NULL OR v.in_force_to > $5) ORDER BY v.plan_id, v.version",
        )
        .bind::<Array<Text>, _>(plans)
        .bind::<Array<Integer>, _>(versions)
        .bind::<Text, _>(tenant)
        .bind::<Date, _>(period.1)
        .bind::<Date, _>(period.0)
        .load(self)?;
        Ok(rows.into_iter().map(|row| (row.plan_id, row.version, row.created_at)).collect())
    }

    fn insert_comparison_plans(
        &mut self,
        tenant: &str,
        comparison: &[u8],
        records: &[ComparisonPlanRecord],
    ) -> QueryResult<usize> {
        diesel::sql_query(
            "INSERT INTO comparison_plans (tenant_id, comparison_id, reference, plan_id, newest_version, pinned) \
             SELECT $1, $2, r.reference, r.plan_id, r.newest_version, r.pinned \
             FROM UNNEST($3, $4, $5, $6) AS r (reference, plan_id, newest_version, pinned)",
        )
        .bind::<Text, _>(tenant)
        .bind::<Binary, _>(comparison)
        .bind::<Array<Text>, _>(records.iter().map(|r| r.reference.as_str()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(records.iter().map(|r| r.plan_id.as_str()).collect::<Vec<_>>())
        .bind::<Array<Integer>, _>(records.iter().map(|r| r.newest_version).collect::<Vec<_>>())
        .bind::<Array<Bool>, _>(records.iter().map(|r| r.pinned).collect::<Vec<_>>())
        .execute(self)
    }
}
