//! The statements on SQLite: the shared ones, and locks and batches as this engine has them.

use chrono::NaiveDate;
use diesel::dsl::{exists, not, sql};
use diesel::prelude::*;
use diesel::sql_types::{Binary, Bool, Date, Text};
use diesel::sqlite::SqliteConnection;

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

impl Queries for SqliteConnection {
    resource_queries!();
    shared_queries!();
    usage_queries!();
    import_queries!();
    comparison_queries!();

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

    fn share_import(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<String>> {
        imports::table.find((tenant, id)).select(imports::state).first(self).optional()
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
