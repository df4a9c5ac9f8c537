//! Rows of imports, and of the meter points of a file of many.

use diesel::prelude::*;

use super::{UnitError, corrupt};
use crate::store::schema::{import_meter_points, imports};
use crate::store::types::{ImportKind, ImportRow, ImportState, MeterPointRow, MeterPointState};
use crate::words::{ImportId, TenantId, Timestamp};

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = imports)]
pub(in crate::store) struct ImportRecord {
    pub(in crate::store) tenant_id: String,
    pub(in crate::store) id: Vec<u8>,
    pub(in crate::store) kind: String,
    pub(in crate::store) state: String,
    pub(in crate::store) customer_id: Option<String>,
    pub(in crate::store) part_of: Option<Vec<u8>>,
    pub(in crate::store) reverts: Option<Vec<u8>>,
    pub(in crate::store) reverted_by: Option<Vec<u8>>,
    pub(in crate::store) same_file_as: Option<Vec<u8>>,
    pub(in crate::store) file_name: Option<String>,
    pub(in crate::store) sha256: Vec<u8>,
    pub(in crate::store) format: String,
    pub(in crate::store) n_bytes: i64,
    pub(in crate::store) on_conflict: Option<String>,
    pub(in crate::store) counts: String,
    pub(in crate::store) choices: String,
    pub(in crate::store) warnings: String,
    pub(in crate::store) resume_key: Option<Vec<u8>>,
    pub(in crate::store) revision_before: Option<i64>,
    pub(in crate::store) revision_after: Option<i64>,
    pub(in crate::store) created_at: i64,
}

impl ImportRecord {
    /// * `resume_key`: by which the same file finds a record of many meter points that is not finished.
    pub(in crate::store) fn of(
        tenant: &TenantId,
        import: &ImportRow,
        resume_key: Option<&[u8; 32]>,
    ) -> Result<Self, UnitError> {
        let text = |value: &serde_json::Value| value.to_string();
        Ok(Self {
            tenant_id: tenant.as_str().to_owned(),
            id: id_bytes(import.id),
            kind: import.kind.as_str().to_owned(),
            state: import.state.as_str().to_owned(),
            customer_id: import.customer_id.as_ref().map(|id| id.as_str().to_owned()),
            part_of: import.part_of.map(id_bytes),
            reverts: import.reverts.map(id_bytes),
            reverted_by: import.reverted_by.map(id_bytes),
            same_file_as: import.same_file_as.map(id_bytes),
            file_name: import.file_name.clone(),
            sha256: hex::decode(&import.sha256).map_err(corrupt)?,
            format: import.format.clone(),
            n_bytes: i64::try_from(import.n_bytes).map_err(corrupt)?,
            on_conflict: import.on_conflict.clone(),
            counts: serde_json::to_string(&import.counts).map_err(corrupt)?,
            choices: text(&import.choices),
            warnings: text(&import.warnings),
            resume_key: resume_key.map(|key| key.to_vec()),
            revision_before: import.revision_before,
            revision_after: import.revision_after,
            created_at: import.created_at.as_micros(),
        })
    }

    pub(in crate::store) fn read(self) -> Result<ImportRow, UnitError> {
        let id = |bytes: Option<Vec<u8>>| bytes.as_deref().map(import_id).transpose();
        Ok(ImportRow {
            id: import_id(&self.id)?,
            kind: word(
                &self.kind,
                &[ImportKind::Usage, ImportKind::MeterPoints, ImportKind::Revert],
                ImportKind::as_str,
            )?,
            state: word(&self.state, &ImportState::ALL, ImportState::as_str)?,
            customer_id: self.customer_id.map(|id| id.parse().map_err(corrupt)).transpose()?,
            part_of: id(self.part_of)?,
            reverts: id(self.reverts)?,
            reverted_by: id(self.reverted_by)?,
            same_file_as: id(self.same_file_as)?,
            file_name: self.file_name,
            sha256: hex::encode(self.sha256),
            format: self.format,
            n_bytes: u64::try_from(self.n_bytes).map_err(corrupt)?,
            on_conflict: self.on_conflict,
            counts: serde_json::from_str(&self.counts).map_err(corrupt)?,
            choices: serde_json::from_str(&self.choices).map_err(corrupt)?,
            warnings: serde_json::from_str(&self.warnings).map_err(corrupt)?,
            revision_before: self.revision_before,
            revision_after: self.revision_after,
            created_at: Timestamp::from_micros(self.created_at),
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = import_meter_points)]
pub(in crate::store) struct MeterPointRecord {
    pub(in crate::store) tenant_id: String,
    pub(in crate::store) import_id: Vec<u8>,
    pub(in crate::store) place: i32,
    pub(in crate::store) meter_point_id: Option<String>,
    pub(in crate::store) n_readings: i64,
    pub(in crate::store) state: String,
    pub(in crate::store) customer_id: Option<String>,
    pub(in crate::store) part_id: Option<Vec<u8>>,
    pub(in crate::store) code: Option<String>,
    pub(in crate::store) detail: Option<String>,
}

impl MeterPointRecord {
    pub(in crate::store) fn of(tenant: &TenantId, import: ImportId, point: &MeterPointRow) -> Result<Self, UnitError> {
        Ok(Self {
            tenant_id: tenant.as_str().to_owned(),
            import_id: id_bytes(import),
            place: i32::try_from(point.place).map_err(corrupt)?,
            meter_point_id: point.meter_point_id.clone(),
            n_readings: i64::try_from(point.n_readings).map_err(corrupt)?,
            state: point.state.as_str().to_owned(),
            customer_id: point.customer_id.as_ref().map(|id| id.as_str().to_owned()),
            part_id: point.part_id.map(id_bytes),
            code: point.code.clone(),
            detail: point.detail.clone(),
        })
    }

    pub(in crate::store) fn read(self) -> Result<MeterPointRow, UnitError> {
        Ok(MeterPointRow {
            place: u32::try_from(self.place).map_err(corrupt)?,
            meter_point_id: self.meter_point_id,
            n_readings: u64::try_from(self.n_readings).map_err(corrupt)?,
            state: word(&self.state, &MeterPointState::ALL, MeterPointState::as_str)?,
            customer_id: self.customer_id.map(|id| id.parse().map_err(corrupt)).transpose()?,
            part_id: self.part_id.as_deref().map(import_id).transpose()?,
            code: self.code,
            detail: self.detail,
        })
    }
}

fn word<T: Copy>(text: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, UnitError> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| corrupt(format!("{text:?} is no word of imports")))
}

/// An id as the column holds it.
pub(in crate::store) fn id_bytes(id: ImportId) -> Vec<u8> {
    id.as_uuid().as_bytes().to_vec()
}

/// An id from its column.
pub(in crate::store) fn import_id(bytes: &[u8]) -> Result<ImportId, UnitError> {
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| corrupt("an import id has 16 bytes"))?;
    Ok(uuid::Uuid::from_bytes(bytes).into())
}
