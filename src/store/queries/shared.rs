//! Calendars, price series and event lists: statements that are the same on both engines.

/// Versions of a comparison's shared inputs above the recorded ones that differ within what it used; `$tenant` is bound
/// for each table. The comparison is the one of the surrounding query.
macro_rules! newer_shared {
    ($tenant:expr) => {
        comparison_shared_inputs::table
            .inner_join(
                shared_inputs::table.on(shared_inputs::tenant_id
                    .eq($tenant)
                    .and(shared_inputs::kind.eq(comparison_shared_inputs::kind))
                    .and(shared_inputs::id.eq(comparison_shared_inputs::input_id))
                    .and(shared_inputs::version.gt(comparison_shared_inputs::version))),
            )
            .filter(comparison_shared_inputs::tenant_id.eq($tenant))
            .filter(comparison_shared_inputs::comparison_id.eq(comparisons::id))
            .filter(shared_inputs::changed_start.assume_not_null().lt(comparison_shared_inputs::used_end))
            .filter(shared_inputs::changed_end.assume_not_null().gt(comparison_shared_inputs::used_start))
    };
}

pub(super) use newer_shared;

macro_rules! shared_queries {
    () => {
        fn newest_shared_input(
            &mut self,
            tenant: &str,
            kind: &str,
            id: &str,
        ) -> QueryResult<Option<SharedInputRecord>> {
            shared_inputs::table
                .filter(shared_inputs::tenant_id.eq(tenant))
                .filter(shared_inputs::kind.eq(kind))
                .filter(shared_inputs::id.eq(id))
                .order(shared_inputs::version.desc())
                .select(SharedInputRecord::as_select())
                .first(self)
                .optional()
        }

        fn shared_input(
            &mut self,
            tenant: &str,
            kind: &str,
            id: &str,
            version: i32,
        ) -> QueryResult<Option<SharedInputRecord>> {
            shared_inputs::table
                .find((tenant, kind, id, version))
                .select(SharedInputRecord::as_select())
                .first(self)
                .optional()
        }

        fn insert_shared_input(&mut self, record: &SharedInputRecord) -> QueryResult<usize> {
            diesel::insert_into(shared_inputs::table)
                .values(record)
                .on_conflict((shared_inputs::tenant_id, shared_inputs::kind, shared_inputs::id, shared_inputs::version))
                .do_nothing()
                .execute(self)
        }

        fn shared_input_versions(&mut self, tenant: &str, kind: &str, id: &str) -> QueryResult<Vec<SharedEntryRecord>> {
            shared_inputs::table
                .filter(shared_inputs::tenant_id.eq(tenant))
                .filter(shared_inputs::kind.eq(kind))
                .filter(shared_inputs::id.eq(id))
                .order(shared_inputs::version.desc())
                .select((shared_inputs::id, shared_inputs::version, shared_inputs::summary, shared_inputs::created_at))
                .load(self)
        }

        fn shared_inputs_after(
            &mut self,
            tenant: &str,
            kind: &str,
            after: &str,
            limit: i64,
        ) -> QueryResult<Vec<SharedEntryRecord>> {
            let newer = diesel::alias!(shared_inputs as newer);
            let has_newer = newer
                .filter(newer.field(shared_inputs::tenant_id).eq(tenant))
                .filter(newer.field(shared_inputs::kind).eq(kind))
                .filter(newer.field(shared_inputs::id).eq(shared_inputs::id))
                .filter(newer.field(shared_inputs::version).gt(shared_inputs::version));
            shared_inputs::table
                .filter(shared_inputs::tenant_id.eq(tenant))
                .filter(shared_inputs::kind.eq(kind))
                .filter(shared_inputs::id.gt(after))
                .filter(not(exists(has_newer)))
                .order(shared_inputs::id)
                .limit(limit)
                .select((shared_inputs::id, shared_inputs::version, shared_inputs::summary, shared_inputs::created_at))
                .load(self)
        }

        fn is_shared_input_changed(
            &mut self,
            tenant: &str,
            kind: &str,
            id: &str,
            above: i32,
            used: (i64, i64),
        ) -> QueryResult<bool> {
            diesel::select(exists(
                shared_inputs::table
                    .filter(shared_inputs::tenant_id.eq(tenant))
                    .filter(shared_inputs::kind.eq(kind))
                    .filter(shared_inputs::id.eq(id))
                    .filter(shared_inputs::version.gt(above))
                    .filter(shared_inputs::changed_start.assume_not_null().lt(used.1))
                    .filter(shared_inputs::changed_end.assume_not_null().gt(used.0)),
            ))
            .get_result(self)
        }

        fn insert_comparison_shared_input(&mut self, record: &ComparisonSharedRecord<'_>) -> QueryResult<usize> {
            diesel::insert_into(comparison_shared_inputs::table).values(record).execute(self)
        }

        fn delete_comparison_shared_inputs(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<usize> {
            diesel::delete(
                comparison_shared_inputs::table
                    .filter(comparison_shared_inputs::tenant_id.eq(tenant))
                    .filter(comparison_shared_inputs::comparison_id.eq(comparison)),
            )
            .execute(self)
        }

        fn newer_shared_inputs(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<Vec<NewerSharedRecord>> {
            newer_shared!(tenant.to_owned())
                .inner_join(comparisons::table.on(comparisons::tenant_id.eq(tenant.to_owned())))
                .filter(comparisons::id.eq(comparison))
                .order((shared_inputs::kind, shared_inputs::id, shared_inputs::version))
                .select((shared_inputs::kind, shared_inputs::id, shared_inputs::version, shared_inputs::created_at))
                .load(self)
        }
    };
}
pub(super) use shared_queries;
