//! Rows as the tables hold them, and their way into the service's words. None of them leaves `store`.

mod imports;

use chrono::NaiveDate;
use diesel::prelude::*;
use sha2::{Digest, Sha256};

pub(super) use self::imports::{ImportRecord, MeterPointRecord, id_bytes, import_id};
use super::engine::UnitError;
use super::schema::{
    comparison_results, comparison_shared_inputs, comparisons, customer_versions, customers, plan_versions,
    registered_periods, shared_inputs, usage_blocks, usage_revisions,
};
use super::types::{
    ComparisonRow, Customer, NewComparison, NewPlanVersion, NewerPlanVersion, NewerSharedInput, PlanVersion,
    RecordedInputs, SharedInput, SharedInputEntry, SharedKind, SupersededBy, UsageRevision,
};
use crate::words::{BillingPeriod, ComparisonId, RegisteredPeriod, TenantId, Timestamp};

/// What is stored cannot be read as what it should be: never the caller's fault.
fn corrupt(error: impl std::fmt::Display) -> UnitError {
    UnitError::Corrupt(error.to_string())
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable, Identifiable, AsChangeset)]
#[diesel(table_name = customers, primary_key(tenant_id, id))]
pub(super) struct CustomerRecord {
    pub(super) tenant_id: String,
    pub(super) id: String,
    pub(super) version: i64,
    pub(super) usage_revision: i64,
    pub(super) document: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
}

impl CustomerRecord {
    pub(super) fn read(self) -> Result<Customer, UnitError> {
        Ok(Customer {
            id: self.id.parse().map_err(corrupt)?,
            version: self.version,
            usage_revision: self.usage_revision,
            document: serde_json::from_str(&self.document).map_err(corrupt)?,
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
        })
    }
}

#[derive(Debug, Insertable)]
#[diesel(table_name = customer_versions)]
pub(super) struct CustomerVersionRecord<'a> {
    pub(super) tenant_id: &'a str,
    pub(super) customer_id: &'a str,
    pub(super) version: i64,
    pub(super) document: &'a str,
    pub(super) created_at: i64,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = plan_versions)]
pub(super) struct PlanVersionRecord {
    pub(super) tenant_id: String,
    pub(super) plan_id: String,
    pub(super) version: i32,
    pub(super) document: String,
    pub(super) digest: Vec<u8>,
    pub(super) source: Option<String>,
    pub(super) media_type: String,
    pub(super) in_force_from: Option<NaiveDate>,
    pub(super) in_force_to: Option<NaiveDate>,
    pub(super) name: String,
    pub(super) currency: String,
    pub(super) provider: Option<String>,
    pub(super) territory: Option<String>,
    pub(super) tags: String,
    pub(super) created_at: i64,
}

impl PlanVersionRecord {
    pub(super) fn of(tenant: &TenantId, plan: &PlanVersion) -> Self {
        let content = plan.content.clone();
        Self {
            tenant_id: tenant.as_str().to_owned(),
            plan_id: plan.plan_id.as_str().to_owned(),
            version: i32::try_from(plan.version).expect("versions are counted by one"),
            digest: Sha256::digest(content.document.as_bytes()).to_vec(),
            document: content.document,
            source: content.source,
            media_type: content.media_type,
            in_force_from: content.in_force_from,
            in_force_to: content.in_force_to,
            name: content.name,
            currency: content.currency,
            provider: content.provider,
            territory: content.territory,
            tags: serde_json::to_string(&content.tags).expect("texts are JSON"),
            created_at: plan.created_at.as_micros(),
        }
    }

    pub(super) fn read(self) -> Result<PlanVersion, UnitError> {
        Ok(PlanVersion {
            plan_id: self.plan_id.parse().map_err(corrupt)?,
            version: u32::try_from(self.version).map_err(corrupt)?,
            content: NewPlanVersion {
                document: self.document,
                source: self.source,
                media_type: self.media_type,
                in_force_from: self.in_force_from,
                in_force_to: self.in_force_to,
                name: self.name,
                currency: self.currency,
                provider: self.provider,
                territory: self.territory,
                tags: serde_json::from_str(&self.tags).map_err(corrupt)?,
            },
            created_at: Timestamp::from_micros(self.created_at),
        })
    }
}

/// Plan, version, and when it was put.
pub(super) type NewerPlanVersionRecord = (String, i32, i64);

pub(super) fn read_newer(
    (plan_id, version, created_at): NewerPlanVersionRecord,
) -> Result<NewerPlanVersion, UnitError> {
    Ok(NewerPlanVersion {
        plan_id: plan_id.try_into().map_err(corrupt)?,
        version: u32::try_from(version).map_err(corrupt)?,
        created_at: Timestamp::from_micros(created_at),
    })
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = registered_periods)]
pub(super) struct PeriodRecord {
    pub(super) tenant_id: String,
    pub(super) id: String,
    pub(super) start_date: NaiveDate,
    pub(super) end_date: NaiveDate,
    pub(super) cycle: Option<String>,
    pub(super) created_at: i64,
}

impl PeriodRecord {
    pub(super) fn read(self) -> Result<RegisteredPeriod, UnitError> {
        Ok(RegisteredPeriod {
            id: self.id.parse().map_err(corrupt)?,
            start: self.start_date,
            end: self.end_date,
            cycle: self.cycle,
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = usage_blocks)]
pub(super) struct BlockRecord {
    pub(super) tenant_id: String,
    pub(super) customer_id: String,
    pub(super) channel: String,
    pub(super) month: NaiveDate,
    pub(super) revision: i64,
    pub(super) replaced_by: Option<i64>,
    pub(super) n_readings: i32,
    pub(super) data: Vec<u8>,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = usage_revisions)]
pub(super) struct UsageRevisionRecord {
    pub(super) tenant_id: String,
    pub(super) customer_id: String,
    pub(super) revision: i64,
    pub(super) created_at: i64,
    pub(super) first_start: i64,
    pub(super) last_end: i64,
    pub(super) added: i64,
    pub(super) replaced: i64,
    pub(super) file_name: Option<String>,
    pub(super) format: String,
    pub(super) sha256: Vec<u8>,
    pub(super) import_id: Option<Vec<u8>>,
    pub(super) removed: i64,
    pub(super) channels: Option<String>,
}

impl UsageRevisionRecord {
    pub(super) fn read(self) -> Result<UsageRevision, UnitError> {
        Ok(UsageRevision {
            revision: self.revision,
            created_at: Timestamp::from_micros(self.created_at),
            first_start: self.first_start,
            last_end: self.last_end,
            added: u64::try_from(self.added).map_err(corrupt)?,
            replaced: u64::try_from(self.replaced).map_err(corrupt)?,
            removed: u64::try_from(self.removed).map_err(corrupt)?,
            import_id: self.import_id.as_deref().map(import_id).transpose()?,
            channels: self.channels.as_deref().map(|text| serde_json::from_str(text).map_err(corrupt)).transpose()?,
            file_name: self.file_name,
            format: self.format,
            sha256: hex::encode(self.sha256),
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = comparisons)]
pub(super) struct ComparisonRecord {
    pub(super) tenant_id: String,
    pub(super) id: Vec<u8>,
    pub(super) customer_id: String,
    pub(super) period_start: NaiveDate,
    pub(super) period_end: NaiveDate,
    pub(super) plan_references: String,
    pub(super) key_digest: Vec<u8>,
    pub(super) key_text: String,
    pub(super) inputs: String,
    pub(super) usage_revision: i64,
    pub(super) window_start: i64,
    pub(super) window_end: i64,
    pub(super) totals: String,
    pub(super) created_at: i64,
    pub(super) predecessor_id: Option<Vec<u8>>,
    pub(super) superseded_at: Option<i64>,
    pub(super) successor_id: Option<Vec<u8>>,
    pub(super) supersede_reason: Option<String>,
    pub(super) supersede_note: Option<String>,
    pub(super) stale_since: Option<i64>,
}

impl ComparisonRecord {
    /// A current row from what was computed, with the inputs as they were checked.
    pub(super) fn of(
        new: &NewComparison,
        inputs: &RecordedInputs,
        created_at: Timestamp,
        predecessor: Option<ComparisonId>,
    ) -> Self {
        Self {
            tenant_id: new.tenant_id.as_str().to_owned(),
            id: new.id.as_uuid().as_bytes().to_vec(),
            customer_id: new.customer_id.as_str().to_owned(),
            period_start: new.period.start(),
            period_end: new.period.end(),
            plan_references: serde_json::to_string(&new.plan_references).expect("texts are JSON"),
            key_digest: new.key_digest.to_vec(),
            key_text: new.key_text.clone(),
            inputs: inputs_text(inputs),
            usage_revision: inputs.usage_revision,
            window_start: new.window.start,
            window_end: new.window.end,
            totals: new.totals.clone(),
            created_at: created_at.as_micros(),
            predecessor_id: predecessor.map(|id| id.as_uuid().as_bytes().to_vec()),
            superseded_at: None,
            successor_id: None,
            supersede_reason: None,
            supersede_note: None,
            stale_since: None,
        }
    }

    pub(super) fn read(self) -> Result<ComparisonRow, UnitError> {
        let superseded = match (self.superseded_at, self.successor_id, self.supersede_reason) {
            (Some(at), Some(successor), Some(reason)) => Some(SupersededBy {
                at: Timestamp::from_micros(at),
                successor_id: comparison_id(&successor)?,
                reason,
                note: self.supersede_note,
            }),
            _ => None,
        };
        Ok(ComparisonRow {
            id: comparison_id(&self.id)?,
            customer_id: self.customer_id.parse().map_err(corrupt)?,
            period: BillingPeriod::new(self.period_start, self.period_end).map_err(corrupt)?,
            plan_references: serde_json::from_str(&self.plan_references).map_err(corrupt)?,
            key_digest: self.key_digest.try_into().map_err(|_| corrupt("a key digest has 32 bytes"))?,
            key_text: self.key_text,
            inputs: serde_json::from_str(&self.inputs).map_err(corrupt)?,
            window: self.window_start..self.window_end,
            totals: self.totals,
            created_at: Timestamp::from_micros(self.created_at),
            superseded,
            predecessor_id: self.predecessor_id.as_deref().map(comparison_id).transpose()?,
            stale_since: self.stale_since.map(Timestamp::from_micros),
        })
    }
}

/// Inputs as the column holds them.
pub(super) fn inputs_text(inputs: &RecordedInputs) -> String {
    serde_json::to_string(inputs).expect("recorded inputs are JSON")
}

/// An id as the column holds it.
pub(super) fn comparison_id(bytes: &[u8]) -> Result<ComparisonId, UnitError> {
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| corrupt("a comparison id has 16 bytes"))?;
    Ok(uuid::Uuid::from_bytes(bytes).into())
}

#[derive(Debug, Insertable)]
#[diesel(table_name = comparison_results)]
pub(super) struct ResultRecord<'a> {
    pub(super) tenant_id: &'a str,
    pub(super) comparison_id: &'a [u8],
    pub(super) result: &'a [u8],
    pub(super) summary: &'a [u8],
}

/// One plan reference of a comparison.
#[derive(Debug, Clone)]
pub(super) struct ComparisonPlanRecord {
    pub(super) reference: String,
    pub(super) plan_id: String,
    pub(super) newest_version: i32,
    pub(super) pinned: bool,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = shared_inputs)]
pub(super) struct SharedInputRecord {
    pub(super) tenant_id: String,
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) version: i32,
    pub(super) content: Vec<u8>,
    pub(super) summary: String,
    pub(super) changed_start: Option<i64>,
    pub(super) changed_end: Option<i64>,
    pub(super) created_at: i64,
}

impl SharedInputRecord {
    pub(super) fn of(
        tenant: &TenantId,
        input: &SharedInput,
        changed: Option<&std::ops::Range<i64>>,
    ) -> Result<Self, UnitError> {
        Ok(Self {
            tenant_id: tenant.as_str().to_owned(),
            kind: input.kind.as_str().to_owned(),
            id: input.id.as_str().to_owned(),
            version: i32::try_from(input.version).map_err(corrupt)?,
            content: input.content.clone(),
            summary: input.summary.clone(),
            changed_start: changed.map(|range| range.start),
            changed_end: changed.map(|range| range.end),
            created_at: input.created_at.as_micros(),
        })
    }

    pub(super) fn read(self) -> Result<SharedInput, UnitError> {
        Ok(SharedInput {
            kind: shared_kind(&self.kind)?,
            id: self.id.parse().map_err(corrupt)?,
            version: u32::try_from(self.version).map_err(corrupt)?,
            content: self.content,
            summary: self.summary,
            created_at: Timestamp::from_micros(self.created_at),
        })
    }
}

fn shared_kind(text: &str) -> Result<SharedKind, UnitError> {
    let known = SharedKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    known.ok_or_else(|| corrupt(format!("{text:?} is no kind of shared input")))
}

/// Id, version, summary, and when it was put.
pub(super) type SharedEntryRecord = (String, i32, String, i64);

pub(super) fn read_shared_entry(
    (id, version, summary, created_at): SharedEntryRecord,
) -> Result<SharedInputEntry, UnitError> {
    Ok(SharedInputEntry {
        id: id.parse().map_err(corrupt)?,
        version: u32::try_from(version).map_err(corrupt)?,
        summary,
        created_at: Timestamp::from_micros(created_at),
    })
}

/// Kind, id, version, and when it was put.
pub(super) type NewerSharedRecord = (String, String, i32, i64);

pub(super) fn read_newer_shared(
    (kind, id, version, created_at): NewerSharedRecord,
) -> Result<NewerSharedInput, UnitError> {
    Ok(NewerSharedInput {
        kind: shared_kind(&kind)?,
        id: id.parse().map_err(corrupt)?,
        version: u32::try_from(version).map_err(corrupt)?,
        created_at: Timestamp::from_micros(created_at),
    })
}

/// One shared input of a comparison.
#[derive(Debug, Insertable)]
#[diesel(table_name = comparison_shared_inputs)]
pub(super) struct ComparisonSharedRecord<'a> {
    pub(super) tenant_id: &'a str,
    pub(super) comparison_id: &'a [u8],
    pub(super) kind: &'a str,
    pub(super) input_id: &'a str,
    pub(super) version: i32,
    pub(super) used_start: i64,
    pub(super) used_end: i64,
}
