//! Reading a plan document: what the JSON may hold, checked to the last member, every fault with its place.
//!
//! Source of the grammar: PLAN-MODEL sections 2 and 4.

mod charge;
mod condition;
mod during;
mod include;
mod ladder;
mod measure;
mod schedule;
mod schema;
mod series;
mod walk;
mod whole;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono_tz::Tz;

pub(super) use self::include::IncludedDocument;
pub use self::schema::plan_schema;
use self::walk::{Faults, Node, Object};
use super::conventions::ConventionOverrides;
use super::currency::currency_decimals;
use super::json::Json;
use super::model::{
    Charge, Include, IncludedVersion, Known, Measure, MeasureId, Names, NotBilled, Plan, Rounding, Source,
};
use super::number::{Decimal, RoundingMode};
use super::schedule::Schedule;
use super::{TariffError, TariffErrors};

/// Most charges, measures and schedules of one document.
const MAX_CHARGES: usize = 1_000;
/// Most steps of one document.
const MAX_STEPS: usize = 1_000;
/// Most months a look-back may reach.
const MAX_LOOK_BACK_MONTHS: u32 = 36;

/// Reads and checks a document.
///
/// * `included`: the plans it includes; `None` where they are not known: one charge without an amount stands for each, so
///   that the rest of the document can be checked.
pub(super) fn read(json: &Json<'_>, included: Option<&[IncludedDocument<'_>]>) -> Result<Plan, TariffErrors> {
    let mut reader = Reader::default();
    let plan = reader.plan(&Node { json, pointer: String::new() }, included);
    match plan {
        Some(plan) if reader.faults.0.is_empty() => Ok(plan),
        _ => Err(TariffErrors(reader.faults.0)),
    }
}

/// What is known of a document while it is read.
#[derive(Default)]
struct Reader<'a> {
    faults: Faults,
    currency: String,
    schedules: Vec<Schedule>,
    schedule_names: Names,
    measures: Vec<Measure>,
    measure_ids: HashMap<Measure, MeasureId>,
    /// Of each measure: whether it grows with the days, and its unit.
    facts: Vec<(bool, String)>,
    named_measures: BTreeMap<&'a str, NamedMeasure<'a>>,
    charge_names: Names,
    groups: BTreeMap<String, Vec<usize>>,
    on_bill: Vec<bool>,
    /// The charges of the documents that have been read.
    charges: Vec<Charge>,
    /// Those documents, and the one being read from when its charges are.
    sources: Vec<Source>,
    /// Index of the first charge of the document being read, those it includes among them.
    first_charge: usize,
    /// What stands before the ids of its charges.
    prefix: String,
    /// For a document that is included: the place in the plan's own document by which it is.
    outermost: Option<String>,
    /// The plans it includes that are not known, each with the charge that stands for it.
    stand_ins: Vec<(String, usize)>,
    n_steps: usize,
    n_instants: usize,
    /// Event lists that its rules name, and those of the plans it includes.
    event_lists: BTreeSet<String>,
    n_nested: usize,
}

/// What stands in a document besides its schedules, measures and charges.
struct Head {
    name: Option<String>,
    currency: Option<String>,
    currency_decimals: u32,
    provider: Option<String>,
    territory: Option<String>,
    tags: Vec<String>,
    includes: Vec<Include>,
    total: Option<Rounding>,
    /// With that of the plans it includes.
    not_billed: Vec<NotBilled>,
}

enum NamedMeasure<'a> {
    Unread(Node<'a>),
    BeingRead,
    Read(Option<MeasureId>),
}

impl<'a> Reader<'a> {
    fn plan(&mut self, node: &Node<'a>, included: Option<&'a [IncludedDocument<'a>]>) -> Option<Plan> {
        let head = self.document(node, included, None)?;
        let mut plan = Plan {
            name: head.name?,
            currency: head.currency?,
            currency_decimals: head.currency_decimals,
            provider: head.provider,
            territory: head.territory,
            tags: head.tags,
            time_zone: self.sources.iter().rev().find_map(|source| source.time_zone),
            includes: head.includes,
            measures: std::mem::take(&mut self.measures),
            charges: std::mem::take(&mut self.charges),
            total_rounding: head.total,
            sources: std::mem::take(&mut self.sources),
            not_billed: head.not_billed,
            look_back_months: 0,
            attributes: BTreeSet::new(),
            calendars: self.schedules.iter().flat_map(|schedule| schedule.holidays.iter().cloned()).collect(),
            schedules: std::mem::take(&mut self.schedules),
            price_series: BTreeSet::new(),
            event_lists: std::mem::take(&mut self.event_lists),
            reads: BTreeSet::new(),
            costs: BTreeSet::new(),
            known: Known::default(),
        };
        if self.faults.0.is_empty() {
            self.check_cycles(&plan);
        }
        if self.faults.0.is_empty() {
            self.check_chains(&plan);
        }
        if self.faults.0.is_empty() {
            self.finish(&mut plan);
            plan.known = Known::of(&plan);
        }
        Some(plan)
    }

    /// Reads a document and those it includes: their schedules, measures and charges are put behind one another.
    ///
    /// * `version`: where it comes from, if it is an included one.
    fn document(
        &mut self,
        node: &Node<'a>,
        documents: Option<&'a [IncludedDocument<'a>]>,
        version: Option<IncludedVersion>,
    ) -> Option<Head> {
        let mut object = node.object(&mut self.faults)?;
        let name = object.want("name", &mut self.faults).and_then(|n| self.short_text(&n, 200));
        let currency = object.want("currency", &mut self.faults).and_then(|n| self.currency(&n));
        let provider = object.take("provider").and_then(|n| self.short_text(&n, 200));
        let territory = object.take("territory").and_then(|n| self.short_text(&n, 200));
        for free_text in ["source", "notes"] {
            if let Some(n) = object.take(free_text) {
                self.short_text(&n, 20_000);
            }
        }
        let tags = object.take("tags").map(|n| self.tags(&n)).unwrap_or_default();
        let time_zone = object.take("time_zone").and_then(|n| self.time_zone(&n));
        let not_billed = object.take("not_billed").map(|n| self.not_billed(&n)).unwrap_or_default();
        let others = object.take("include");
        let conventions = object.take("conventions").map(|n| self.conventions(&n)).unwrap_or_default();
        let rounding = object.take("rounding");
        let schedules = object.take("schedules");
        let measures = object.take("measures");
        // A plan may be made of others alone.
        let charges = if others.is_some() { object.take("charges") } else { object.want("charges", &mut self.faults) };
        object.finish("a plan", &mut self.faults);

        self.currency = currency.clone().unwrap_or_default();
        let currency_decimals = currency_decimals(&self.currency).unwrap_or(2);
        let [lines, total] = self.plan_rounding(rounding.as_ref(), currency_decimals);
        let includes = others.map(|n| self.includes(&n)).unwrap_or_default();
        let mut head =
            Head { name, currency, currency_decimals, provider, territory, tags, includes, total, not_billed };
        let first_charge = self.on_bill.len();
        match documents {
            Some(documents) => self.include(documents, &mut head),
            None => self.stand_in(&head.includes),
        }
        self.first_charge = first_charge;
        self.sources.push(Source {
            included: version,
            first_charge: self.on_bill.len(),
            first_schedule: self.schedules.len(),
            time_zone,
            conventions,
            lines,
        });
        if let Some(node) = schedules {
            self.read_schedules(&node, &conventions);
        }
        if let Some(node) = measures {
            for (name, node) in node.entries(&mut self.faults) {
                if walk::check_name(name, &node.pointer, &mut self.faults) {
                    self.named_measures.insert(name, NamedMeasure::Unread(node));
                }
            }
        }
        let charges = charges.map(|n| self.charges(&n, &head.includes)).unwrap_or_default();
        self.charges.extend(charges);
        let names: Vec<&str> = self.named_measures.keys().copied().collect();
        for name in names {
            self.named_measure(name);
        }
        Some(head)
    }

    fn short_text(&mut self, node: &Node<'a>, most: usize) -> Option<String> {
        let text = node.text(&mut self.faults)?;
        if text.chars().count() > most {
            self.faults.add("too_long", &node.pointer, format!("this may have at most {most} characters"));
            return None;
        }
        Some(text.to_owned())
    }

    fn currency(&mut self, node: &Node<'a>) -> Option<String> {
        let text = node.text(&mut self.faults)?;
        if currency_decimals(text).is_none() {
            let message = format!("{text:?} is no currency; write its ISO 4217 code, such as USD, GBP or JPY");
            self.faults.add("unknown_currency", &node.pointer, message);
            return None;
        }
        Some(text.to_owned())
    }

    fn time_zone(&mut self, node: &Node<'a>) -> Option<Tz> {
        let text = node.text(&mut self.faults)?;
        if let Ok(zone) = text.parse() {
            Some(zone)
        } else {
            let message = format!("{text:?} is no IANA time zone; write one such as Australia/Sydney");
            self.faults.add("unknown_time_zone", &node.pointer, message);
            None
        }
    }

    fn tags(&mut self, node: &Node<'a>) -> Vec<String> {
        let items = node.items(&mut self.faults);
        if items.len() > 100 {
            self.faults.add("too_many", &node.pointer, "a plan has at most 100 tags");
        }
        items.iter().filter_map(|n| self.short_text(n, 100)).collect()
    }

    fn not_billed(&mut self, node: &Node<'a>) -> Vec<NotBilled> {
        let mut list = Vec::new();
        for item in node.items(&mut self.faults) {
            let Some(mut object) = item.object(&mut self.faults) else { continue };
            let field = object.want("field", &mut self.faults).and_then(|n| self.short_text(&n, 200));
            let reason = object.want("reason", &mut self.faults).and_then(|n| self.short_text(&n, 2_000));
            let optional = object.take("optional").and_then(|n| n.flag(&mut self.faults)).unwrap_or(false);
            object.finish("an entry of not_billed", &mut self.faults);
            list.extend(field.zip(reason).map(|(field, reason)| NotBilled { field, reason, optional }));
        }
        list
    }

    fn conventions(&mut self, node: &Node<'a>) -> ConventionOverrides {
        let Some(mut object) = node.object(&mut self.faults) else { return ConventionOverrides::default() };
        macro_rules! choice {
            ($name:literal) => {
                object.take($name).and_then(|n| n.choice(&mut self.faults))
            };
        }
        let conventions = ConventionOverrides {
            tier_scope: choice!("tier_scope"),
            tier_allocation: choice!("tier_allocation"),
            daily_amounts: choice!("daily_amounts"),
            monthly_amounts: choice!("monthly_amounts"),
            yearly_amounts: choice!("yearly_amounts"),
            broken_month_bounds: choice!("broken_month_bounds"),
            wrapping_window: choice!("wrapping_window"),
            dated_values: choice!("dated_values"),
            missing_history: choice!("missing_history"),
            rounding: None,
            export: None,
        };
        object.finish("conventions", &mut self.faults);
        conventions
    }

    /// Reads a rounding: `"0.01"` or `{"to", "mode"}`, on a charge with `"each"`.
    fn rounding(&mut self, node: &Node<'a>, with_each: bool) -> Option<Rounding> {
        let mut rounding = Rounding { to: Decimal::ONE, mode: RoundingMode::HalfUp, each_charge: false };
        if matches!(node.json, Json::Object(_)) {
            let mut object = node.object(&mut self.faults)?;
            let to = object.want("to", &mut self.faults).and_then(|n| self.rounding_unit(&n));
            if let Some(n) = object.take("mode") {
                rounding.mode = self.rounding_mode(&n)?;
            }
            if with_each && let Some(n) = object.take("each") {
                rounding.each_charge = n.word(&words::ROUNDS_EACH, &mut self.faults)?;
            }
            object.finish("a rounding", &mut self.faults);
            rounding.to = to?;
        } else {
            rounding.to = self.rounding_unit(node)?;
        }
        Some(rounding)
    }

    fn rounding_unit(&mut self, node: &Node<'a>) -> Option<Decimal> {
        let unit = node.decimal(18, &mut self.faults)?;
        if !unit.is_positive() {
            self.faults.add("out_of_range", &node.pointer, "a rounding is to a unit greater than zero");
            return None;
        }
        Some(unit)
    }

    fn rounding_mode(&mut self, node: &Node<'a>) -> Option<RoundingMode> {
        node.word(&words::ROUNDING_MODES, &mut self.faults)
    }

    /// The roundings of the charges that say nothing, and of the total.
    fn plan_rounding(&mut self, node: Option<&Node<'a>>, decimals: u32) -> [Option<Rounding>; 2] {
        let digits = Rounding { to: currency_unit(decimals), mode: RoundingMode::HalfUp, each_charge: false };
        let [mut lines, mut total] = [None, Some(digits)];
        let Some(mut object) = node.and_then(|n| n.object(&mut self.faults)) else { return [lines, total] };
        let is_none = |n: &Node<'_>| n.json.as_str() == Some("none");
        if let Some(n) = object.take("lines")
            && !is_none(&n)
        {
            lines = self.rounding(&n, false);
            total = None;
        }
        if let Some(n) = object.take("total") {
            total = if is_none(&n) { None } else { self.rounding(&n, false) };
        }
        object.finish("rounding", &mut self.faults);
        [lines, total]
    }

    /// The id of a measure, the same for the same measure.
    fn intern(&mut self, measure: Measure) -> MeasureId {
        if let Some(id) = self.measure_ids.get(&measure) {
            return *id;
        }
        let id = self.measures.len();
        self.facts.push((measure.is_extensive(&self.facts), measure.unit(&self.facts, &self.currency)));
        self.measures.push(measure.clone());
        self.measure_ids.insert(measure, id);
        id
    }

    fn constant(&mut self, decimal: Decimal) -> MeasureId {
        self.intern(Measure::Constant(decimal))
    }
}

/// The unit of the currency's last digit.
pub(crate) fn currency_unit(decimals: u32) -> Decimal {
    let text = if decimals == 0 { "1".to_owned() } else { format!("0.{:0>1$}", 1, decimals as usize) };
    Decimal::parse(&text, 18).expect("one unit of the last digit is a decimal")
}

/// The calendar's fault for a pair of month and day, `06-15`.
fn month_day(text: &str) -> Option<(u32, u32)> {
    let (month, day) = text.split_once('-')?;
    let digits = |t: &str| t.len() == 2 && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(month) || !digits(day) {
        return None;
    }
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    chrono::NaiveDate::from_ymd_opt(2024, month, day).map(|_| (month, day))
}

impl TariffError {
    /// A fault of one place.
    pub(super) fn new(code: &str, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), pointer: pointer.into(), message: message.into() }
    }
}

/// Refuses both of two members that exclude each other.
fn refuse_both(object: &Object<'_>, a: &'static str, b: &'static str, faults: &mut Faults) {
    if object.has(a) && object.has(b) {
        faults.add("conflicting_fields", &object.place(b), format!("{a:?} and {b:?} exclude each other"));
    }
}

#[cfg(test)]
mod tests;
