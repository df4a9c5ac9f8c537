//! Evidence: everything that one answer was made from, in a zip that a person can open and that [`verify`] computes
//! again without a database.
//!
//! `material.rs` is what a question is built from, on both sides of the zip: `gather.rs` reads it from the store,
//! `pack.rs` writes it down, `unpack.rs` reads it back within bounds, `verify.rs` computes again, `differences.rs` says
//! where the two answers differ. `entries.rs` and `tables.rs` are the forms of the entries.
//!
//! The same row gives the same bytes: entries have no times of their own, and nothing of this server is in them.

mod differences;
mod entries;
mod gather;
mod material;
mod pack;
mod tables;
mod unpack;
mod verify;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

pub use differences::Difference;
pub use entries::{Days, EntryMember, KeyMember, Manifest, SupersededMember};
pub use unpack::EvidenceError;
pub use verify::{Check, Verification, verify};

use super::{ComparisonError, Service};
use crate::words::{ComparisonId, TenantId};

/// The zip of one comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The whole archive.
    pub zip: Vec<u8>,
    /// SHA-256 of it, hex.
    pub sha256: String,
}

impl Service {
    /// The evidence of a comparison, current or superseded.
    ///
    /// # Errors
    /// [`ComparisonError::NotFound`]; [`ComparisonError::EvidenceIncomplete`] when something that the answer was made
    /// from is not kept any more, or cannot be told: there is no evidence in part.
    pub async fn evidence(&self, tenant: &TenantId, id: ComparisonId) -> Result<Evidence, ComparisonError> {
        // Readings of a year are held in memory meanwhile, as for an answer.
        let permit = self.engine.permit().await?;
        let (tariffs, owner, options) = (Arc::clone(&self.tariffs), tenant.clone(), self.limits.options.clone());
        let gathered = self.store.read(move |store| gather::gather(store, &tariffs, &owner, id)).await?;
        let tariffs = Arc::clone(&self.tariffs);
        let packed = self.engine.run(&permit, move || {
            let gathered = gather::with_its_terms(gathered, &tariffs, &options)?;
            let zip = pack::pack(&gathered)
                .map_err(|e| ComparisonError::Internal(format!("the evidence cannot be written: {e}")))?;
            let sha256 = hex::encode(Sha256::digest(&zip));
            Ok(Evidence { zip, sha256 })
        });
        packed.await?
    }
}
