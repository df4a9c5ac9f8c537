//! Readings: statements that are the same on both engines.

macro_rules! usage_queries {
    () => {
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

        fn insert_usage_revision(&mut self, record: &UsageRevisionRecord) -> QueryResult<usize> {
            diesel::insert_into(usage_revisions::table).values(record).execute(self)
        }

        fn set_usage_revision(&mut self, tenant: &str, customer: &str, revision: i64) -> QueryResult<usize> {
            diesel::update(customers::table.find((tenant, customer)))
                .set(customers::usage_revision.eq(revision))
                .execute(self)
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
    };
}
pub(super) use usage_queries;
