//! Imports, the blocks that a revision wrote or replaced, and meter points: statements that are the same on both engines.

macro_rules! import_queries {
    () => {
        fn insert_import(&mut self, record: &ImportRecord) -> QueryResult<usize> {
            diesel::insert_into(imports::table).values(record).execute(self)
        }

        fn import(&mut self, tenant: &str, id: &[u8]) -> QueryResult<Option<ImportRecord>> {
            imports::table.find((tenant, id)).select(ImportRecord::as_select()).first(self).optional()
        }

        fn latest_import_of_file(
            &mut self,
            tenant: &str,
            customer: &str,
            sha256: &[u8],
        ) -> QueryResult<Option<Vec<u8>>> {
            imports::table
                .filter(imports::tenant_id.eq(tenant))
                .filter(imports::sha256.eq(sha256))
                .filter(imports::customer_id.eq(customer))
                .filter(imports::kind.eq("usage"))
                .order(imports::id.desc())
                .select(imports::id)
                .first(self)
                .optional()
        }

        fn imports(
            &mut self,
            tenant: &str,
            conditions: &ImportConditions,
            limit: i64,
        ) -> QueryResult<Vec<ImportRecord>> {
            let mut query = imports::table
                .filter(imports::tenant_id.eq(tenant))
                .order(imports::id.desc())
                .limit(limit)
                .select(ImportRecord::as_select())
                .into_boxed();
            if let Some(customer) = &conditions.customer_id {
                query = query.filter(imports::customer_id.eq(customer));
            }
            match &conditions.part_of {
                Some(whole) => query = query.filter(imports::part_of.eq(whole)),
                None if conditions.customer_id.is_none() => query = query.filter(imports::part_of.is_null()),
                None => {}
            }
            if let Some(sha256) = &conditions.sha256 {
                query = query.filter(imports::sha256.eq(sha256));
            }
            if let Some(state) = conditions.state {
                query = query.filter(imports::state.eq(state));
            }
            if let Some(before) = &conditions.before {
                query = query.filter(imports::id.lt(before));
            }
            query.load(self)
        }

        fn mark_reverted(&mut self, tenant: &str, id: &[u8], by: &[u8]) -> QueryResult<usize> {
            diesel::update(imports::table.find((tenant, id)))
                .set((imports::state.eq("reverted"), imports::reverted_by.eq(by)))
                .execute(self)
        }

        fn blocks_around_revision(
            &mut self,
            tenant: &str,
            customer: &str,
            revision: i64,
        ) -> QueryResult<Vec<BlockRecord>> {
            usage_blocks::table
                .filter(usage_blocks::tenant_id.eq(tenant))
                .filter(usage_blocks::customer_id.eq(customer))
                .filter(
                    usage_blocks::revision.eq(revision).or(usage_blocks::replaced_by.assume_not_null().eq(revision)),
                )
                .order((usage_blocks::channel, usage_blocks::month, usage_blocks::revision))
                .select(BlockRecord::as_select())
                .load(self)
        }

        fn blocks_at_revision(
            &mut self,
            tenant: &str,
            customer: &str,
            months: (NaiveDate, NaiveDate),
            revision: i64,
        ) -> QueryResult<Vec<BlockRecord>> {
            usage_blocks::table
                .filter(usage_blocks::tenant_id.eq(tenant))
                .filter(usage_blocks::customer_id.eq(customer))
                .filter(usage_blocks::month.between(months.0, months.1))
                .filter(usage_blocks::revision.le(revision))
                .filter(
                    usage_blocks::replaced_by.is_null().or(usage_blocks::replaced_by.assume_not_null().gt(revision)),
                )
                .order((usage_blocks::channel, usage_blocks::month))
                .select(BlockRecord::as_select())
                .load(self)
        }

        fn is_revision_unrecorded(&mut self, tenant: &str, customer: &str, from: i64) -> QueryResult<bool> {
            diesel::select(exists(
                usage_revisions::table
                    .filter(usage_revisions::tenant_id.eq(tenant))
                    .filter(usage_revisions::customer_id.eq(customer))
                    .filter(usage_revisions::revision.ge(from))
                    .filter(usage_revisions::import_id.is_null()),
            ))
            .get_result(self)
        }

        fn set_meter_points(&mut self, tenant: &str, customer: &str, points: &[(&str, &str)]) -> QueryResult<()> {
            diesel::delete(
                customer_meter_points::table
                    .filter(customer_meter_points::tenant_id.eq(tenant))
                    .filter(customer_meter_points::customer_id.eq(customer)),
            )
            .execute(self)?;
            for (meter_point, channel) in points {
                diesel::insert_into(customer_meter_points::table)
                    .values((
                        customer_meter_points::tenant_id.eq(tenant),
                        customer_meter_points::meter_point_id.eq(meter_point),
                        customer_meter_points::customer_id.eq(customer),
                        customer_meter_points::channel.eq(channel),
                    ))
                    .execute(self)?;
            }
            Ok(())
        }

        fn customers_of_meter_points(
            &mut self,
            tenant: &str,
            meter_points: &[&str],
        ) -> QueryResult<Vec<(String, String, String)>> {
            use customer_meter_points::{channel, customer_id, meter_point_id, table, tenant_id};
            let mut found = Vec::new();
            for some in meter_points.chunks(1_000) {
                let mut rows: Vec<(String, String, String)> = table
                    .filter(tenant_id.eq(tenant))
                    .filter(meter_point_id.eq_any(some))
                    .order((meter_point_id, customer_id, channel))
                    .select((meter_point_id, customer_id, channel))
                    .load(self)?;
                found.append(&mut rows);
            }
            Ok(found)
        }

        fn insert_import_meter_points(&mut self, records: &[MeterPointRecord]) -> QueryResult<usize> {
            // PostgreSQL binds at most 65,535 values.
            let mut n = 0;
            for records in records.chunks(1_000) {
                n += diesel::insert_into(import_meter_points::table).values(records).execute(self)?;
            }
            Ok(n)
        }

        fn unfinished_import(&mut self, tenant: &str, resume_key: &[u8]) -> QueryResult<Option<ImportRecord>> {
            imports::table
                .filter(imports::tenant_id.eq(tenant))
                .filter(imports::resume_key.eq(resume_key))
                .filter(imports::state.eq("incomplete"))
                .select(ImportRecord::as_select())
                .first(self)
                .optional()
        }

        fn insert_unfinished_import(&mut self, record: &ImportRecord) -> QueryResult<usize> {
            diesel::insert_into(imports::table)
                .values(record)
                .on_conflict(sql::<Bool>("(tenant_id, resume_key) WHERE state = 'incomplete'"))
                .do_nothing()
                .execute(self)
        }

        fn import_meter_points(
            &mut self,
            tenant: &str,
            import: &[u8],
            conditions: &MeterPointConditions,
            limit: i64,
        ) -> QueryResult<Vec<MeterPointRecord>> {
            let mut query = import_meter_points::table
                .filter(import_meter_points::tenant_id.eq(tenant))
                .filter(import_meter_points::import_id.eq(import))
                .filter(import_meter_points::place.gt(conditions.after))
                .order(import_meter_points::place)
                .limit(limit)
                .select(MeterPointRecord::as_select())
                .into_boxed();
            if !conditions.states.is_empty() {
                query = query.filter(import_meter_points::state.eq_any(&conditions.states));
            }
            query.load(self)
        }

        fn import_meter_point(
            &mut self,
            tenant: &str,
            import: &[u8],
            place: i32,
        ) -> QueryResult<Option<MeterPointRecord>> {
            import_meter_points::table
                .find((tenant, import, place))
                .select(MeterPointRecord::as_select())
                .first(self)
                .optional()
        }

        fn import_meter_point_states(&mut self, tenant: &str, import: &[u8]) -> QueryResult<Vec<(String, i64)>> {
            import_meter_points::table
                .filter(import_meter_points::tenant_id.eq(tenant))
                .filter(import_meter_points::import_id.eq(import))
                .group_by(import_meter_points::state)
                .select((import_meter_points::state, diesel::dsl::count_star()))
                .load(self)
        }

        fn settle_import_meter_point(&mut self, record: &MeterPointRecord) -> QueryResult<usize> {
            diesel::update(
                import_meter_points::table
                    .find((&record.tenant_id, &record.import_id, record.place))
                    .filter(import_meter_points::state.eq("pending")),
            )
            .set((
                import_meter_points::state.eq(&record.state),
                import_meter_points::customer_id.eq(&record.customer_id),
                import_meter_points::n_readings.eq(record.n_readings),
                import_meter_points::part_id.eq(&record.part_id),
                import_meter_points::code.eq(&record.code),
                import_meter_points::detail.eq(&record.detail),
            ))
            .execute(self)
        }

        fn part_counts(&mut self, tenant: &str, import: &[u8]) -> QueryResult<Vec<String>> {
            imports::table
                .filter(imports::tenant_id.eq(tenant))
                .filter(imports::part_of.eq(import))
                .select(imports::counts)
                .load(self)
        }

        fn revert_whole(&mut self, tenant: &str, id: &[u8], counts: &str) -> QueryResult<usize> {
            diesel::update(imports::table.find((tenant, id)).filter(imports::state.ne("reverted")))
                .set((imports::state.eq("reverted"), imports::counts.eq(counts)))
                .execute(self)
        }

        fn finish_import(&mut self, tenant: &str, id: &[u8], state: &str, counts: &str) -> QueryResult<usize> {
            diesel::update(imports::table.find((tenant, id)).filter(imports::state.eq("incomplete")))
                .set((imports::state.eq(state), imports::counts.eq(counts)))
                .execute(self)
        }
    };
}
pub(super) use import_queries;
