//! The cross bills of a difference: the inputs of one side, changed over to the other side's one kind at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::DateTime;
use chrono_tz::Tz;
use itertools::Itertools as _;
use rust_decimal::Decimal;
use serde::Serialize;

use super::{DayDifference, decimal};
use crate::comparison::includes::{Library, put_together};
use crate::comparison::inputs::{Calendar, plans_to_bill, question_of};
use crate::comparison::shared_inputs::SharedInputs;
use crate::comparison::tariffs::TariffCache;
use crate::comparison::{ComparisonError, Service};
use crate::engine::{self, ComparisonResult as Bills, Options, PlanToBill, Question};
use crate::store::{ComparisonRow, Store};
use crate::usage::{Channel, Reading, Series};
use crate::words::{CustomerDocument, PlanId, PlanReference, TenantId};

/// The parts of a difference; they add up to it exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Split {
    /// What other readings did.
    pub readings: String,
    /// What other plan versions and other prices of a series did.
    pub prices: String,
    /// What other bounds of billing months, other holidays and other events did.
    pub days: String,
    /// What other attributes or another time zone of the customer did.
    pub customer: String,
    /// What another engine did.
    pub engine: String,
}

/// What the two sides were made from.
struct Inputs {
    customer: CustomerDocument,
    calendar: Calendar,
    readings: BTreeMap<Channel, Series>,
    shared: SharedInputs,
    plans: Vec<PlanToBill>,
}

/// The outcome of all cross bills.
pub(super) struct Crossing {
    /// Local days whose readings differ; `None` when they are no longer kept.
    pub(super) days: Option<Vec<DayDifference>>,
    /// Whether the customer's part of the inputs differs.
    pub(super) customer_changed: bool,
    /// Totals by plan after each step: before, engine, days, prices, customer. `None` without a split.
    totals: Option<[BTreeMap<String, Decimal>; 5]>,
}

impl Crossing {
    /// Of two sides with the same inputs.
    pub(super) fn same(before: &Bills) -> Self {
        let totals = totals(before).ok();
        Self {
            days: Some(Vec::new()),
            customer_changed: false,
            totals: totals.map(|t| [t.clone(), t.clone(), t.clone(), t.clone(), t]),
        }
    }

    /// The parts of one plan's difference.
    pub(super) fn split(&self, plan: &str, total_after: &str) -> Result<Option<Split>, ComparisonError> {
        let Some(totals) = &self.totals else { return Ok(None) };
        let Some(steps) = totals.iter().map(|step| step.get(plan).copied()).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let part = |from: Decimal, to: Decimal| to.checked_sub(from).map(|part| part.to_string());
        let after = decimal(total_after)?;
        let parts = (|| {
            Some(Split {
                engine: part(steps[0], steps[1])?,
                days: part(steps[1], steps[2])?,
                prices: part(steps[2], steps[3])?,
                customer: part(steps[3], steps[4])?,
                readings: part(steps[4], after)?,
            })
        })();
        Ok(parts)
    }
}

impl Service {
    /// Bills the steps between two sides.
    pub(super) async fn cross(
        &self,
        tenant: &TenantId,
        before: &ComparisonRow,
        after: &ComparisonRow,
        before_bills: &Bills,
    ) -> Result<Crossing, ComparisonError> {
        let permit = self.engine.permit().await?;
        let (tariffs, tenant) = (Arc::clone(&self.tariffs), tenant.clone());
        let (old_row, new_row) = (before.clone(), after.clone());
        let read = self
            .store
            .read(move |store| {
                let old = inputs_of(store, &tariffs, &tenant, &old_row)?;
                let new = inputs_of(store, &tariffs, &tenant, &new_row)?;
                Ok::<_, ComparisonError>(old.zip(new))
            })
            .await?;
        let Some((old, new)) = read else {
            return Ok(Crossing { days: None, customer_changed: false, totals: None });
        };

        let period = before.period;
        let days = day_differences(new.customer.time_zone, &old.readings, &new.readings);
        let question = |customer: &Inputs, calendar: &Inputs, plans: &Inputs| {
            // What only the other side's plans name comes from that side.
            let shared = SharedInputs::combine(&calendar.shared, &plans.shared, [&old.shared, &new.shared]);
            let (calendar, plans) = (&calendar.calendar, plans.plans.clone());
            question_of(&customer.customer, period, calendar, old.readings.clone(), shared, plans, &self.limits.options)
        };
        let steps = [
            question(&old, &old, &old),
            question(&old, &new, &old),
            question(&old, &new, &new),
            question(&new, &new, &new),
        ];
        let used = |inputs: &Inputs| {
            question_of(
                &inputs.customer,
                period,
                &new.calendar,
                BTreeMap::new(),
                SharedInputs::default(),
                new.plans.clone(),
                &Options::default(),
            )
        };
        let (used_before, used_after) = (used(&old), used(&new));
        let customer_changed =
            used_before.attributes != used_after.attributes || used_before.time_zone != used_after.time_zone;
        let billed = self.engine.run(&permit, move || bill_steps(&steps)).await?;
        let totals = match (billed, totals(before_bills)) {
            (Some([engine, days, prices, customer]), Ok(before)) => Some([before, engine, days, prices, customer]),
            _ => None,
        };
        Ok(Crossing { days: Some(days), customer_changed, totals })
    }
}

/// Totals after each step; `None` when a step has no bill.
fn bill_steps(steps: &[Question; 4]) -> Option<[BTreeMap<String, Decimal>; 4]> {
    let mut billed = Vec::with_capacity(steps.len());
    for step in steps {
        let bills = engine::compare(step).ok()?;
        billed.push(totals(&bills).ok()?);
    }
    billed.try_into().ok()
}

fn totals(bills: &Bills) -> Result<BTreeMap<String, Decimal>, ComparisonError> {
    bills.plans.iter().map(|plan| Ok((plan.plan_id.clone(), decimal(&plan.total)?))).collect()
}

/// Local days on which the readings of a channel differ.
fn day_differences(
    time_zone: Tz,
    before: &BTreeMap<Channel, Series>,
    after: &BTreeMap<Channel, Series>,
) -> Vec<DayDifference> {
    let empty = Series::default();
    let channels: BTreeSet<&Channel> = before.keys().chain(after.keys()).collect();
    let mut differences = Vec::new();
    for channel in channels {
        let old: BTreeMap<i64, Reading> =
            before.get(channel).unwrap_or(&empty).readings().map(|reading| (reading.start, reading)).collect();
        let new: BTreeMap<i64, Reading> =
            after.get(channel).unwrap_or(&empty).readings().map(|reading| (reading.start, reading)).collect();
        let mut days: BTreeMap<chrono::NaiveDate, (i128, i128, u64)> = BTreeMap::new();
        for start in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            let Some(instant) = DateTime::from_timestamp(*start, 0) else { continue };
            let day = days.entry(instant.with_timezone(&time_zone).date_naive()).or_default();
            let (old, new) = (old.get(start), new.get(start));
            day.0 += old.map_or(0, |reading| i128::from(reading.milliwatt_hours));
            day.1 += new.map_or(0, |reading| i128::from(reading.milliwatt_hours));
            day.2 += u64::from(old != new);
        }
        differences.extend(days.into_iter().filter(|(_, (.., intervals))| *intervals > 0).map(
            |(date, (before, after, intervals))| DayDifference {
                date,
                channel: channel.clone(),
                kwh_before: kwh(before),
                kwh_after: kwh(after),
                intervals,
            },
        ));
    }
    differences.sort_by(|a, b| (a.date, &a.channel).cmp(&(b.date, &b.channel)));
    differences
}

fn kwh(milliwatt_hours: i128) -> String {
    Decimal::from_i128_with_scale(milliwatt_hours, 6).normalize().to_string()
}

/// What a row was made from; `None` when the store does not keep all of it any more.
fn inputs_of(
    store: &dyn Store,
    tariffs: &TariffCache,
    tenant: &TenantId,
    row: &ComparisonRow,
) -> Result<Option<Inputs>, ComparisonError> {
    let Some(customer) = store.customer_document(tenant, &row.customer_id, row.inputs.customer_version)? else {
        return Ok(None);
    };
    let Some(usage) = store.usage_at(tenant, &row.customer_id, row.window.clone(), &row.inputs.blocks)? else {
        return Ok(None);
    };
    let ids: Vec<&PlanId> = row.plan_references.iter().map(PlanReference::plan_id).unique().collect();
    let versions = store.plan_versions(tenant, &ids)?;
    let references = row.inputs.plans.iter().map(|plan| (&plan.reference, plan.newest_version));
    let plans = plans_to_bill(tariffs, tenant, row.period, references, &versions)?;
    let included = |id: &PlanId| row.inputs.included.iter().find(|plan| plan.plan_id == *id);
    let newest = |id: &PlanId| included(id).map_or(0, |plan| plan.newest_version);
    let library = Library::read(store, tariffs, tenant, &plans, &versions, newest)?;
    let (plans, _) = put_together(&library, tariffs, tenant, plans);
    let shared = SharedInputs::recorded(store, tenant, &row.inputs.shared)?;
    let calendar = Calendar::recorded(store, tenant, &customer, row, &plans)?;
    Ok(calendar.map(|calendar| Inputs { customer, calendar, readings: usage.readings, shared, plans }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Quality;

    fn hours(values: &[i64]) -> BTreeMap<Channel, Series> {
        let readings: Vec<Reading> = values
            .iter()
            .zip((0..).step_by(3600))
            .map(|(value, start)| Reading { start, seconds: 3600, milliwatt_hours: *value, quality: Quality::Measured })
            .collect();
        [(Channel::import(), Series::from_sorted(&readings))].into()
    }

    #[test]
    fn days_that_differ_are_local_days() {
        // The epoch is 01:00 in London in 1970, which kept summer time all year: 23 hours of 1 January follow.
        let mut values = vec![1_000_000; 25];
        let before = hours(&values);
        values[22] = 500_000;
        values[23] = 3_000_000;
        let london = chrono_tz::Europe::London;
        let told: Vec<_> = day_differences(london, &before, &hours(&values))
            .into_iter()
            .map(|day| (day.date.to_string(), day.kwh_before, day.kwh_after, day.intervals))
            .collect();
        let day = |date: &str, before: &str, after: &str| (date.to_owned(), before.to_owned(), after.to_owned(), 1);
        assert_eq!(told, [day("1970-01-01", "23", "22.5"), day("1970-01-02", "2", "4")]);
        assert_eq!(day_differences(london, &before, &before), []);
    }

    #[test]
    fn a_reading_that_is_gone_differs() {
        let told = day_differences(chrono_tz::UTC, &hours(&[0, 0]), &hours(&[0]));
        assert_eq!((told.len(), told[0].intervals, told[0].kwh_after.as_str()), (1, 1, "0"));
    }
}
