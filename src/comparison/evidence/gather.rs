//! Everything that a stored answer was made from, read from the store.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ComparisonError;
use super::super::NaturalKey;
use super::super::digest::digest_by;
use super::super::inputs::Calendar;
use super::super::tariffs::TariffCache;
use super::material::{Material, Months};
use crate::engine::Options;
use crate::shared::{self, Damaged};
use crate::store::{PlanVersion, SharedKind, Store, StoredComparison};
use crate::words::{ComparisonId, PlanId, TenantId};

/// How often the row is read again when its inputs moved meanwhile.
const MAX_ROUNDS: usize = 4;

/// A stored answer with its inputs.
pub(super) struct Gathered {
    /// The row and the bytes of its result.
    pub(super) stored: StoredComparison,
    /// What it was made from. The settings are right once [`with_its_terms`] has been over it.
    pub(super) material: Material,
}

/// Reads a comparison and its inputs.
///
/// # Errors
/// As [`super::super::Service::evidence`].
pub(super) fn gather(
    store: &dyn Store,
    tariffs: &TariffCache,
    tenant: &TenantId,
    id: ComparisonId,
) -> Result<Gathered, ComparisonError> {
    let read = || {
        let found = store.comparison(tenant, id)?;
        found.ok_or_else(|| ComparisonError::NotFound { what: "comparison", id: id.to_string() })
    };
    let mut stored = read()?;
    for _ in 0..MAX_ROUNDS {
        let gathered = material(store, tariffs, tenant, &stored);
        // A correction that was taken back moves the record of a row that stays: what it named before may be gone.
        let again = read()?;
        if again.row.inputs == stored.row.inputs {
            return gathered.map(|material| Gathered { stored, material });
        }
        stored = again;
    }
    Err(ComparisonError::InputsChanging)
}

fn material(
    store: &dyn Store,
    tariffs: &TariffCache,
    tenant: &TenantId,
    stored: &StoredComparison,
) -> Result<Material, ComparisonError> {
    let row = &stored.row;
    let inputs = &row.inputs;
    let gone = |what: &str| ComparisonError::EvidenceIncomplete { id: row.id, what: what.to_owned() };
    let key = NaturalKey::new(tenant.clone(), row.customer_id.clone(), row.period, row.plan_references.clone())?;
    let customer = store
        .customer_document(tenant, &row.customer_id, inputs.customer_version)?
        .ok_or_else(|| gone("the customer's document"))?;
    let usage = store
        .usage_at(tenant, &row.customer_id, row.window.clone(), &inputs.blocks)?
        .ok_or_else(|| gone("the readings"))?;

    let compared = inputs.plans.iter().map(|plan| (plan.reference.plan_id(), &plan.versions));
    let used: BTreeSet<(&PlanId, u32)> = compared
        .chain(inputs.included.iter().map(|plan| (&plan.plan_id, &plan.versions)))
        .flat_map(|(id, versions)| versions.iter().map(move |version| (id, *version)))
        .collect();
    let ids: BTreeSet<&PlanId> = used.iter().map(|(id, _)| *id).collect();
    let mut plans = store.plan_versions(tenant, &ids.into_iter().collect::<Vec<_>>())?;
    for (id, versions) in &mut plans {
        versions.retain(|PlanVersion { version, .. }| used.contains(&(id, *version)));
    }
    if plans.values().map(Vec::len).sum::<usize>() != used.len() {
        return Err(gone("a version of a plan"));
    }

    let mut material = Material {
        key,
        customer,
        plans,
        readings: usage.readings,
        calendars: BTreeMap::new(),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::new(),
        months: Months { of_period: Vec::new(), are_registered: false, earlier: Vec::new() },
        options: Options::default(),
    };
    for recorded in &inputs.shared {
        let (kind, id, version) = (recorded.kind, &recorded.id, recorded.version);
        let input = store
            .shared_input_version(tenant, kind, id, version)?
            .ok_or_else(|| gone("a version of a calendar, price series or event list"))?;
        let damaged =
            |error: Damaged| ComparisonError::Internal(format!("version {version} of {} {id}: {error}", kind.as_str()));
        match kind {
            SharedKind::Calendar => {
                let calendar = shared::Calendar::decode(&input.content).map_err(damaged)?;
                material.calendars.insert(id.clone(), (version, calendar));
            }
            SharedKind::PriceSeries => {
                let prices = shared::decode(&input.content).map_err(damaged)?.within(&recorded.used);
                material.price_series.insert(id.clone(), (version, prices));
            }
            SharedKind::EventList => {
                let list = shared::EventList::decode(&input.content).map_err(damaged)?;
                material.event_lists.insert(id.clone(), (version, list));
            }
        }
    }
    material.months = match &inputs.terms {
        Some(terms) => Months::from_bounds(row.period, &inputs.cuts, terms.months_registered, &terms.earlier_months)
            .ok_or_else(|| ComparisonError::Internal(format!("the recorded months of {} are none", row.id)))?,
        // A row of an earlier release: the periods of its cycle must be those of then.
        None => {
            let (plans, _) = material.plans(tariffs)?;
            let calendar = Calendar::recorded(store, tenant, &material.customer, row, &plans)?;
            Months::of(&calendar.ok_or_else(|| gone("the registered billing periods"))?)
        }
    };
    Ok(material)
}

/// Puts the settings to it under which the answer was computed: the recorded ones, or, of a row of an earlier release,
/// those that give its digest. Either way the digest proves that this is what the answer was made from.
///
/// * `options`: those of this server.
///
/// # Errors
/// [`ComparisonError::EvidenceIncomplete`] when nothing gives the recorded digest.
pub(super) fn with_its_terms(
    mut gathered: Gathered,
    tariffs: &TariffCache,
    options: &Options,
) -> Result<Gathered, ComparisonError> {
    let row = &gathered.stored.row;
    let default = Options::default();
    let candidates = match &row.inputs.terms {
        Some(terms) => vec![(terms.min_coverage, terms.split_intervals_even)],
        None => [options.min_coverage, default.min_coverage]
            .into_iter()
            .flat_map(|coverage| [options.split_intervals_even, !options.split_intervals_even].map(|e| (coverage, e)))
            .collect(),
    };
    let mut built = gathered.material.question(tariffs)?;
    for (min_coverage, split_intervals_even) in candidates {
        let options = Options { min_coverage, split_intervals_even, ..Options::default() };
        built.question.options = options.clone();
        if digest_by(&built.question, row.inputs.engine) == row.inputs.digest {
            gathered.material.options = options;
            return Ok(gathered);
        }
    }
    let what = match row.inputs.terms {
        Some(_) => "all that the digest of the inputs covers",
        None => "a setting that shaped the numbers",
    };
    Err(ComparisonError::EvidenceIncomplete { id: row.id, what: what.to_owned() })
}
