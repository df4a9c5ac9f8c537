//! Conventions that change a document: what `--export` and `--wrapping-window` put in place of a plan's own.

use std::borrow::Cow;

use super::conventions::{ConventionOverrides, ExportRule};
use super::document::IncludedDocument;
use super::json::Json;

/// Changes a document that has passed its checks, and those it includes. Gives the ids of the charges that are gone, as
/// this document names them.
pub(super) fn apply(
    json: &mut Json<'_>,
    included: &mut [IncludedDocument<'_>],
    overrides: &ConventionOverrides,
) -> Vec<String> {
    let mut removed: Vec<String> = Vec::new();
    for document in included {
        let inner = apply(&mut document.json, &mut document.included, overrides);
        removed.extend(inner.into_iter().map(|id| format!("{}_{id}", document.name)));
    }
    if let Some(window) = overrides.wrapping_window {
        set_wrapping_window(json, window.as_str());
    }
    if let Some(rule) = overrides.export
        && rule != ExportRule::Credit
        && let Some(Json::Array(charges)) = member(json, "charges")
    {
        replace_export(charges, rule, &mut removed);
    }
    removed
}

fn member<'j, 'a>(json: &'j mut Json<'a>, name: &str) -> Option<&'j mut Json<'a>> {
    match json {
        Json::Object(members) => members.iter_mut().find(|(other, _)| other == name).map(|(_, value)| value),
        _ => None,
    }
}

fn set_wrapping_window(json: &mut Json<'_>, text: &'static str) {
    if let Some(Json::Object(schedules)) = member(json, "schedules") {
        for (_, schedule) in schedules {
            schedule.set("wrapping_window", Json::text(text));
        }
    }
}

/// Takes the plan's export charges away; puts a credit at the price of the import behind each energy charge, or lets
/// the energy charges measure what is left after the export.
///
/// * `removed`: ids that are gone already; those of the export charges are added.
fn replace_export(charges: &mut Vec<Json<'_>>, rule: ExportRule, removed: &mut Vec<String>) {
    let kind_is = |charge: &Json<'_>, kind: &str| charge.get("kind").and_then(Json::as_str) == Some(kind);
    let exports = charges.iter().filter(|charge| kind_is(charge, "export_credit"));
    removed.extend(exports.filter_map(|charge| charge.get("id").and_then(Json::as_str).map(str::to_owned)));
    charges.retain(|charge| !kind_is(charge, "export_credit"));
    for charge in charges.iter_mut() {
        forget(charge, removed);
    }
    let mut i = 0;
    while i < charges.len() {
        let charge = &mut charges[i];
        if kind_is(charge, "energy") && measures_import(charge) {
            match rule {
                ExportRule::NetMetering => net_of_export(charge),
                ExportRule::NetBilling => {
                    let credit = credit_for(charge);
                    i += 1;
                    charges.insert(i, credit);
                }
                ExportRule::None => own_import(charge),
                ExportRule::Credit => {}
            }
        }
        i += 1;
    }
}

/// Whether a charge measures what is drawn from the grid: no measure of its own, or a plain or net one.
fn measures_import(charge: &Json<'_>) -> bool {
    let channel = charge.get("channel").and_then(Json::as_str);
    match charge.get("measure") {
        None => channel.is_none_or(|channel| channel == "import"),
        Some(measure) => measure.get("net_energy").is_some(),
    }
}

/// `{"net_energy": {"carry_until": "01-01"}}` in place of the import.
fn net_of_export(charge: &mut Json<'_>) {
    if charge.get("measure").is_some() {
        return;
    }
    let mut net = Json::object([("carry_until", Json::text("01-01"))]);
    if let Some(period) = charge.get("period").cloned() {
        net.set("period", period);
        if let Some(schedule) = charge.get("schedule").cloned() {
            net.set("schedule", schedule);
        }
    }
    charge.remove("channel");
    charge.set("measure", Json::object([("net_energy", net)]));
}

/// The import itself, where the plan set the export against it.
fn own_import(charge: &mut Json<'_>) {
    charge.remove("measure");
}

fn credit_for<'a>(charge: &mut Json<'a>) -> Json<'a> {
    own_import(charge);
    let mut credit = charge.clone();
    let id = charge.get("id").and_then(Json::as_str).unwrap_or_default();
    // Ids have at most 64 characters.
    let id = format!("{}_export", &id[..id.len().min(57)]);
    credit.set("id", Json::String(Cow::Owned(id)));
    credit.set("kind", Json::text("export_credit"));
    credit.set("channel", Json::text("export"));
    credit.remove("label");
    credit
}

/// Takes ids that are gone out of every list that names them.
fn forget(json: &mut Json<'_>, removed: &[String]) {
    match json {
        Json::Array(items) => {
            items.retain(|item| item.as_str().is_none_or(|text| !removed.iter().any(|id| id == text)));
            for item in items {
                forget(item, removed);
            }
        }
        Json::Object(members) => {
            for (_, value) in members {
                forget(value, removed);
            }
        }
        _ => {}
    }
}
