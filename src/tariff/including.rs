//! A tariff and the plans that it includes.

use std::sync::Arc;

use super::document::IncludedDocument;
use super::json::Json;
use super::{Tariff, TariffErrors, document};
use crate::words::PlanId;

/// A version of a plan that another one includes.
#[derive(Debug, Clone)]
pub struct IncludedTariff {
    /// What the including document calls it.
    pub name: String,
    /// The plan.
    pub plan_id: PlanId,
    /// Number of the version, from 1.
    pub version: u32,
    /// Its charges; what it includes itself has been put to it.
    pub tariff: Arc<Tariff>,
}

impl Tariff {
    /// The plans that its document includes, by the name it gives them, in the order of these names.
    pub fn includes(&self) -> impl Iterator<Item = (&str, &PlanId)> {
        self.plan.includes.iter().map(|include| (include.name.as_str(), &include.plan_id))
    }

    /// The plans that have been put to it, in the order of their names.
    pub fn included(&self) -> &[IncludedTariff] {
        &self.included
    }

    /// The tariff with the plans that it includes: one for each of [`Tariff::includes`].
    ///
    /// # Errors
    /// What only the whole shows: currencies that differ, a charge that no included plan has, limits.
    pub fn including(&self, included: Vec<IncludedTariff>) -> Result<Self, TariffErrors> {
        let json = Json::parse(&self.canonical)?;
        let plan = document::read(&json, Some(&documents(&included)?))?;
        Ok(Self {
            plan: Arc::new(plan),
            canonical: Arc::clone(&self.canonical),
            included: included.into(),
            not_included: None,
        })
    }

    /// The tariff, which cannot be billed because of what it includes.
    #[must_use]
    pub fn not_including(&self, faults: TariffErrors) -> Self {
        Self { not_included: Some(Arc::new(faults)), ..self.clone() }
    }

    /// Why what it includes keeps it from being billed.
    pub(crate) fn not_included(&self) -> Option<&TariffErrors> {
        self.not_included.as_deref()
    }
}

/// The documents of included plans, to be read with the one that includes them.
pub(super) fn documents(included: &[IncludedTariff]) -> Result<Vec<IncludedDocument<'_>>, TariffErrors> {
    let mut documents = Vec::with_capacity(included.len());
    for IncludedTariff { name, plan_id, version, tariff } in included {
        let (json, included) = (Json::parse(&tariff.canonical)?, self::documents(&tariff.included)?);
        documents.push(IncludedDocument { name, plan_id, version: *version, json, included });
    }
    Ok(documents)
}
