//! What a question is built from, wherever it comes from: a store, or the entries of a zip.

use std::collections::BTreeMap;

use super::super::includes::{Library, put_together};
use super::super::inputs::{Calendar, SharedFiles, plans_to_bill, question_of};
use super::super::shared_inputs::SharedInputs;
use super::super::tariffs::TariffCache;
use super::super::{ComparisonError, NaturalKey};
use crate::engine::{self, Options, PlanToBill, PriceSeries, Question};
use crate::shared;
use crate::store::{PlanVersion, RecordedInclude};
use crate::usage::{Channel, Series};
use crate::words::{BillingPeriod, CustomerDocument, InputName, PlanId, PlanReference};

/// The inputs of one answer, narrowed down to what it used.
#[derive(Debug)]
pub(super) struct Material {
    /// The question.
    pub(super) key: NaturalKey,
    /// The customer in the version that was used.
    pub(super) customer: CustomerDocument,
    /// Versions that were used, of the plans and of those they include. On every day the highest one that applies was
    /// in force, and with the others gone it still is.
    pub(super) plans: BTreeMap<PlanId, Vec<PlanVersion>>,
    /// Of the input window.
    pub(super) readings: BTreeMap<Channel, Series>,
    /// Whole, with their versions.
    pub(super) calendars: BTreeMap<InputName, (u32, shared::Calendar)>,
    /// What holds within the input window, with their versions.
    pub(super) price_series: BTreeMap<InputName, (u32, PriceSeries)>,
    /// Whole, with their versions.
    pub(super) event_lists: BTreeMap<InputName, (u32, shared::EventList)>,
    /// How the period was cut.
    pub(super) months: Months,
    /// Settings.
    pub(super) options: Options,
}

/// Billing months.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Months {
    /// They tile the period.
    pub(super) of_period: Vec<BillingPeriod>,
    /// Whether they are registered ones.
    pub(super) are_registered: bool,
    /// Oldest first, adjoining the period.
    pub(super) earlier: Vec<BillingPeriod>,
}

impl Months {
    /// As a calendar has them.
    pub(super) fn of(calendar: &Calendar) -> Self {
        Self {
            of_period: calendar.months.clone(),
            are_registered: calendar.months_registered,
            earlier: calendar.earlier_months.clone(),
        }
    }

    /// From the bounds that a row recorded.
    ///
    /// * `cuts`: inner bounds between the months of the period.
    /// * `earlier`: first days of the months before it.
    ///
    /// `None` when these are no bounds in order.
    pub(super) fn from_bounds(
        period: BillingPeriod,
        cuts: &[chrono::NaiveDate],
        are_registered: bool,
        earlier: &[chrono::NaiveDate],
    ) -> Option<Self> {
        let between = |bounds: Vec<chrono::NaiveDate>| -> Option<Vec<BillingPeriod>> {
            bounds.windows(2).map(|pair| BillingPeriod::new(pair[0], pair[1]).ok()).collect()
        };
        let bounds = [period.start()].into_iter().chain(cuts.iter().copied()).chain([period.end()]);
        let earlier = earlier.iter().copied().chain([period.start()]);
        Some(Self { of_period: between(bounds.collect())?, are_registered, earlier: between(earlier.collect())? })
    }

    /// Whether the months tile the period, and the earlier ones, as many as the plans read, adjoin it: what the engine
    /// relies on.
    fn fit(&self, period: BillingPeriod, n_earlier: u32) -> bool {
        let adjoin = |months: &[BillingPeriod]| months.windows(2).all(|pair| pair[0].end() == pair[1].start());
        let ends = |months: &[BillingPeriod]| Some((months.first()?.start(), months.last()?.end()));
        ends(&self.of_period) == Some((period.start(), period.end()))
            && adjoin(&self.of_period)
            && adjoin(&self.earlier)
            && self.earlier.last().is_none_or(|last| last.end() == period.start())
            && self.earlier.len() == engine::earlier_months(&period, n_earlier, &[]).len()
    }
}

/// A question built again, and the included plans that were put to it.
pub(super) struct Built {
    /// What the engine is asked.
    pub(super) question: Question,
    /// Included plans with the versions that were used.
    pub(super) included: Vec<RecordedInclude>,
}

impl Material {
    /// The plans with the versions in force, those they include put to them.
    ///
    /// # Errors
    /// A version that is not there or whose document cannot be read.
    pub(super) fn plans(
        &self,
        tariffs: &TariffCache,
    ) -> Result<(Vec<PlanToBill>, Vec<RecordedInclude>), ComparisonError> {
        let references = self.key.plans().iter().map(|reference: &PlanReference| (reference, u32::MAX));
        let plans = plans_to_bill(tariffs, self.key.tenant(), self.key.period(), references, &self.plans)?;
        let library = Library::of_known(tariffs, self.key.tenant(), &plans, &self.plans)?;
        Ok(put_together(&library, tariffs, self.key.tenant(), plans))
    }

    /// The question.
    ///
    /// # Errors
    /// As [`Self::plans`]; billing months that do not tile the period.
    pub(super) fn question(&self, tariffs: &TariffCache) -> Result<Built, ComparisonError> {
        let period = self.key.period();
        let (plans, included) = self.plans(tariffs)?;
        let Months { of_period, are_registered, earlier } = self.months.clone();
        if !self.months.fit(period, super::super::inputs::look_back_months(&plans)) {
            let message = "the billing months do not tile the period and what its plans look back on";
            return Err(ComparisonError::Internal(message.to_owned()));
        }
        let calendar = Calendar::of_months(self.customer.time_zone, period, of_period, are_registered, earlier);
        let files = SharedFiles {
            calendars: self.calendars.iter().map(|(id, (_, dates))| (id.clone(), dates.clone())).collect(),
            price_series: self.price_series.iter().map(|(id, (_, prices))| (id.clone(), prices.clone())).collect(),
            event_lists: self.event_lists.iter().map(|(id, (_, list))| (id.clone(), list.clone())).collect(),
        };
        let shared = SharedInputs::offline(&files, &plans, &calendar.ranges(period, &plans));
        let readings = self.readings.clone();
        let question = question_of(&self.customer, period, &calendar, readings, shared, plans, &self.options);
        Ok(Built { question, included })
    }
}
