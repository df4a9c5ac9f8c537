//! Step 4 of a comparison: reading everything its numbers depend on, and the record of what was read.
//!
//! Versions are read before the data they count: what changes in between is found by the check before the insert.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chrono::{Days, NaiveDate};
use itertools::Itertools as _;

use super::digest::digest;
use super::error::NotInForce;
use super::includes::{Library, put_together, put_together_files, versions_in_force};
use super::shared_inputs::{Ranges, SharedInputs};
use super::tariffs::TariffCache;
use super::{ComparisonError, NaturalKey};
use crate::engine::{self, ENGINE_VERSION, Options, PlanToBill, PriceSeries, Question, VersionInForce};
use crate::shared;
use crate::store::{ComparisonRow, PlanVersion, RecordedCycle, RecordedInputs, RecordedPlan, RecordedTerms, Store};
use crate::usage::{Channel, Readings, Series};
use crate::words::{BillingPeriod, CustomerDocument, InputName, PlanId, PlanReference, TenantId};

/// Most days that one billing month of a cycle can have: how far back a look-back of `n` months can reach.
const MAX_MONTH_DAYS: u64 = 400;

/// The inputs of one comparison and their record.
pub(super) struct Inputs {
    /// What is stored beside the answer and checked before it is stored.
    pub recorded: RecordedInputs,
    /// What the engine is asked.
    pub question: Question,
    /// Instants of the readings, seconds since the epoch.
    pub window: Range<i64>,
}

/// Reads the inputs of a question.
///
/// # Errors
/// [`ComparisonError::NotFound`], [`ComparisonError::PlansNotFound`], [`ComparisonError::PlansNotInForce`], or the
/// store's.
pub(super) fn read(
    store: &dyn Store,
    tariffs: &TariffCache,
    key: &NaturalKey,
    options: &Options,
) -> Result<Inputs, ComparisonError> {
    let customer = store
        .customer(key.tenant(), key.customer())?
        .ok_or_else(|| ComparisonError::NotFound { what: "customer", id: key.customer().to_string() })?;
    let plan_ids: Vec<&PlanId> = key.plans().iter().map(PlanReference::plan_id).unique().collect();
    let versions = store.plan_versions(key.tenant(), &plan_ids)?;
    let references = key.plans().iter().map(|reference| (reference, u32::MAX));
    let plans = plans_to_bill(tariffs, key.tenant(), key.period(), references, &versions)?;
    let library = Library::read(store, tariffs, key.tenant(), &plans, &versions, |_| u32::MAX)?;
    let (plans, included) = put_together(&library, tariffs, key.tenant(), plans);
    let calendar = Calendar::read(store, key.tenant(), &customer.document, key.period(), &plans)?;
    let shared = SharedInputs::read(store, key.tenant(), &plans, &calendar.ranges(key.period(), &plans))?;
    let usage = store.usage(key.tenant(), key.customer(), calendar.window.clone())?;

    let question = Question {
        time_zone: customer.document.time_zone,
        period: key.period(),
        months: calendar.months,
        months_registered: calendar.months_registered,
        earlier_months: calendar.earlier_months,
        readings: usage.readings,
        attributes: used_attributes(&customer.document, &plans),
        calendars: shared.calendars,
        price_series: shared.price_series,
        event_lists: shared.event_lists,
        plans,
        options: options.clone(),
    };
    let newest_block = usage.blocks.iter().map(|block| block.revision).max().unwrap_or(0);
    let recorded = RecordedInputs {
        // The head was read before the blocks: an import in between is in the blocks.
        usage_revision: customer.usage_revision.max(newest_block),
        customer_version: customer.version,
        blocks: usage.blocks,
        plans: recorded_plans(&question.plans, &versions),
        included,
        cycle: calendar.cycle,
        cuts: question.months.iter().skip(1).map(BillingPeriod::start).collect(),
        shared: shared.recorded,
        terms: Some(RecordedTerms {
            min_coverage: options.min_coverage,
            split_intervals_even: options.split_intervals_even,
            months_registered: question.months_registered,
            earlier_months: question.earlier_months.iter().map(BillingPeriod::start).collect(),
        }),
        engine: ENGINE_VERSION,
        digest: digest(&question),
    };
    Ok(Inputs { recorded, question, window: calendar.window })
}

/// The days of a question: its billing months, those its plans look back on, and the instants of both.
pub(super) struct Calendar {
    /// They tile the period.
    pub months: Vec<BillingPeriod>,
    /// Whether they are registered ones, each whole however many days it has.
    pub months_registered: bool,
    /// Before the period, oldest first.
    pub earlier_months: Vec<BillingPeriod>,
    /// Seconds since the epoch.
    pub window: Range<i64>,
    /// The registered periods that were looked at.
    pub cycle: Option<RecordedCycle>,
}

impl Calendar {
    /// Reads the registered periods of the customer's cycle and cuts the period at them.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn read(
        store: &dyn Store,
        tenant: &TenantId,
        customer: &CustomerDocument,
        period: BillingPeriod,
        plans: &[PlanToBill],
    ) -> Result<Self, ComparisonError> {
        let n_earlier = look_back_months(plans);
        let Some(cycle) = &customer.billing_cycle else {
            return Ok(Self::cut(customer, period, n_earlier, &[]));
        };
        let reach = Days::new(u64::from(n_earlier) * MAX_MONTH_DAYS);
        let days = period.start().checked_sub_days(reach).unwrap_or(NaiveDate::MIN)..period.end();
        let registered = store.cycle_periods(tenant, cycle, &days)?;
        let cycle = RecordedCycle { id: cycle.clone(), start: days.start, end: days.end, n_periods: registered.len() };
        Ok(Self { cycle: Some(cycle), ..Self::cut(customer, period, n_earlier, &registered) })
    }

    /// The calendar that a row was made with; `None` when other periods have been registered since.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn recorded(
        store: &dyn Store,
        tenant: &TenantId,
        customer: &CustomerDocument,
        row: &ComparisonRow,
        plans: &[PlanToBill],
    ) -> Result<Option<Self>, ComparisonError> {
        let registered = match &row.inputs.cycle {
            Some(cycle) => match unchanged_cycle(store, tenant, cycle)? {
                Some(registered) => registered,
                None => return Ok(None),
            },
            None => Vec::new(),
        };
        Ok(Some(Self::cut(customer, row.period, look_back_months(plans), &registered)))
    }

    /// What the question asks of calendars, price series and event lists.
    pub(super) fn ranges(&self, period: BillingPeriod, plans: &[PlanToBill]) -> Ranges {
        let first = self.earlier_months.first().unwrap_or(&period).start();
        Ranges::new(&(first..period.end()), &self.window, plans)
    }

    /// The calendar of billing months that were cut before.
    ///
    /// * `months`: they tile the period. `earlier_months`: oldest first, adjoining it.
    pub(super) fn of_months(
        time_zone: chrono_tz::Tz,
        period: BillingPeriod,
        months: Vec<BillingPeriod>,
        months_registered: bool,
        earlier_months: Vec<BillingPeriod>,
    ) -> Self {
        let end = engine::instants(time_zone, &period).end;
        let start = engine::instants(time_zone, earlier_months.first().unwrap_or(&period)).start;
        Self { months, months_registered, earlier_months, window: start..end, cycle: None }
    }

    fn cut(customer: &CustomerDocument, period: BillingPeriod, n_earlier: u32, cycle: &[BillingPeriod]) -> Self {
        Self::of_months(
            customer.time_zone,
            period,
            engine::billing_months(&period, cycle),
            engine::is_registered(&period, cycle),
            engine::earlier_months(&period, n_earlier, cycle),
        )
    }
}

/// The registered periods that a row recorded; `None` when there are others now.
///
/// # Errors
/// The store's.
pub(super) fn unchanged_cycle(
    store: &dyn Store,
    tenant: &TenantId,
    cycle: &RecordedCycle,
) -> Result<Option<Vec<BillingPeriod>>, ComparisonError> {
    let registered = store.cycle_periods(tenant, &cycle.id, &(cycle.start..cycle.end))?;
    Ok((registered.len() == cycle.n_periods).then_some(registered))
}

/// Billing months before the first one that any of the plans reads.
pub(super) fn look_back_months(plans: &[PlanToBill]) -> u32 {
    let tariffs = plans.iter().flat_map(|plan| &plan.versions).map(|version| &version.tariff);
    tariffs.map(|tariff| tariff.look_back_months()).max().unwrap_or(0)
}

/// The customer's attributes that one of the plans refers to.
pub(super) fn used_attributes(
    customer: &CustomerDocument,
    plans: &[PlanToBill],
) -> BTreeMap<String, crate::words::AttributeValue> {
    let tariffs = plans.iter().flat_map(|plan| &plan.versions).map(|version| &version.tariff);
    let used: BTreeSet<&String> = tariffs.flat_map(|tariff| tariff.attributes()).collect();
    customer
        .attributes
        .iter()
        .filter(|(name, _)| used.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Plans with their versions in force on the days of a period.
///
/// * `references`: each with the highest version that counts.
///
/// # Errors
/// [`ComparisonError::PlansNotFound`], [`ComparisonError::PlansNotInForce`].
pub(super) fn plans_to_bill<'a>(
    tariffs: &TariffCache,
    tenant: &TenantId,
    period: BillingPeriod,
    references: impl Iterator<Item = (&'a PlanReference, u32)>,
    versions: &BTreeMap<PlanId, Vec<PlanVersion>>,
) -> Result<Vec<PlanToBill>, ComparisonError> {
    let mut unknown = Vec::new();
    let mut not_in_force = Vec::new();
    let mut plans = Vec::new();
    for (reference, newest) in references {
        let all = versions.get(reference.plan_id()).map_or(&[][..], Vec::as_slice);
        let all: Vec<&PlanVersion> = all.iter().filter(|version| version.version <= newest).collect();
        let chosen = match reference.pinned_version() {
            Some(number) => match all.iter().find(|version| version.version == number) {
                Some(version) => vec![(*version, period)],
                None => Vec::new(),
            },
            None if all.is_empty() => Vec::new(),
            None => match versions_in_force(period, &all) {
                Ok(chosen) => chosen,
                Err(days) => {
                    let pinnable = all.iter().map(|version| version.version).collect();
                    not_in_force.push(NotInForce { reference: reference.clone(), days, versions: pinnable });
                    continue;
                }
            },
        };
        if chosen.is_empty() {
            unknown.push(reference.clone());
            continue;
        }
        let versions = chosen
            .into_iter()
            .map(|(version, days)| {
                let tariff = tariffs.compile(tenant, version)?;
                Ok(VersionInForce { version: version.version, days, tariff })
            })
            .collect::<Result<_, ComparisonError>>()?;
        plans.push(PlanToBill { reference: reference.clone(), versions });
    }
    if !unknown.is_empty() {
        return Err(ComparisonError::PlansNotFound(unknown));
    }
    if !not_in_force.is_empty() {
        return Err(ComparisonError::PlansNotInForce(not_in_force));
    }
    Ok(plans)
}

fn recorded_plans(plans: &[PlanToBill], versions: &BTreeMap<PlanId, Vec<PlanVersion>>) -> Vec<RecordedPlan> {
    let newest = |id: &PlanId| versions.get(id).and_then(|all| all.iter().map(|v| v.version).max()).unwrap_or(0);
    plans
        .iter()
        .map(|plan| RecordedPlan {
            reference: plan.reference.clone(),
            // Where only an included plan changes, the version stays.
            versions: plan.versions.iter().map(|version| version.version).dedup().collect(),
            newest_version: newest(plan.reference.plan_id()),
        })
        .collect()
}

/// The question that another record of inputs asks, with readings, customer, cuts and what plans name of the
/// caller's choice: the cross bills of a difference.
pub(super) fn question_of(
    customer: &CustomerDocument,
    period: BillingPeriod,
    calendar: &Calendar,
    readings: BTreeMap<Channel, Series>,
    shared: SharedInputs,
    plans: Vec<PlanToBill>,
    options: &Options,
) -> Question {
    Question {
        time_zone: customer.time_zone,
        period,
        months: calendar.months.clone(),
        months_registered: calendar.months_registered,
        earlier_months: calendar.earlier_months.clone(),
        readings,
        attributes: used_attributes(customer, &plans),
        calendars: shared.calendars,
        price_series: shared.price_series,
        event_lists: shared.event_lists,
        plans,
        options: options.clone(),
    }
}

/// Calendars, price series and event lists at hand, by name.
#[derive(Debug, Clone, Default)]
pub struct SharedFiles {
    /// What plans name in `holidays`.
    pub calendars: BTreeMap<InputName, shared::Calendar>,
    /// What prices name as `series`.
    pub price_series: BTreeMap<InputName, PriceSeries>,
    /// What rules name in `during`.
    pub event_lists: BTreeMap<InputName, shared::EventList>,
}

/// The question that stored readings would give, from readings at hand: what `samebill bill` asks. Its numbers are those
/// of the service because it is cut, sorted and narrowed down here as a stored one is.
///
/// * `readings`: by channel, sorted and free of overlap; those outside the input window are left out.
/// * `plans`: in any order; those that others of them include are not compared themselves.
/// * `shared`: whole; what no plan names is left out.
pub fn offline_question(
    customer: &CustomerDocument,
    period: BillingPeriod,
    plans: Vec<PlanToBill>,
    readings: &BTreeMap<Channel, Readings>,
    shared: &SharedFiles,
    options: &Options,
) -> Question {
    let mut plans = put_together_files(plans);
    plans.sort_by(|a, b| a.reference.cmp(&b.reference));
    let calendar = Calendar::cut(customer, period, look_back_months(&plans), &[]);
    let series = readings
        .iter()
        .map(|(channel, readings)| {
            let within = readings.iter().filter(|reading| calendar.window.contains(&reading.start));
            (channel.clone(), Series::from_sorted(&within.collect::<Vec<_>>()))
        })
        .filter(|(_, series)| !series.is_empty())
        .collect();
    let shared = SharedInputs::offline(shared, &plans, &calendar.ranges(period, &plans));
    question_of(customer, period, &calendar, series, shared, plans, options)
}
