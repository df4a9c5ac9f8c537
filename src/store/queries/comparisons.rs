//! Comparisons: statements that are the same on both engines.

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
                exists(newer_shared!($tenant)),
            ))
    };
}

pub(super) use {full_comparison, newer_versions};

macro_rules! comparison_queries {
    () => {
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

        fn newer_plan_versions(&mut self, tenant: &str, comparison: &[u8]) -> QueryResult<Vec<NewerPlanVersionRecord>> {
            newer_versions!(tenant.to_owned())
                .inner_join(comparisons::table.on(comparisons::tenant_id.eq(tenant.to_owned())))
                .filter(comparisons::id.eq(comparison))
                .order((plan_versions::plan_id, plan_versions::version))
                .select((plan_versions::plan_id, plan_versions::version, plan_versions::created_at))
                .load(self)
        }
    };
}
pub(super) use comparison_queries;
