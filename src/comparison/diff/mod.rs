//! Why two answers to one question differ: which inputs changed, and line by line what that did to each bill.
//!
//! The lines come from the stored bytes. The split of a plan's difference comes from *cross bills*: the inputs are
//! changed over one kind after the other, in the order engine, days, prices, customer, readings, and the engine bills each
//! step, so that the parts add up to the difference exactly. What a step is credited with depends on that order (the
//! new price on the old use, then the new use at the new price), as in any such split. Where old readings are no
//! longer kept there is no split, and the answer says so.

mod cross;
mod lines;

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use rust_decimal::Decimal;
use serde::Serialize;

use super::shared_inputs::SharedInputs;
use super::{ComparisonError, Service};
use crate::engine::ComparisonResult as Bills;
use crate::store::{ComparisonRow, SharedKind, StoredComparison};
use crate::usage::Channel;
use crate::words::{ComparisonId, TenantId, Timestamp};

pub(super) use cross::Split;
pub(super) use lines::LineDifference;

/// The difference between two comparisons of one chain: `after` less `before`.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The older side, or what was asked for with `with`.
    pub before: Side,
    /// The comparison asked for.
    pub after: Side,
    /// ISO 4217.
    pub currency: String,
    /// Which inputs differ.
    pub changed: Changed,
    /// One a plan, in the order of the references.
    pub plans: Vec<PlanDifference>,
}

/// One side of a difference.
#[derive(Debug, Serialize)]
pub struct Side {
    /// The comparison.
    pub id: ComparisonId,
    /// When it became current.
    pub created_at: Timestamp,
    /// Why it was superseded, if it was.
    pub superseded_reason: Option<String>,
    /// What was said about that.
    pub superseded_note: Option<String>,
    /// Usage revision it was made from.
    pub usage_revision: i64,
    /// Customer version it was made from.
    pub customer_version: i64,
    /// Engine that made it.
    pub engine: i32,
    /// Digest of the contents of all inputs.
    pub inputs_digest: String,
    /// The cheapest plan.
    pub cheapest_plan_id: Option<String>,
}

/// Inputs that differ between the sides.
#[derive(Debug, Default, Serialize)]
pub struct Changed {
    /// Local days whose readings differ; `None` when the readings of a side are no longer kept.
    pub usage: Option<Vec<DayDifference>>,
    /// Plans whose versions differ.
    pub plan_versions: Vec<VersionDifference>,
    /// Plans that these include whose versions differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub included_plan_versions: Vec<VersionDifference>,
    /// Calendars with other dates among those that the plans look at.
    pub calendars: Vec<SharedDifference>,
    /// Price series with other prices within the input window.
    pub price_series: Vec<SharedDifference>,
    /// Event lists with other instants among those that the plans look at.
    pub event_lists: Vec<SharedDifference>,
    /// Customer versions, where attributes that the plans use or the time zone differ.
    pub customer: bool,
    /// Whether the billing months are cut elsewhere.
    pub billing_months: bool,
    /// Whether another engine computed.
    pub engine: bool,
}

/// One channel of one local day.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct DayDifference {
    /// The local day.
    pub date: NaiveDate,
    /// The channel.
    pub channel: Channel,
    /// Energy before.
    pub kwh_before: String,
    /// Energy after.
    pub kwh_after: String,
    /// Readings that differ, that are new or that are gone.
    pub intervals: u64,
}

/// The versions of one plan.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct VersionDifference {
    /// The plan reference.
    pub plan_id: String,
    /// Versions in force before, in date order.
    pub before: Vec<u32>,
    /// Versions in force after.
    pub after: Vec<u32>,
}

/// The versions of one calendar, price series or event list; `None` where the plans of a side do not name it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct SharedDifference {
    /// Its id.
    pub id: String,
    /// Version before.
    pub before: Option<u32>,
    /// Version after.
    pub after: Option<u32>,
}

/// One plan's bill before and after.
#[derive(Debug, Serialize)]
pub struct PlanDifference {
    /// The plan reference.
    pub plan_id: String,
    /// Total before.
    pub total_before: String,
    /// Total after.
    pub total_after: String,
    /// `total_after - total_before`.
    pub difference: String,
    /// Rank before.
    pub rank_before: Option<u32>,
    /// Rank after.
    pub rank_after: Option<u32>,
    /// What the difference comes from; `None` when the inputs of a side are no longer kept, or when a step between
    /// the sides has no bill.
    pub split: Option<Split>,
    /// Lines that differ, in the order of the bill.
    pub line_items: Vec<LineDifference>,
}

impl Service {
    /// Holds a comparison against its predecessor, or against another one of its chain.
    ///
    /// # Errors
    /// [`ComparisonError::NotFound`], [`ComparisonError::NoPredecessor`], [`ComparisonError::NotOneChain`].
    pub async fn diff(
        &self,
        tenant: &TenantId,
        id: ComparisonId,
        with: Option<ComparisonId>,
    ) -> Result<Difference, ComparisonError> {
        let (before, after) = self.sides(tenant, id, with).await?;
        let (before_bills, after_bills) = (bills(&before)?, bills(&after)?);
        let crossing = if before.row.inputs.digest == after.row.inputs.digest {
            cross::Crossing::same(&before_bills)
        } else {
            self.cross(tenant, &before.row, &after.row, &before_bills).await?
        };

        let [calendars, price_series, event_lists] = self.shared_differences(tenant, &before.row, &after.row).await?;
        let old: BTreeMap<&str, _> = before_bills.plans.iter().map(|plan| (plan.plan_id.as_str(), plan)).collect();
        let mut plans = Vec::with_capacity(after_bills.plans.len());
        for new in &after_bills.plans {
            let old = old.get(new.plan_id.as_str()).ok_or_else(|| {
                ComparisonError::Internal(format!("{} does not bill plan {}", before.row.id, new.plan_id))
            })?;
            plans.push(PlanDifference {
                plan_id: new.plan_id.clone(),
                total_before: old.total.clone(),
                total_after: new.total.clone(),
                difference: difference(&old.total, &new.total)?,
                rank_before: old.rank,
                rank_after: new.rank,
                split: crossing.split(&new.plan_id, &new.total)?,
                line_items: lines::differences(old, new)?,
            });
        }
        Ok(Difference {
            before: side(&before.row, &before_bills),
            after: side(&after.row, &after_bills),
            currency: after_bills.currency.clone(),
            changed: Changed {
                usage: crossing.days,
                plan_versions: version_differences(compared(&before.row), compared(&after.row)),
                included_plan_versions: version_differences(included(&before.row), included(&after.row)),
                calendars,
                price_series,
                event_lists,
                customer: crossing.customer_changed,
                billing_months: before.row.inputs.cuts != after.row.inputs.cuts,
                engine: before.row.inputs.engine != after.row.inputs.engine,
            },
            plans,
        })
    }

    /// Calendars, price series and event lists whose used parts differ.
    async fn shared_differences(
        &self,
        tenant: &TenantId,
        before: &ComparisonRow,
        after: &ComparisonRow,
    ) -> Result<[Vec<SharedDifference>; 3], ComparisonError> {
        let (tenant, before, after) = (tenant.clone(), before.inputs.shared.clone(), after.inputs.shared.clone());
        if before == after {
            return Ok([Vec::new(), Vec::new(), Vec::new()]);
        }
        self.store
            .read(move |store| {
                let before = SharedInputs::recorded(store, &tenant, &before)?;
                let after = SharedInputs::recorded(store, &tenant, &after)?;
                let of_kind = |kind| {
                    let found = SharedInputs::differences(&before, &after, kind).into_iter();
                    found.map(|(id, before, after)| SharedDifference { id, before, after }).collect()
                };
                Ok::<_, ComparisonError>(SharedKind::ALL.map(of_kind))
            })
            .await
    }

    async fn sides(
        &self,
        tenant: &TenantId,
        id: ComparisonId,
        with: Option<ComparisonId>,
    ) -> Result<(StoredComparison, StoredComparison), ComparisonError> {
        let tenant = tenant.clone();
        self.store
            .read(move |store| {
                let read = |id: ComparisonId| {
                    store
                        .comparison(&tenant, id)?
                        .ok_or_else(|| ComparisonError::NotFound { what: "comparison", id: id.to_string() })
                };
                let after = read(id)?;
                let other = with.or(after.row.predecessor_id).ok_or(ComparisonError::NoPredecessor(id))?;
                let before = read(other)?;
                if before.row.key_digest != after.row.key_digest {
                    return Err(ComparisonError::NotOneChain { id, with: other });
                }
                Ok((before, after))
            })
            .await
    }
}

fn bills(stored: &StoredComparison) -> Result<Bills, ComparisonError> {
    serde_json::from_slice(&stored.result)
        .map_err(|e| ComparisonError::Internal(format!("the stored result of {} cannot be read: {e}", stored.row.id)))
}

fn side(row: &ComparisonRow, bills: &Bills) -> Side {
    Side {
        id: row.id,
        created_at: row.created_at,
        superseded_reason: row.superseded.as_ref().map(|s| s.reason.clone()),
        superseded_note: row.superseded.as_ref().and_then(|s| s.note.clone()),
        usage_revision: row.inputs.usage_revision,
        customer_version: row.inputs.customer_version,
        engine: row.inputs.engine,
        inputs_digest: hex::encode(row.inputs.digest),
        cheapest_plan_id: bills.cheapest_plan_id.clone(),
    }
}

fn version_differences<'a>(
    before: impl Iterator<Item = (&'a str, &'a Vec<u32>)>,
    after: impl Iterator<Item = (&'a str, &'a Vec<u32>)>,
) -> Vec<VersionDifference> {
    let (before, after): (BTreeMap<_, _>, BTreeMap<_, _>) = (before.collect(), after.collect());
    let ids: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let of = |side: &BTreeMap<&str, &Vec<u32>>, id| side.get(id).map_or_else(Vec::new, |versions| (*versions).clone());
    ids.into_iter()
        .map(|id| VersionDifference { plan_id: id.to_owned(), before: of(&before, id), after: of(&after, id) })
        .filter(|versions| versions.before != versions.after)
        .collect()
}

/// Plan references and the versions that were in force.
fn compared(row: &ComparisonRow) -> impl Iterator<Item = (&str, &Vec<u32>)> {
    row.inputs.plans.iter().map(|plan| (plan.reference.as_str(), &plan.versions))
}

/// Included plans and the versions that were used.
fn included(row: &ComparisonRow) -> impl Iterator<Item = (&str, &Vec<u32>)> {
    row.inputs.included.iter().map(|plan| (plan.plan_id.as_str(), &plan.versions))
}

/// An amount or a quantity of a stored result.
fn decimal(text: &str) -> Result<Decimal, ComparisonError> {
    Decimal::from_str_exact(text)
        .map_err(|e| ComparisonError::Internal(format!("{text:?} in a stored result is no decimal: {e}")))
}

/// `after - before`, with the decimals of the more exact one.
fn difference(before: &str, after: &str) -> Result<String, ComparisonError> {
    decimal(after)?
        .checked_sub(decimal(before)?)
        .map(|difference| difference.to_string())
        .ok_or_else(|| ComparisonError::Internal("a difference of amounts does not fit".to_owned()))
}
