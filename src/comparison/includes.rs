//! Plans that include others: which versions of those are in force, and the tariffs put together of them.
//!
//! A stretch of days under one version is cut where an included plan changes, and each part is billed by a tariff of its
//! own, as a plan is that changes inside a billing month.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;

use super::ComparisonError;
use super::tariffs::TariffCache;
use crate::engine::{PlanToBill, VersionInForce};
use crate::store::{PlanVersion, RecordedInclude, Store};
use crate::tariff::{IncludedTariff, Tariff, TariffError, TariffErrors};
use crate::words::{BillingPeriod, PlanId, TenantId};

/// How deep plans may include plans that include plans.
const MAX_NESTED: usize = 4;

/// A version of a plan and the days on which it applies.
pub(super) trait Dated {
    /// From 1; on each day the highest one that applies is in force.
    fn number(&self) -> u32;
    /// Whether it applies to a day.
    fn applies_on(&self, day: NaiveDate) -> bool;
}

impl Dated for PlanVersion {
    fn number(&self) -> u32 {
        self.version
    }

    fn applies_on(&self, day: NaiveDate) -> bool {
        Self::applies_on(self, day)
    }
}

/// For each day the highest version that applies to it, as stretches in date order.
///
/// # Errors
/// The stretches of days to which none applies.
pub(super) fn versions_in_force<'a, V: Dated>(
    period: BillingPeriod,
    versions: &[&'a V],
) -> Result<Vec<(&'a V, BillingPeriod)>, Vec<Range<NaiveDate>>> {
    let mut stretches: Vec<(Option<&V>, Range<NaiveDate>)> = Vec::new();
    for day in period.start().iter_days().take_while(|day| *day < period.end()) {
        let in_force = versions.iter().copied().filter(|version| version.applies_on(day)).max_by_key(|v| v.number());
        let next = day.succ_opt().expect("the period ends after this day");
        match stretches.last_mut() {
            Some((last, days)) if last.map(Dated::number) == in_force.map(Dated::number) => days.end = next,
            _ => stretches.push((in_force, day..next)),
        }
    }
    let without: Vec<_> =
        stretches.iter().filter(|(version, _)| version.is_none()).map(|(_, days)| days.clone()).collect();
    if !without.is_empty() {
        return Err(without);
    }
    Ok(stretches.into_iter().filter_map(|(version, range)| Some((version?, part(range.start, range.end)))).collect())
}

fn part(start: NaiveDate, end: NaiveDate) -> BillingPeriod {
    BillingPeriod::new(start, end).expect("a part of a billing period")
}

/// Plans that others include.
#[derive(Debug, Default)]
pub(super) struct Library(BTreeMap<PlanId, Vec<Edition>>);

/// One version of a plan in a library.
#[derive(Debug)]
struct Edition {
    number: u32,
    /// The days on which it applies; `None` on a side that is open.
    days: (Option<NaiveDate>, Option<NaiveDate>),
    /// `None` for one that applies to no day asked for.
    tariff: Option<Arc<Tariff>>,
}

impl Dated for Edition {
    fn number(&self) -> u32 {
        self.number
    }

    fn applies_on(&self, day: NaiveDate) -> bool {
        self.days.0.is_none_or(|from| from <= day) && self.days.1.is_none_or(|to| day < to)
    }
}

impl Library {
    /// Reads what plans include, and what that includes, level by level.
    ///
    /// * `known`: plans that have been read before.
    /// * `newest`: the highest version of a plan that counts.
    ///
    /// # Errors
    /// The store's, and [`ComparisonError::Internal`] for a stored document that cannot be read.
    pub(super) fn read(
        store: &dyn Store,
        tariffs: &TariffCache,
        tenant: &TenantId,
        plans: &[PlanToBill],
        known: &BTreeMap<PlanId, Vec<PlanVersion>>,
        newest: impl Fn(&PlanId) -> u32,
    ) -> Result<Self, ComparisonError> {
        let fetch = |ids: &[&PlanId]| Ok(store.plan_versions(tenant, ids)?);
        Self::read_by(fetch, tariffs, tenant, plans, known, newest)
    }

    /// Of versions at hand, those that plans include. What is not at hand is missing.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] for a document that cannot be read.
    pub(super) fn of_known(
        tariffs: &TariffCache,
        tenant: &TenantId,
        plans: &[PlanToBill],
        known: &BTreeMap<PlanId, Vec<PlanVersion>>,
    ) -> Result<Self, ComparisonError> {
        Self::read_by(|_| Ok(BTreeMap::new()), tariffs, tenant, plans, known, |_| u32::MAX)
    }

    fn read_by(
        fetch: impl Fn(&[&PlanId]) -> Result<BTreeMap<PlanId, Vec<PlanVersion>>, ComparisonError>,
        tariffs: &TariffCache,
        tenant: &TenantId,
        plans: &[PlanToBill],
        known: &BTreeMap<PlanId, Vec<PlanVersion>>,
        newest: impl Fn(&PlanId) -> u32,
    ) -> Result<Self, ComparisonError> {
        let mut library = Self::default();
        let versions = plans.iter().flat_map(|plan| &plan.versions);
        let mut wanted: BTreeSet<PlanId> =
            versions.clone().flat_map(|version| version.tariff.includes()).map(|(_, id)| id.clone()).collect();
        let Some(start) = versions.clone().map(|version| version.days.start()).min() else { return Ok(library) };
        let end = versions.map(|version| version.days.end()).max().unwrap_or(start);
        for _ in 0..MAX_NESTED {
            let unread: Vec<&PlanId> = wanted.iter().filter(|id| !known.contains_key(id)).collect();
            let read = if unread.is_empty() { BTreeMap::new() } else { fetch(&unread)? };
            let mut next = BTreeSet::new();
            for id in wanted {
                let mut editions = Vec::new();
                for version in known.get(&id).or_else(|| read.get(&id)).into_iter().flatten() {
                    if version.version > newest(&id) {
                        continue;
                    }
                    let days = (version.content.in_force_from, version.content.in_force_to);
                    let is_used = days.0.is_none_or(|from| from < end) && days.1.is_none_or(|to| to > start);
                    let tariff = is_used.then(|| tariffs.compile(tenant, version)).transpose()?;
                    next.extend(tariff.iter().flat_map(|tariff| tariff.includes()).map(|(_, id)| id.clone()));
                    editions.push(Edition { number: version.version, days, tariff });
                }
                library.0.insert(id, editions);
            }
            wanted = next.into_iter().filter(|id| !library.0.contains_key(id)).collect();
            if wanted.is_empty() {
                break;
            }
        }
        Ok(library)
    }

    /// Of plans at hand, those that others of them include, each always in force.
    fn of_files(plans: &[PlanToBill]) -> Self {
        let included: BTreeSet<&PlanId> = included_by(plans).collect();
        let editions = plans.iter().filter(|plan| included.contains(plan.reference.plan_id())).map(|plan| {
            let versions = plan.versions.iter();
            let edition = |version: &VersionInForce| Edition {
                number: version.version,
                days: (None, None),
                tariff: Some(Arc::clone(&version.tariff)),
            };
            (plan.reference.plan_id().clone(), versions.map(edition).collect())
        });
        Self(editions.collect())
    }

    /// The newest version of a plan, 0 when there is none.
    fn newest(&self, id: &PlanId) -> u32 {
        self.0.get(id).into_iter().flatten().map(Edition::number).max().unwrap_or(0)
    }
}

fn included_by(plans: &[PlanToBill]) -> impl Iterator<Item = &PlanId> {
    plans.iter().flat_map(|plan| {
        let others = plan.versions.iter().flat_map(|version| version.tariff.includes());
        others.map(|(_, id)| id).filter(|id| *id != plan.reference.plan_id())
    })
}

/// Puts what they include to the plans of a question. A plan whose included ones are missing, not in force or do not fit
/// keeps the faults, for the engine to tell them with those of all plans.
///
/// Gives the plans, and what was put to them.
pub(super) fn put_together(
    library: &Library,
    tariffs: &TariffCache,
    tenant: &TenantId,
    plans: Vec<PlanToBill>,
) -> (Vec<PlanToBill>, Vec<RecordedInclude>) {
    let compose = |plan: &PlanId, version: u32, tariff: &Arc<Tariff>, included: Vec<IncludedTariff>| {
        tariffs.compose(tenant, plan, version, tariff, included)
    };
    let mut builder = Builder { library, compose: &compose, used: BTreeMap::new() };
    let plans = builder.plans(plans);
    let recorded = builder.used.into_iter().map(|(plan_id, versions)| RecordedInclude {
        newest_version: library.newest(&plan_id),
        versions: versions.into_iter().collect(),
        plan_id,
    });
    (plans, recorded.collect())
}

/// The plans to compare of those at hand: the ones that others of them include are put to these and not compared
/// themselves. Plans that include each other in a circle are kept, for the engine to refuse them.
pub(super) fn put_together_files(mut plans: Vec<PlanToBill>) -> Vec<PlanToBill> {
    let library = Library::of_files(&plans);
    if plans.iter().any(|plan| !library.0.contains_key(plan.reference.plan_id())) {
        plans.retain(|plan| !library.0.contains_key(plan.reference.plan_id()));
    }
    Builder { library: &library, compose: &compose_anew, used: BTreeMap::new() }.plans(plans)
}

/// A plan of one day with what it includes on that day; with the faults where that cannot be put to it.
pub(super) fn put_together_one(library: &Library, plan: PlanToBill) -> Option<Arc<Tariff>> {
    let plans = Builder { library, compose: &compose_anew, used: BTreeMap::new() }.plans(vec![plan]);
    plans.into_iter().flat_map(|plan| plan.versions).map(|version| version.tariff).next()
}

/// Of plans that are not stored: nothing is kept.
fn compose_anew(
    _: &PlanId,
    _: u32,
    tariff: &Arc<Tariff>,
    included: Vec<IncludedTariff>,
) -> Result<Arc<Tariff>, TariffErrors> {
    tariff.including(included).map(Arc::new)
}

/// How a tariff and what it includes become one: of a plan and version.
type Compose<'a> = &'a dyn Fn(&PlanId, u32, &Arc<Tariff>, Vec<IncludedTariff>) -> Result<Arc<Tariff>, TariffErrors>;

struct Builder<'a> {
    library: &'a Library,
    compose: Compose<'a>,
    /// Versions of included plans.
    used: BTreeMap<PlanId, BTreeSet<u32>>,
}

impl Builder<'_> {
    fn plans(&mut self, plans: Vec<PlanToBill>) -> Vec<PlanToBill> {
        let mut built = Vec::with_capacity(plans.len());
        for PlanToBill { reference, versions } in plans {
            let mut parts = Vec::with_capacity(versions.len());
            for VersionInForce { version, days, tariff } in versions {
                let tariffs = self.build(reference.plan_id(), version, &tariff, days, &mut Vec::new());
                parts.extend(tariffs.into_iter().map(|(days, tariff)| VersionInForce { version, days, tariff }));
            }
            built.push(PlanToBill { reference, versions: parts });
        }
        built
    }

    /// The tariff of each stretch of days on which what a version includes stays the same.
    ///
    /// * `path`: the plans by which this one is included, outermost first.
    fn build(
        &mut self,
        plan: &PlanId,
        version: u32,
        tariff: &Arc<Tariff>,
        days: BillingPeriod,
        path: &mut Vec<PlanId>,
    ) -> Vec<(BillingPeriod, Arc<Tariff>)> {
        path.push(plan.clone());
        let (mut lists, mut faults) = (Vec::new(), Vec::new());
        for (name, id) in tariff.includes() {
            match self.stretches(name, id, days, path) {
                Ok(stretches) => lists.push(stretches),
                Err(mut found) => faults.append(&mut found),
            }
        }
        path.pop();
        if !faults.is_empty() {
            return vec![(days, Arc::new(tariff.not_including(TariffErrors(faults))))];
        }
        if lists.is_empty() {
            return vec![(days, Arc::clone(tariff))];
        }
        let mut bounds: BTreeSet<NaiveDate> = lists.iter().flatten().map(|(stretch, _)| stretch.start()).collect();
        bounds.insert(days.end());
        let bounds: Vec<NaiveDate> = bounds.into_iter().collect();
        let parts = bounds.windows(2).map(|bounds| {
            let holds = |(stretch, _): &&(BillingPeriod, IncludedTariff)| {
                stretch.start() <= bounds[0] && bounds[0] < stretch.end()
            };
            let included =
                lists.iter().filter_map(|list| list.iter().find(holds)).map(|(_, included)| included.clone());
            let whole = (self.compose)(plan, version, tariff, included.collect());
            let whole = whole.unwrap_or_else(|errors| Arc::new(tariff.not_including(errors)));
            (part(bounds[0], bounds[1]), whole)
        });
        parts.collect()
    }

    /// The versions of an included plan on days, each put together with what it includes itself.
    ///
    /// # Errors
    /// Why it cannot be included, at its place in the including document.
    fn stretches(
        &mut self,
        name: &str,
        id: &PlanId,
        days: BillingPeriod,
        path: &mut Vec<PlanId>,
    ) -> Result<Vec<(BillingPeriod, IncludedTariff)>, Vec<TariffError>> {
        let fault = |code: &str, message: String| {
            vec![TariffError { code: code.to_owned(), pointer: format!("/include/{name}"), message }]
        };
        if path.contains(id) {
            let circle: Vec<&str> = path.iter().chain([id]).map(PlanId::as_str).collect();
            let message = format!("plans include each other in a circle: {}", circle.join(", "));
            return Err(fault("include_cycle", message));
        }
        if path.len() > MAX_NESTED {
            let message = format!("plans may include each other {MAX_NESTED} deep: {:?} is one too many", id.as_str());
            return Err(fault("too_deep", message));
        }
        let library = self.library;
        let editions: Vec<&Edition> = library.0.get(id).into_iter().flatten().collect();
        if editions.is_empty() {
            let message = format!("the plan {:?}, which this one includes, is not known: import it", id.as_str());
            return Err(fault("included_plan_missing", message));
        }
        let in_force = versions_in_force(days, &editions).map_err(|without| {
            let days: Vec<String> = without.iter().map(|days| format!("{} to {}", days.start, days.end)).collect();
            let message = format!(
                "the plan {:?}, which this one includes, has no version in force from {}: import one that is",
                id.as_str(),
                days.join(", from ")
            );
            fault("included_plan_not_in_force", message)
        })?;
        let mut stretches = Vec::with_capacity(in_force.len());
        for (edition, days) in in_force {
            let tariff = edition.tariff.as_ref().expect("a version that is in force was compiled");
            self.used.entry(id.clone()).or_default().insert(edition.number);
            for (days, tariff) in self.build(id, edition.number, tariff, days, path) {
                if let Some(errors) = tariff.not_included() {
                    let within = |error: &TariffError| {
                        let place = format!("in the included plan {:?} at {}", id.as_str(), error.pointer);
                        fault(&error.code, format!("{place}: {}", error.message))
                    };
                    return Err(errors.0.iter().flat_map(within).collect());
                }
                let included =
                    IncludedTariff { name: name.to_owned(), plan_id: id.clone(), version: edition.number, tariff };
                stretches.push((days, included));
            }
        }
        Ok(stretches)
    }
}

#[cfg(test)]
mod tests;
