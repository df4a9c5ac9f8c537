//! The statements on PostgreSQL: the shared ones, and locks and batches as this engine has them.

use chrono::NaiveDate;
use diesel::dsl::{exists, not, sql};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, Binary, Bool, Date, Integer, Text};

use super::comparisons::{comparison_queries, full_comparison, newer_versions};
use super::imports::import_queries;
use super::resources::resource_queries;
use super::shared::{newer_shared, shared_queries};
use super::usage::usage_queries;
use super::{
    BlockRevisionRecord, ComparisonConditions, FullComparison, ImportConditions, MeterPointConditions, MigrationRow,
    NewerRow, PlanConditions, PresenceRow, Queries,
};
use crate::store::rows::{
    BlockRecord, ComparisonPlanRecord, ComparisonRecord, ComparisonSharedRecord, CustomerRecord, CustomerVersionRecord,
    ImportRecord, MeterPointRecord, NewerPlanVersionRecord, NewerSharedRecord, PeriodRecord, PlanVersionRecord,
    ResultRecord, SharedEntryRecord, SharedInputRecord, UsageRevisionRecord,
};
use crate::store::schema::{
    billing_cycles, comparison_plans, comparison_results, comparison_shared_inputs, comparisons, customer_meter_points,
    customer_versions, customers, import_meter_points, imports, plan_tags, plan_versions, plans, registered_periods,
    shared_inputs, usage_blocks, usage_revisions,
};

impl Queries for PgConnection {
    resource_queries!();
    shared_queries!();
    usage_queries!();
    import_queries!();
    comparison_queries!();

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

    // Shares of one file run beside each other, and none beside the revert of the whole.
    fn share_import(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<String>> {
        imports::table.find((tenant, id)).select(imports::state).for_share().first(self).optional()
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
