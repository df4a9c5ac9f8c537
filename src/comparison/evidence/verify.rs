//! Computing an answer again from its evidence, and what that shows.

use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::Value;

use super::differences::{Difference, differences};
use super::entries::Manifest;
use super::material::Built;
use super::unpack::{EvidenceError, Limits, Unpacked, unpack};
use crate::comparison::digest::digest_by;
use crate::comparison::render::render;
use crate::comparison::tariffs::TariffCache;
use crate::engine::{self, ENGINE_VERSION};
use crate::store::SharedKind;

/// Results up to this size are compared member by member; above it the first byte that differs is named.
const MAX_COMPARED: usize = 64 << 20;

/// What a verification came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether every check held.
    pub verified: bool,
    /// What the archive says of itself, without its entries.
    pub evidence: Manifest,
    /// The engine of this program.
    pub this_engine: i32,
    /// Every check, in order.
    pub checks: Vec<Check>,
    /// Where the recorded result is not the one that the inputs give.
    pub differences: Vec<Difference>,
    /// How many there are; `differences` holds the first ones.
    pub n_differences: usize,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `entries`, `question`, `inputs` or `result`.
    pub check: &'static str,
    /// Whether it held.
    pub passed: bool,
    /// The entry it speaks of, where it is one.
    pub entry: Option<String>,
    /// What was found, in words.
    pub detail: String,
}

/// Checks the digests of an archive, computes its answer again and compares the bytes. No database, no network.
///
/// # Errors
/// [`EvidenceError`] for a file that is no evidence or cannot be read; evidence that is not right is an `Ok` that says
/// so.
pub fn verify(file: impl Read + Seek) -> Result<Verification, EvidenceError> {
    verify_within(file, &Limits::DEFAULT)
}

pub(super) fn verify_within(file: impl Read + Seek, limits: &Limits) -> Result<Verification, EvidenceError> {
    let unpacked = unpack(file, limits)?;
    let mut checks = Checks::default();
    checks.entries(&unpacked);
    checks.question(&unpacked);
    let built = catching(|| unpacked.material.question(&TariffCache::new(limits.entries)))
        .and_then(|built| built.map_err(|error| error.to_string()));
    match built {
        Ok(built) => {
            checks.inputs(&unpacked, &built);
            checks.result(&unpacked, &built);
        }
        Err(fault) => {
            checks.failed("inputs", None, format!("no question can be made of the inputs: {fault}"));
            checks.failed("result", None, "the answer could not be computed again");
        }
    }
    let verified = checks.all.iter().all(|check| check.passed);
    let evidence = Manifest { entries: Vec::new(), ..unpacked.manifest };
    Ok(Verification {
        verified,
        evidence,
        this_engine: ENGINE_VERSION,
        checks: checks.all,
        differences: checks.differences,
        n_differences: checks.n_differences,
    })
}

/// Runs what a document that nobody has checked may break.
fn catching<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "the engine failed on them".to_owned())
}

#[derive(Default)]
struct Checks {
    all: Vec<Check>,
    differences: Vec<Difference>,
    n_differences: usize,
}

impl Checks {
    fn passed(&mut self, check: &'static str, detail: impl Into<String>) {
        self.all.push(Check { check, passed: true, entry: None, detail: detail.into() });
    }

    fn failed(&mut self, check: &'static str, entry: Option<&str>, detail: impl Into<String>) {
        let entry = entry.map(str::to_owned);
        self.all.push(Check { check, passed: false, entry, detail: detail.into() });
    }

    /// Every entry is the one that the manifest lists.
    fn entries(&mut self, unpacked: &Unpacked) {
        for fault in &unpacked.faults {
            self.failed("entries", Some(&fault.entry), fault.fault.clone());
        }
        if unpacked.faults.is_empty() {
            self.passed("entries", format!("{} entries have the listed SHA-256", unpacked.n_entries));
        }
    }

    /// The natural key is that of the question.
    fn question(&mut self, unpacked: &Unpacked) {
        let (key, manifest) = (&unpacked.material.key, &unpacked.manifest);
        let (digest, named) = (hex::encode(key.digest()), &manifest.natural_key);
        let told = (&manifest.customer_id, manifest.billing_period, manifest.plan_ids.as_slice());
        if digest != named.digest || key.text() != named.text {
            self.failed("question", None, format!("its natural key is {digest}, the manifest says {}", named.digest));
        } else if told != (key.customer(), key.period().into(), key.plans()) {
            self.failed("question", None, "the manifest names another customer, period or set of plans");
        } else {
            self.passed("question", format!("its natural key is {digest}"));
        }
    }

    /// The inputs are those whose digest was recorded with the answer.
    fn inputs(&mut self, unpacked: &Unpacked, built: &Built) {
        let (recorded, manifest) = (&unpacked.recorded, &unpacked.manifest);
        let digest = hex::encode(digest_by(&built.question, recorded.engine));
        let n_before = self.all.len();
        let of_record = hex::encode(recorded.digest);
        if digest != of_record {
            let detail = format!("the digest of their contents is {digest}, recorded is {of_record}: one was changed");
            self.failed("inputs", None, detail);
        }
        if of_record != manifest.inputs_digest || recorded.engine != manifest.engine {
            self.failed("inputs", None, "the manifest names another digest or engine than the record of the inputs");
        }
        for (what, is_same) in [
            ("versions of plans", same_plans(unpacked, built)),
            ("versions of calendars, price series or event lists", same_shared(unpacked)),
            ("billing months or settings", same_terms(unpacked)),
        ] {
            if !is_same {
                self.failed(
                    "inputs",
                    None,
                    format!("the record of the inputs names other {what} than the archive holds"),
                );
            }
        }
        if self.all.len() == n_before {
            self.passed("inputs", format!("the digest of their contents is the recorded one, {digest}"));
        }
    }

    /// The engine gives the recorded bytes.
    fn result(&mut self, unpacked: &Unpacked, built: &Built) {
        let engine = unpacked.recorded.engine;
        let by = if engine == ENGINE_VERSION {
            format!("engine {engine}")
        } else {
            format!("engine {ENGINE_VERSION} of this program; the answer is of engine {engine}")
        };
        let computed = catching(|| engine::compare(&built.question))
            .and_then(|computed| computed.map_err(|error| format!("the inputs have no bill: {error}")))
            .and_then(|result| render(&result).map_err(|error| error.to_string()));
        let computed = match computed {
            Ok(rendered) => rendered.result,
            Err(fault) => return self.failed("result", None, format!("{fault} ({by})")),
        };
        if computed == unpacked.result {
            return self.passed("result", format!("{} bytes, computed again alike ({by})", computed.len()));
        }
        let first = computed.iter().zip(&unpacked.result).take_while(|(a, b)| a == b).count();
        let mut detail = format!("the inputs give another result, from byte {first} on ({by})");
        if engine != ENGINE_VERSION {
            detail.push_str(": a program with that engine has to verify it");
        }
        self.failed("result", Some(super::entries::RESULT), detail);
        if computed.len().max(unpacked.result.len()) > MAX_COMPARED {
            return;
        }
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
        if let Some((expected, found)) = read(&computed).zip(read(&unpacked.result)) {
            (self.differences, self.n_differences) = differences(&expected, &found);
        }
    }
}

fn same_plans(unpacked: &Unpacked, built: &Built) -> bool {
    let recorded = &unpacked.recorded;
    let compared = built.question.plans.iter().map(|plan| {
        let mut versions: Vec<u32> = plan.versions.iter().map(|version| version.version).collect();
        versions.dedup();
        (&plan.reference, versions)
    });
    let included = built.included.iter().map(|plan| (&plan.plan_id, &plan.versions));
    compared.eq(recorded.plans.iter().map(|plan| (&plan.reference, plan.versions.clone())))
        && included.eq(recorded.included.iter().map(|plan| (&plan.plan_id, &plan.versions)))
}

fn same_shared(unpacked: &Unpacked) -> bool {
    let material = &unpacked.material;
    let held = |kind| match kind {
        SharedKind::Calendar => material.calendars.len(),
        SharedKind::PriceSeries => material.price_series.len(),
        SharedKind::EventList => material.event_lists.len(),
    };
    // Those that are named were read by name and version.
    SharedKind::ALL
        .into_iter()
        .all(|kind| unpacked.recorded.shared.iter().filter(|input| input.kind == kind).count() == held(kind))
}

fn same_terms(unpacked: &Unpacked) -> bool {
    let (recorded, material) = (&unpacked.recorded, &unpacked.material);
    let cuts = material.months.of_period.iter().skip(1).map(crate::words::BillingPeriod::start);
    let of_terms = recorded.terms.as_ref().is_none_or(|terms| {
        terms.min_coverage == material.options.min_coverage
            && terms.split_intervals_even == material.options.split_intervals_even
            && terms.months_registered == material.months.are_registered
            && terms.earlier_months.iter().copied().eq(material
                .months
                .earlier
                .iter()
                .map(crate::words::BillingPeriod::start))
    });
    cuts.eq(recorded.cuts.iter().copied()) && of_terms
}

#[cfg(test)]
mod tests;
