//! What a client gets: the envelope around the stored `result` bytes, and its strong `ETag`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::freshness::Freshness;
use crate::store::{ComparisonRow, SharedKind};
use crate::words::{BillingPeriod, ComparisonId, PlanReference, Timestamp};

/// A comparison as it is seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// What is stored.
    pub row: ComparisonRow,
    /// Whether its inputs still hold.
    pub freshness: Freshness,
    /// The current row of its chain.
    pub latest_id: ComparisonId,
}

/// Which of the two stored renderings is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// With every line item.
    #[default]
    Full,
    /// Without line items.
    Summary,
}

/// A comparison with the bytes of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The envelope's contents.
    pub view: View,
    /// The `result` object as it was written.
    pub result: Vec<u8>,
    /// The same without line items.
    pub summary: Vec<u8>,
    /// Whether this call made the row.
    pub created: bool,
}

impl Answer {
    /// As the answer of the call that had this id for a row of its own: found under it, the row is what that call made.
    pub(super) fn of_call(self, own_id: ComparisonId) -> Self {
        let created = self.created || self.view.row.id == own_id;
        Self { created, ..self }
    }

    /// The body: the envelope with the stored bytes as its last member, as they are.
    pub fn body(&self, detail: Detail) -> Vec<u8> {
        let result = match detail {
            Detail::Full => &self.result,
            Detail::Summary => &self.summary,
        };
        let mut body = Vec::with_capacity(result.len() + 1024);
        serde_json::to_writer(&mut body, &self.view.envelope(None)).expect("plain values can be written");
        let closing = body.pop();
        debug_assert_eq!(closing, Some(b'}'));
        body.extend_from_slice(b",\"result\":");
        body.extend_from_slice(result);
        body.push(b'}');
        body
    }
}

impl View {
    /// The members of the envelope; with `totals` for lists.
    pub fn envelope<'a>(&'a self, totals: Option<&'a RawValue>) -> Envelope<'a> {
        let row = &self.row;
        Envelope {
            id: row.id,
            status: if row.superseded.is_some() { "superseded" } else { "current" },
            customer_id: row.customer_id.as_str(),
            billing_period: &row.period,
            plan_ids: &row.plan_references,
            natural_key: hex::encode(row.key_digest),
            created_at: row.created_at,
            predecessor_id: row.predecessor_id,
            successor_id: row.superseded.as_ref().map(|s| s.successor_id),
            superseded: row.superseded.as_ref().map(|s| SupersededMember {
                at: s.at,
                reason: &s.reason,
                note: s.note.as_deref(),
            }),
            freshness: &self.freshness,
            inputs: InputsMember {
                usage_revision: row.inputs.usage_revision,
                customer_version: row.inputs.customer_version,
                plan_versions: row
                    .inputs
                    .plans
                    .iter()
                    .map(|plan| (plan.reference.as_str(), plan.versions.as_slice()))
                    .collect(),
                included_plan_versions: row
                    .inputs
                    .included
                    .iter()
                    .map(|plan| (plan.plan_id.as_str(), plan.versions.as_slice()))
                    .collect(),
                calendars: versions(row, SharedKind::Calendar),
                price_series: versions(row, SharedKind::PriceSeries),
                event_lists: versions(row, SharedKind::EventList),
                engine: row.inputs.engine,
                digest: hex::encode(row.inputs.digest),
            },
            totals,
        }
    }

    /// The strong `ETag` of one rendering, with its quotes: over id, freshness and successor.
    pub fn etag(&self, detail: Detail) -> String {
        let successor = self.row.superseded.as_ref().map(|s| s.successor_id);
        Self::etag_of(self.row.id, &self.freshness, successor, detail)
    }

    /// The `ETag`s, of both renderings, that the row had just before it was superseded.
    pub fn etags_before_superseded(&self) -> [String; 2] {
        [Detail::Full, Detail::Summary].map(|detail| Self::etag_of(self.row.id, &self.freshness, None, detail))
    }

    fn etag_of(id: ComparisonId, freshness: &Freshness, successor: Option<ComparisonId>, detail: Detail) -> String {
        let covered = (id, freshness.state, freshness.stale_since, &freshness.reasons, successor);
        let digest = Sha256::digest(serde_json::to_vec(&covered).expect("plain values can be written"));
        let rendering = match detail {
            Detail::Full => "",
            Detail::Summary => "-summary",
        };
        format!("\"{}{rendering}\"", hex::encode(&digest[..16]))
    }
}

/// The members of an answer besides `result`, in their order.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    id: ComparisonId,
    status: &'static str,
    customer_id: &'a str,
    billing_period: &'a BillingPeriod,
    plan_ids: &'a [PlanReference],
    natural_key: String,
    created_at: Timestamp,
    predecessor_id: Option<ComparisonId>,
    successor_id: Option<ComparisonId>,
    superseded: Option<SupersededMember<'a>>,
    freshness: &'a Freshness,
    inputs: InputsMember<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<&'a RawValue>,
}

#[derive(Debug, Serialize)]
struct SupersededMember<'a> {
    at: Timestamp,
    reason: &'a str,
    note: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct InputsMember<'a> {
    usage_revision: i64,
    customer_version: i64,
    plan_versions: BTreeMap<&'a str, &'a [u32]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    included_plan_versions: BTreeMap<&'a str, &'a [u32]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    calendars: BTreeMap<&'a str, u32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    price_series: BTreeMap<&'a str, u32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    event_lists: BTreeMap<&'a str, u32>,
    engine: i32,
    digest: String,
}

fn versions(row: &ComparisonRow, kind: SharedKind) -> BTreeMap<&str, u32> {
    let of_kind = row.inputs.shared.iter().filter(|input| input.kind == kind);
    of_kind.map(|input| (input.id.as_str(), input.version)).collect()
}
