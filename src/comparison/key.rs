//! The natural key: what makes two questions the same question.
//!
//! The text of a key is a version tag, then length-prefixed parts (`LENGTH:BYTES,`): tenant, customer, first day,
//! day after the last, and every plan reference, sorted bytewise, none twice. Parts are length-prefixed so that no
//! content can imitate a boundary. The digest is SHA-256 of that text. `fixtures/keys/` fixes both for good: a
//! change here orphans every stored answer.

use std::fmt::Write as _;

use itertools::Itertools as _;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::words::{BillingPeriod, CustomerId, PlanReference, TenantId};

/// Most plan references of one question.
pub const MAX_PLANS: usize = 1000;

/// Stands in front of every key; another encoding gets another tag.
const TAG: &str = "samebill-key-1;";

/// A question in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NaturalKey {
    tenant: TenantId,
    customer: CustomerId,
    period: BillingPeriod,
    plans: Vec<PlanReference>,
    text: String,
    digest: [u8; 32],
}

/// No plan at all, or more than [`MAX_PLANS`] different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a comparison takes 1 to {MAX_PLANS} different plans, this one has {0}")]
pub struct PlanCountError(pub usize);

impl NaturalKey {
    /// The key of a question; order and repetition of the plans do not matter.
    ///
    /// # Errors
    /// [`PlanCountError`] when no plan is left or more than [`MAX_PLANS`].
    ///
    /// ```
    /// use samebill::comparison::NaturalKey;
    /// use samebill::words::BillingPeriod;
    ///
    /// let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
    /// let key = |plans: &[&str]| {
    ///     let plans = plans.iter().map(|plan| plan.parse().unwrap());
    ///     NaturalKey::new("default".parse().unwrap(), "c-1".parse().unwrap(), june, plans)
    /// };
    /// assert_eq!(key(&["tou", "flat", "tou"]).unwrap().digest(), key(&["flat", "tou"]).unwrap().digest());
    /// assert!(key(&[]).is_err());
    /// ```
    pub fn new(
        tenant: TenantId,
        customer: CustomerId,
        period: BillingPeriod,
        plans: impl IntoIterator<Item = PlanReference>,
    ) -> Result<Self, PlanCountError> {
        let plans: Vec<PlanReference> = plans.into_iter().sorted().dedup().collect();
        if plans.is_empty() || plans.len() > MAX_PLANS {
            return Err(PlanCountError(plans.len()));
        }
        let text = encode(&tenant, &customer, period, &plans);
        let digest = Sha256::digest(text.as_bytes()).into();
        Ok(Self { tenant, customer, period, plans, text, digest })
    }

    /// Whose question.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// About which customer.
    pub fn customer(&self) -> &CustomerId {
        &self.customer
    }

    /// Over which days.
    pub fn period(&self) -> BillingPeriod {
        self.period
    }

    /// Sorted bytewise, none twice.
    pub fn plans(&self) -> &[PlanReference] {
        &self.plans
    }

    /// The encoding: stored beside the digest and compared after a hit.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the encoding.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

fn encode(tenant: &TenantId, customer: &CustomerId, period: BillingPeriod, plans: &[PlanReference]) -> String {
    let mut text = TAG.to_owned();
    let mut part = |part: &str| write!(text, "{}:{part},", part.len()).expect("writing to a text succeeds");
    part(tenant.as_str());
    part(customer.as_str());
    part(&period.start().format("%Y-%m-%d").to_string());
    part(&period.end().format("%Y-%m-%d").to_string());
    for plan in plans {
        part(plan.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chrono::{Days, NaiveDate};
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::comparison::question::{Period, QuestionBody};

    #[derive(Deserialize)]
    struct Golden {
        tenant: TenantId,
        spellings: Vec<serde_json::Value>,
        text: String,
        digest: String,
    }

    #[test]
    fn golden_keys_never_change() {
        let golden: Vec<Golden> =
            serde_json::from_str(include_str!("../../fixtures/keys/golden.json")).expect("the fixture is JSON");
        assert!(golden.len() >= 8);
        let digests: BTreeSet<&str> = golden.iter().map(|g| g.digest.as_str()).collect();
        assert_eq!(digests.len(), golden.len(), "different questions have different digests");
        for entry in &golden {
            for spelling in &entry.spellings {
                let body: QuestionBody = serde_json::from_value(spelling.clone()).unwrap();
                let question = body.check().unwrap();
                let Period::Days(period) = question.period else { panic!("golden keys name no registered period") };
                let key =
                    NaturalKey::new(entry.tenant.clone(), question.customer_id, period, question.plan_ids).unwrap();
                assert_eq!(key.text(), entry.text, "{spelling}");
                assert_eq!(hex::encode(key.digest()), entry.digest, "{spelling}");
            }
        }
    }

    #[test]
    fn one_to_a_thousand_different_plans_are_a_question() {
        let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
        let key = |n: usize| {
            let plans = (0..n).map(|i| format!("plan-{i}").parse().unwrap());
            NaturalKey::new("t".parse().unwrap(), "c".parse().unwrap(), june, plans)
        };
        assert_eq!(key(0), Err(PlanCountError(0)));
        assert!(key(1000).is_ok());
        assert_eq!(key(1001), Err(PlanCountError(1001)));
    }

    fn id() -> impl Strategy<Value = String> {
        // Few characters and short ids, so that near misses are frequent.
        "[a:1~.]{1,3}"
    }

    fn reference() -> impl Strategy<Value = String> {
        (id(), proptest::option::of(1u32..12))
            .prop_map(|(id, version)| version.map_or(id.clone(), |version| format!("{id}@{version}")))
    }

    fn question() -> impl Strategy<Value = (String, String, u64, u64, Vec<String>)> {
        (id(), id(), 0u64..3, 1u64..3, proptest::collection::vec(reference(), 1..4))
    }

    fn key_of((tenant, customer, start, length, plans): &(String, String, u64, u64, Vec<String>)) -> NaturalKey {
        let start = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap() + Days::new(*start);
        NaturalKey::new(
            tenant.parse().unwrap(),
            customer.parse().unwrap(),
            BillingPeriod::new(start, start + Days::new(*length)).unwrap(),
            plans.iter().map(|plan| plan.parse().unwrap()),
        )
        .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn no_two_questions_share_an_encoding(a in question(), b in question()) {
            let normal = |q: &(String, String, u64, u64, Vec<String>)| {
                (q.0.clone(), q.1.clone(), q.2, q.3, q.4.iter().cloned().collect::<BTreeSet<_>>())
            };
            let (key_a, key_b) = (key_of(&a), key_of(&b));
            prop_assert_eq!(normal(&a) == normal(&b), key_a.text() == key_b.text());
            prop_assert_eq!(key_a.text() == key_b.text(), key_a.digest() == key_b.digest());
        }

        #[test]
        fn an_encoding_can_be_read_back(q in question()) {
            let key = key_of(&q);
            let mut rest = key.text().strip_prefix(TAG).unwrap();
            let mut parts = Vec::new();
            while !rest.is_empty() {
                let (length, tail) = rest.split_once(':').unwrap();
                let (part, tail) = tail.split_at(length.parse().unwrap());
                parts.push(part.to_owned());
                rest = tail.strip_prefix(',').unwrap();
            }
            let mut expected = vec![q.0.clone(), q.1.clone(), key.period().start().to_string(), key.period().end().to_string()];
            expected.extend(key.plans().iter().map(ToString::to_string));
            prop_assert_eq!(parts, expected);
        }
    }
}
