//! Customers, plans, billing periods, and the schema: statements that are the same on both engines.

macro_rules! resource_queries {
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
pub(super) use resource_queries;
