//! Where two results differ, told by plan, billing month and line.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

/// Differences that are told; the others are counted.
pub(super) const MAX_TOLD: usize = 100;

/// One member of the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// JSON pointer into `result.json`, by the places of what was computed.
    pub pointer: String,
    /// The plan, if it lies in a bill.
    pub plan_id: Option<String>,
    /// First day of the billing month, if it lies in one.
    pub period_start: Option<String>,
    /// The line item, if it lies in one: charge, time-of-use period, tier.
    pub line: Option<String>,
    /// The member.
    pub member: String,
    /// What the inputs give; `None` when there is nothing.
    pub expected: Option<String>,
    /// What the archive holds.
    pub found: Option<String>,
}

/// The differences between what was computed and what was found, and how many there are.
pub(super) fn differences(expected: &Value, found: &Value) -> (Vec<Difference>, usize) {
    let mut walk = Walk { told: Vec::new(), n: 0 };
    walk.value(&Place::default(), Some(expected), Some(found));
    (walk.told, walk.n)
}

#[derive(Debug, Clone, Default)]
struct Place {
    pointer: String,
    plan_id: Option<String>,
    period_start: Option<String>,
    line: Option<String>,
    member: String,
}

struct Walk {
    told: Vec<Difference>,
    n: usize,
}

impl Walk {
    fn value(&mut self, place: &Place, expected: Option<&Value>, found: Option<&Value>) {
        match (expected, found) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                    let pointer = format!("{}/{}", place.pointer, name.replace('~', "~0").replace('/', "~1"));
                    let place = Place { pointer, member: name.clone(), ..place.clone() };
                    self.value(&place, a.get(name), b.get(name));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => self.items(place, a, b),
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                self.n += 1;
                if self.told.len() < MAX_TOLD {
                    let place = place.clone();
                    self.told.push(Difference {
                        pointer: place.pointer,
                        plan_id: place.plan_id,
                        period_start: place.period_start,
                        line: place.line,
                        member: place.member,
                        expected: a.map(text),
                        found: b.map(text),
                    });
                }
            }
        }
    }

    /// Bills, months and lines are held against those of the same name; other items against those of the same place.
    fn items(&mut self, place: &Place, expected: &[Value], found: &[Value]) {
        let names = |items: &[Value]| items.iter().map(name_of).collect::<Option<Vec<String>>>();
        let by_name = names(expected).zip(names(found)).filter(|(a, b)| {
            let is_distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
            is_distinct(a) && is_distinct(b)
        });
        let Some((names, found_names)) = by_name else {
            for i in 0..expected.len().max(found.len()) {
                let pointer = format!("{}/{i}", place.pointer);
                let place = Place { pointer, ..named(place, expected.get(i).or(found.get(i))) };
                self.value(&place, expected.get(i), found.get(i));
            }
            return;
        };
        for (i, (item, name)) in expected.iter().zip(&names).enumerate() {
            let place = Place { pointer: format!("{}/{i}", place.pointer), ..named(place, Some(item)) };
            let other = found_names.iter().position(|other| other == name);
            self.value(&place, Some(item), other.map(|other| &found[other]));
        }
        for (item, name) in found.iter().zip(&found_names) {
            if !names.contains(name) {
                let place = Place { pointer: format!("{}/-", place.pointer), ..named(place, Some(item)) };
                self.value(&place, None, Some(item));
            }
        }
        let kept = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter().filter(|name| others.contains(name)).cloned().collect()
        };
        if kept(&names, &found_names) != kept(&found_names, &names) {
            let order = |names: &[String]| Value::from(names.join(", "));
            self.value(place, Some(&order(&names)), Some(&order(&found_names)));
        }
    }
}

/// The place with what an item is.
fn named(place: &Place, item: Option<&Value>) -> Place {
    let mut place = place.clone();
    let Some(item) = item else { return place };
    let own = |member: &str| item[member].as_str().map(str::to_owned);
    if item.get("line_items").is_some() {
        place.period_start = own("start");
    } else if item.get("charge_id").is_some() {
        place.line = name_of(item);
    } else if item.get("plan_id").is_some() {
        place.plan_id = own("plan_id");
    }
    place
}

/// What tells an item from its neighbours, for those that have that.
fn name_of(item: &Value) -> Option<String> {
    if item.get("line_items").is_some() {
        return item["start"].as_str().map(str::to_owned);
    }
    if item.get("charge_id").is_some() {
        let members = ["included_plan_id", "charge_id", "tou_period", "tier", "plan_version"];
        let parts = members.iter().filter_map(|member| match &item[*member] {
            Value::Null => None,
            Value::Number(n) if *member == "tier" => Some(format!("tier {n}")),
            Value::Number(n) => Some(format!("version {n}")),
            other => Some(text(other)),
        });
        return Some(parts.collect::<Vec<_>>().join(" "));
    }
    item.get("plan_id").and_then(Value::as_str).map(str::to_owned)
}

/// A value as it is told.
fn text(value: &Value) -> String {
    const MAX: usize = 200;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= MAX {
        return text;
    }
    text.chars().take(MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(expected: &Value, found: &Value) -> Vec<String> {
        let (told, n) = differences(expected, found);
        assert_eq!(told.len(), n.min(MAX_TOLD));
        let none = || "nothing".to_owned();
        told.into_iter()
            .map(|d| {
                let place = [d.plan_id, d.period_start, d.line].into_iter().flatten().collect::<Vec<_>>().join("|");
                let (expected, found) = (d.expected.unwrap_or_else(none), d.found.unwrap_or_else(none));
                format!("{place}|{}: {expected}, found {found}", d.member)
            })
            .collect()
    }

    fn bill(plan: &str, lines: &[(&str, &str)]) -> Value {
        let line = |(charge, amount): &(&str, &str)| json!({"charge_id": charge, "tier": 1, "amount": amount});
        let lines: Vec<Value> = lines.iter().map(line).collect();
        json!({"plan_id": plan, "periods": [{"start": "2026-06-01", "line_items": lines}]})
    }

    #[test]
    fn what_differs_is_told_by_plan_month_and_line() {
        let expected =
            json!({"currency": "GBP", "plans": [bill("a", &[("x", "1"), ("y", "2")]), bill("b", &[("x", "3")])]});
        assert_eq!(told(&expected, &expected), Vec::<String>::new());
        let mut found = expected.clone();
        found["plans"][0]["periods"][0]["line_items"][1]["amount"] = json!("2.01");
        found["currency"] = json!("EUR");
        assert_eq!(
            told(&expected, &found),
            ["|currency: GBP, found EUR", "a|2026-06-01|y tier 1|amount: 2, found 2.01",]
        );
    }

    #[test]
    fn a_line_that_is_gone_is_one_difference() {
        let expected = json!({"plans": [bill("a", &[("x", "1"), ("y", "2"), ("z", "3")])]});
        let found = json!({"plans": [bill("a", &[("x", "1"), ("z", "3"), ("w", "4")])]});
        let told = told(&expected, &found);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("a|2026-06-01|y tier 1|line_items: {") && told[0].ends_with("found nothing"));
        assert!(told[1].starts_with("a|2026-06-01|w tier 1|line_items: nothing, found {"));
        let turned = json!({"plans": [bill("a", &[("z", "3"), ("y", "2"), ("x", "1")])]});
        assert_eq!(
            super::differences(&expected, &turned).0[0].expected.as_deref(),
            Some("x tier 1, y tier 1, z tier 1")
        );
    }

    #[test]
    fn many_differences_are_counted() {
        let numbers = |from: i32| Value::from((from..from + 500).collect::<Vec<_>>());
        let (told, n) = differences(&numbers(0), &numbers(1));
        assert_eq!((told.len(), n), (MAX_TOLD, 500));
    }
}
