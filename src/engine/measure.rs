//! Measures: the numbers of a billing month that ladders turn into money.
//!
//! Source of the measures: PLAN-MODEL section 2; of segments and look-backs: section 3.

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use super::bill::{Bills, Charges};
use super::count::days_in_year;
use super::document::Document;
use super::frame::Frame;
use super::ground::Ground;
use super::lines::Work;
use super::settle::Unsettled;
use super::{PlanToBill, Question, VersionInForce};
use crate::tariff::model::{
    Cell, Charge, MILLIONTHS, Measure, MeasureId, OverMonths, PlanPlace, Quantity, Take, period_index,
};
use crate::tariff::number::{Decimal, Exact, Money};
use crate::tariff::{ConventionOverrides, DatedValues, MissingHistory};
use crate::words::{AttributeValue, DatedValue, dated};

/// Why a plan has no bill.
#[derive(Debug, Clone)]
pub(super) enum Stop {
    Fault(Box<Fault>),
    TooLarge,
}

/// A fault of a plan on these readings; the pointer is filled in by the charge that met it.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) pointer: Option<String>,
    pub(super) message: String,
}

impl Stop {
    /// A fault whose place is not known yet.
    pub(super) fn fault(code: &'static str, message: impl Into<String>) -> Self {
        Self::Fault(Box::new(Fault { code, pointer: None, message: message.into() }))
    }

    /// The same with its place, if it has none.
    pub(super) fn at(self, place: impl FnOnce() -> PlanPlace) -> Self {
        match self {
            Self::Fault(fault) if fault.pointer.is_none() => {
                let place = place();
                let message = place.tell(&fault.message);
                Self::Fault(Box::new(Fault { message, pointer: Some(place.pointer), ..*fault }))
            }
            other => other,
        }
    }
}

/// Days of one billing month: all of it, or the segments of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub(super) document: usize,
    /// Which of the documents that the plan is read from asks.
    pub(super) source: usize,
    pub(super) month: usize,
    pub(super) first: usize,
    pub(super) end: usize,
}

impl Span {
    /// Its segments.
    pub(super) fn segments(self) -> Range<usize> {
        self.first..self.end
    }
}

/// On which segments each version of a plan is in force.
#[derive(Debug)]
pub(super) struct InForce {
    versions: Vec<Range<usize>>,
}

impl InForce {
    /// The versions of a plan, in date order.
    pub(super) fn new(ground: &Ground<'_>, plan: &PlanToBill) -> Self {
        let segment_from = |date| ground.frame.segment_from(date);
        let of = |version: &VersionInForce| segment_from(version.days.start())..segment_from(version.days.end());
        Self { versions: plan.versions.iter().map(of).collect() }
    }

    /// The documents that hold in a billing month, each with its segments; none in the earlier months.
    fn held(&self, frame: &Frame, month: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let all = if month < frame.n_earlier { 0..0 } else { frame.months[month].segments.clone() };
        let held = self.versions.iter().enumerate();
        let within = held.map(move |(document, v)| (document, v.start.max(all.start)..v.end.min(all.end)));
        within.filter(|(_, segments)| !segments.is_empty())
    }
}

/// A value that was asked for, with the earlier months that it wanted and that no readings cover.
#[derive(Debug, Clone)]
struct Remembered {
    span: Span,
    value: Exact,
    missing_history: Vec<NaiveDate>,
}

/// Evaluates the measures and charges of one plan, remembering what was asked before.
pub(super) struct Biller<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) question: &'a Question,
    pub(super) documents: &'a [Document<'a>],
    in_force: &'a InForce,
    /// Earlier months that look-backs wanted and no readings cover, each as often as it was asked for.
    pub(super) missing_history: Vec<NaiveDate>,
    /// By document and kept measure.
    known: Vec<Vec<Vec<Remembered>>>,
    pub(super) charges: Charges,
    /// What is billed so far.
    pub(super) bills: Bills,
    /// The billing month that is billed.
    pub(super) month: usize,
    pub(super) spare_work: Vec<Work>,
    pub(super) spare_lines: Vec<Unsettled>,
}

impl<'a> Biller<'a> {
    /// Nothing evaluated yet.
    pub(super) fn new(
        ground: &'a Ground<'a>,
        question: &'a Question,
        documents: &'a [Document<'a>],
        in_force: &'a InForce,
    ) -> Self {
        Self {
            ground,
            question,
            documents,
            in_force,
            missing_history: Vec::new(),
            known: documents.iter().map(|document| vec![Vec::new(); document.plan.known.n_kept]).collect(),
            charges: Charges::new(documents, ground.frame.months.len()),
            bills: Bills::default(),
            month: 0,
            spare_work: Vec::new(),
            spare_lines: Vec::new(),
        }
    }

    /// The documents that hold in a billing month, each with its segments; none in the earlier months.
    pub(super) fn held(&self, month: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<'a> {
        self.in_force.held(&self.ground.frame, month)
    }

    /// The value of a measure.
    #[inline]
    pub(super) fn measure(&mut self, id: MeasureId, span: Span) -> Result<Exact, Stop> {
        match &self.documents[span.document].plan.measures[id] {
            Measure::Constant(decimal) => Ok(Exact::from(*decimal)),
            measure => self.measured(id, measure, span),
        }
    }

    /// What runs through a ladder.
    #[inline]
    pub(super) fn quantity(&mut self, quantity: Quantity, span: Span) -> Result<Exact, Stop> {
        let document = &self.documents[span.document];
        match quantity {
            Quantity::Energy(Cell { table, period }) => {
                Ok(kwh(document.tables[table as usize].energy(span.segments(), period as usize)))
            }
            Quantity::Highest(Cell { table, period }) => {
                Ok(kwh(document.tables[table as usize].highest(span.segments(), period as usize)))
            }
            Quantity::Constant(millionths) => Ok(kwh(millionths)),
            Quantity::Measured(id) => self.measure(id, span),
        }
    }

    fn measured(&mut self, id: MeasureId, measure: &'a Measure, span: Span) -> Result<Exact, Stop> {
        let document: &'a Document<'a> = &self.documents[span.document];
        let value = match measure {
            Measure::Constant(decimal) => Exact::from(*decimal),
            Measure::Count { unit, period, by_convention } => {
                if *by_convention {
                    self.count(*unit, span, *period)
                } else {
                    self.count_plainly(*unit, span, *period)
                }
            }
            Measure::DaysInYear => {
                let start = self.ground.frame.months[span.month].period.start();
                Exact::whole(days_in_year(start.year()))
            }
            Measure::Energy(spec) => {
                let [table, _] = document.tables_of(id);
                kwh(table.energy(span.segments(), period_index(spec.period)))
            }
            Measure::Cost(spec) => document.cost(spec, span)?,
            Measure::Demand(spec) if spec.is_plain() => {
                let [table, _] = document.tables_of(id);
                kwh(table.highest(span.segments(), period_index(spec.period)))
            }
            Measure::Attribute(name) => self.attribute(name, span)?,
            Measure::Amount(charges) => self.amount(charges, span)?,
            Measure::ByDate(values) => {
                let date = self.value_date(span);
                let later = values.partition_point(|(from, _)| *from <= date);
                let Some((_, id)) = later.checked_sub(1).map(|i| values[i]) else {
                    let first = values.first().map_or_else(String::new, |(from, _)| from.to_string());
                    let message = format!("there is no value on {date}; the first one begins on {first}");
                    return Err(Stop::fault("value_missing", message));
                };
                self.measure(id, span)?
            }
            made => {
                let Some(kept) = document.plan.known.kept[id] else { return self.made(id, made, document, span) };
                let kept = kept as usize;
                let known = self.known[span.document][kept].iter().rev().find(|known| known.span == span);
                if let Some(known) = known {
                    self.missing_history.extend(&known.missing_history);
                    return Ok(known.value.clone());
                }
                let n_missing = self.missing_history.len();
                let value = self.made(id, made, document, span)?;
                let missing_history = distinct(&self.missing_history[n_missing..]);
                let known = Remembered { span, value: value.clone(), missing_history };
                self.known[span.document][kept].push(known);
                value
            }
        };
        if value.is_too_large() { Err(Stop::TooLarge) } else { Ok(value) }
    }

    fn made(
        &mut self,
        id: MeasureId,
        measure: &'a Measure,
        document: &'a Document<'a>,
        span: Span,
    ) -> Result<Exact, Stop> {
        let value = match measure {
            Measure::Sum(parts) => self.folded(parts, span, |a, b| a.plus(&b)),
            Measure::Times(parts) => self.folded(parts, span, |a, b| a.times(&b)),
            Measure::Max(parts) => self.folded(parts, span, Exact::max),
            Measure::Min(parts) => self.folded(parts, span, Exact::min),
            Measure::Divide(dividend, divisor) => {
                let (dividend, divisor) = (self.measure(*dividend, span)?, self.measure(*divisor, span)?);
                dividend
                    .divided_by(&divisor)
                    .ok_or_else(|| Stop::fault("division_by_zero", "the divisor of a measure is zero here"))
            }
            Measure::Round { of, to, mode } => self.measure(*of, span)?.rounded(*to, *mode).ok_or(Stop::TooLarge),
            Measure::Demand(spec) => {
                super::demand::demand(self.ground, document, spec, self.ground.frame.days_of(&span.segments()))
            }
            Measure::NetEnergy(spec) => Ok(kwh(self.net_energy(spec, document.tables_of(id), span)?)),
            Measure::OverMonths(over) => self.over_months(over, span),
            _ => Ok(Exact::ZERO),
        }?;
        if value.is_too_large() { Err(Stop::TooLarge) } else { Ok(value) }
    }

    /// The values of measures joined one after the other; zero without any.
    fn folded(&mut self, parts: &[MeasureId], span: Span, join: impl Fn(Exact, Exact) -> Exact) -> Result<Exact, Stop> {
        let Some((first, rest)) = parts.split_first() else { return Ok(Exact::ZERO) };
        let mut value = self.measure(*first, span)?;
        for part in rest {
            value = join(value, self.measure(*part, span)?);
            if value.is_too_large() {
                return Err(Stop::TooLarge);
            }
        }
        Ok(value)
    }

    /// The date whose dated values hold.
    pub(super) fn value_date(&self, span: Span) -> NaiveDate {
        let frame = &self.ground.frame;
        let month = &frame.months[span.month].period;
        match self.conventions(span).dated_values {
            Some(DatedValues::AtStart) => month.start(),
            Some(DatedValues::AtEnd) => month.end().pred_opt().unwrap_or(month.start()),
            None | Some(DatedValues::Split) => frame.first_date(span.first),
        }
    }

    fn attribute(&self, name: &str, span: Span) -> Result<Exact, Stop> {
        let number = |text: &str| {
            Decimal::parse(text, 18).map(Exact::from).map_err(|error| {
                Stop::fault("attribute_not_a_number", format!("the customer's attribute {name:?}: {text:?} {error}"))
            })
        };
        match self.question.attributes.get(name) {
            None => {
                let message = format!("the customer has no attribute {name:?}, which this charge needs");
                Err(Stop::fault("attribute_missing", message))
            }
            Some(AttributeValue::Flag(_)) => {
                let message = format!("the customer's attribute {name:?} is true or false; this charge needs a number");
                Err(Stop::fault("attribute_not_a_number", message))
            }
            Some(AttributeValue::Number(decimal)) => number(&decimal.to_string()),
            Some(AttributeValue::Word(word)) => number(word.as_str()),
            Some(AttributeValue::ByDate { by_date }) => {
                let date = self.value_date(span);
                let in_force = by_date
                    .iter()
                    .filter_map(|(from, value)| dated(from).map(|from| (from, value)))
                    .filter(|(from, _)| *from <= date)
                    .max_by_key(|(from, _)| *from);
                match in_force {
                    Some((_, DatedValue::Text(value))) => number(value),
                    Some((_, DatedValue::Flag(flag))) => number(&flag.to_string()),
                    None => {
                        let message = format!("the customer's attribute {name:?} has no value on {date}");
                        Err(Stop::fault("attribute_missing", message))
                    }
                }
            }
        }
    }

    /// Money of charges on the days of a span, after their rounding.
    fn amount(&mut self, charges: &[usize], span: Span) -> Result<Exact, Stop> {
        if let Some(total) = self.total_of_uncut(charges, span) {
            return Ok(total.into());
        }
        let mut sum = Exact::ZERO;
        let is_alone = self.holds_alone(span) || self.held(span.month).all(|(document, _)| document == span.document);
        for charge in charges {
            if is_alone {
                sum = sum.plus(&self.amount_on(span.document, *charge, span)?);
                continue;
            }
            // A look-back into a month of several versions: each is billed by its own.
            let id = &self.documents[span.document].plan.charges[*charge].id;
            for (document, _) in self.held(span.month) {
                if let Some(charge) = self.documents[document].plan.charge_named(id) {
                    sum = sum.plus(&self.amount_on(document, charge, span)?);
                }
            }
        }
        Ok(sum)
    }

    /// The sum of bills that stand already, each for just these days.
    fn total_of_uncut(&self, charges: &[usize], span: Span) -> Option<Money> {
        let (first, end) = (span.first, span.end);
        charges.iter().try_fold(Money::ZERO, |sum, charge| {
            let bill = self.charges.get(span.document, span.month, *charge)?;
            sum.plus(bill.uncut_total(&(first..end))?)
        })
    }

    /// Whether the span's own document is in force on all of it.
    fn holds_alone(&self, span: Span) -> bool {
        self.held(span.month)
            .any(|(document, held)| document == span.document && held.start <= span.first && span.end <= held.end)
    }

    fn amount_on(&mut self, document: usize, charge: usize, span: Span) -> Result<Exact, Stop> {
        Ok(self.charge(document, span.month, charge)?.within(&span.segments()))
    }

    /// The segments of a month on which a charge is billed: where its document is in force, or the whole of an earlier
    /// month.
    pub(super) fn span_of(&self, document: usize, month: usize, charge: &Charge) -> Span {
        let all = || self.ground.frame.months[month].segments.clone();
        let held = self.held(month).find(|(other, _)| *other == document).map_or_else(all, |(_, segments)| segments);
        Span { document, source: charge.source, month, first: held.start, end: held.end }
    }

    /// All of another month.
    pub(super) fn whole_month(&self, span: Span, month: usize) -> Span {
        let all = self.ground.frame.months[month].segments.clone();
        Span { month, first: all.start, end: all.end, ..span }
    }

    /// The conventions of whoever asks.
    pub(super) fn conventions(&self, span: Span) -> &'a ConventionOverrides {
        &self.documents[span.document].conventions[span.source]
    }

    fn over_months(&mut self, over: &OverMonths, span: Span) -> Result<Exact, Stop> {
        let refuse = self.conventions(span).missing_history == Some(MissingHistory::Refuse);
        let n_back = over.last - u32::from(over.current);
        let mut values: Vec<Exact> = Vec::new();
        for back in (1..=n_back).rev() {
            let month = span.month.checked_sub(back as usize);
            let known = month.filter(|month| self.has_readings(*month));
            let Some(month) = known else {
                let own = self.ground.frame.months[span.month].period.start();
                let start = month.map_or_else(
                    || own.checked_sub_months(chrono::Months::new(back)).unwrap_or(own),
                    |month| self.ground.frame.months[month].period.start(),
                );
                if over.named.is_empty() || over.named.contains(&start.month()) {
                    if refuse {
                        let message =
                            format!("the billing month of {start}, on which this charge looks back, has no readings");
                        return Err(Stop::fault("missing_history", message));
                    }
                    self.missing_history.push(start);
                }
                continue;
            };
            if self.is_named(over, month) {
                let whole = self.whole_month(span, month);
                values.push(self.measure(over.of, whole)?);
            }
        }
        if over.current && self.is_named(over, span.month) {
            values.push(self.measure(over.of, span)?);
        }
        let n_values = i64::try_from(values.len()).unwrap_or(1);
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Ok(Exact::ZERO) };
        Ok(match over.take {
            Take::Max => values.fold(first, Exact::max),
            Take::Sum => values.fold(first, |sum, value| sum.plus(&value)),
            Take::Mean => values
                .fold(first, |sum, value| sum.plus(&value))
                .divided_by(&Exact::whole(n_values))
                .ok_or(Stop::TooLarge)?,
        })
    }

    fn is_named(&self, over: &OverMonths, month: usize) -> bool {
        over.named.is_empty() || over.named.contains(&self.ground.frame.months[month].period.start().month())
    }

    fn has_readings(&self, month: usize) -> bool {
        self.ground.has_readings(self.ground.frame.months[month].segments.clone())
    }
}

/// Each date once, in order.
pub(super) fn distinct(dates: &[NaiveDate]) -> Vec<NaiveDate> {
    let mut distinct = dates.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// Milliwatt-hours as kWh, or milliwatts as kW.
#[inline]
pub(super) fn kwh(milliwatt_hours: i64) -> Exact {
    Exact::scaled(i128::from(milliwatt_hours), MILLIONTHS)
}
