//! The JSON Schema of the plan document (draft 2020-12), generated from types that say its shape.
//!
//! The reader walks the JSON by hand, because every fault wants its place; these types are read by the generator alone.
//! Tests hold the two together: each member that the reader takes stands here and the other way round, and what the
//! reader takes or refuses this schema does as far as a schema can say it. What only the whole document shows (names
//! that exist, bounds that rise, circles) is the reader's alone.

#![expect(dead_code, reason = "the generator reads the types; no value of them is ever made")]

mod charge;
mod measure;
mod plan;
mod text;

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

/// The schema's own name.
const ID: &str = "urn:samebill:schema:plan";

/// The JSON Schema of a plan document, as it is served, printed and checked in.
pub fn plan_schema() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = serde_json::to_string_pretty(&generate()).expect("a schema is JSON");
        text.push('\n');
        text
    });
    &TEXT
}

fn generate() -> Schema {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(settle));
    let mut schema = settings.into_generator().into_root_schema_for::<plan::Plan>();
    schema.insert("$id".to_owned(), json!(ID));
    schema
}

/// A member that may be absent may not be null, and a description is one line.
fn settle(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = choices.as_slice() {
            let only: Map<String, Value> = only.clone();
            object.remove("anyOf");
            for (name, value) in only {
                object.entry(name).or_insert(value);
            }
        }
    }
}

/// The words of a list, without what they stand for.
fn words<T>(list: &[(&'static str, T)]) -> Vec<&'static str> {
    list.iter().map(|(word, _)| *word).collect()
}

/// `oneOf` or `anyOf`: objects that have one of these members.
fn required(members: &[&str]) -> Value {
    members.iter().map(|name| json!({"required": [name]})).collect()
}

/// What refuses two members that exclude each other.
fn not_both(a: &str, b: &str) -> Value {
    json!({"required": [a, b]})
}

#[cfg(test)]
pub(super) mod tests;
