//! Charges and bills: the lines of a billing month, rounded, added up. Source: PLAN-MODEL section 3.

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use super::condition::WouldBe;
use super::document::Document;
use super::lines::{Billable, Line};
use super::measure::{Biller, Span, Stop, distinct};
use super::settle::{Settling, Unsettled};
use super::terms::Terms;
use crate::tariff::model::Charge;
use crate::tariff::number::{Exact, Money};
use crate::words::BillingPeriod;

/// The bills of one plan, month after month.
#[derive(Debug, Default)]
pub(super) struct Bills {
    pub(super) months: Vec<MonthBill>,
    /// What stands on the bills, in the order of the plan's charges.
    pub(super) billed: Vec<BilledLine>,
    pub(super) lines: Vec<Line>,
    /// The prices of lines that were measured.
    pub(super) rates: Vec<Exact>,
}

/// One line of a bill: whose it is, and which.
#[derive(Debug, Clone, Copy)]
pub(super) struct BilledLine {
    pub(super) document: u32,
    pub(super) charge: u32,
    /// Index into [`Bills::lines`].
    pub(super) line: u32,
}

/// The bill of one billing month.
#[derive(Debug)]
pub(super) struct MonthBill {
    pub(super) period: BillingPeriod,
    /// Its part of [`Bills::billed`].
    pub(super) billed: Range<usize>,
    /// What the rounding of the total adds.
    pub(super) rounding: Money,
    pub(super) total: Money,
    pub(super) missing_history: Vec<NaiveDate>,
    /// What is not on it because a condition does not hold.
    pub(super) not_applied: Vec<WouldBe>,
}

/// Which parts of a charge with a condition are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// Those on which the condition holds, or all without one.
    Yes,
    /// Those on which it does not.
    No,
}

/// What one charge comes to in one billing month under one document.
#[derive(Debug, Clone)]
pub(super) struct ChargeBill {
    pub(super) total: Money,
    pub(super) n_lines: u32,
    /// Its lines in [`Bills::lines`]; none where they stand on no bill.
    lines: Range<u32>,
    /// The segments for which the total stands.
    part: Range<u32>,
    rest: Option<Box<Rest>>,
}

/// What few charges have.
#[derive(Debug, Clone, Default)]
struct Rest {
    /// The money of each part of the month into which the charge is cut; together the total.
    parts: Vec<(Range<usize>, Money)>,
    /// Earlier months that look-backs wanted and no readings cover.
    missing_history: Vec<NaiveDate>,
}

impl ChargeBill {
    /// The bill of a month, or of a part of one, that nothing cuts.
    ///
    /// * `lines`: those on the bill, all or none of `n_lines`.
    pub(super) fn uncut(total: Money, n_lines: usize, lines: Range<usize>, segments: &Range<usize>) -> Self {
        Self {
            total,
            n_lines: small(n_lines),
            lines: small(lines.start)..small(lines.end),
            part: small(segments.start)..small(segments.end),
            rest: None,
        }
    }

    /// The total, where it stands for just these segments and looked at no other month.
    #[inline]
    pub(super) fn uncut_total(&self, segments: &Range<usize>) -> Option<Money> {
        let is_uncut = self.rest.is_none() && (self.part.start as usize..self.part.end as usize) == *segments;
        is_uncut.then_some(self.total)
    }

    /// The money of the parts that lie within segments.
    pub(super) fn within(&self, segments: &Range<usize>) -> Exact {
        let lies_in = |part: &Range<usize>| segments.start <= part.start && part.end <= segments.end;
        match &self.rest {
            Some(rest) if !rest.parts.is_empty() => {
                let parts = rest.parts.iter().filter(|(part, _)| lies_in(part));
                parts.fold(Exact::ZERO, |sum, (_, money)| sum.plus(&Exact::from(*money)))
            }
            _ if lies_in(&(self.part.start as usize..self.part.end as usize)) => Exact::from(self.total),
            _ => Exact::ZERO,
        }
    }
}

/// What is known of the charges of each document in each billing month.
#[derive(Debug)]
pub(super) struct Charges {
    n_months: usize,
    /// The place of each document's first charge.
    first: Vec<usize>,
    /// By document, charge and month.
    bills: Vec<Option<ChargeBill>>,
}

impl Charges {
    /// Nothing known yet.
    pub(super) fn new(documents: &[Document<'_>], n_months: usize) -> Self {
        let mut n_bills = 0;
        let mut first = Vec::with_capacity(documents.len());
        for document in documents {
            first.push(n_bills);
            n_bills += document.plan.charges.len() * n_months;
        }
        Self { n_months, first, bills: vec![None; n_bills] }
    }

    fn place(&self, document: usize, month: usize, charge: usize) -> usize {
        self.first[document] + charge * self.n_months + month
    }

    /// Where that of a charge under a document in a month is put.
    pub(super) fn bill_mut(&mut self, document: usize, month: usize, charge: usize) -> &mut Option<ChargeBill> {
        let place = self.place(document, month, charge);
        &mut self.bills[place]
    }

    /// That of a charge under a document in a month, if it is known.
    pub(super) fn get(&self, document: usize, month: usize, charge: usize) -> Option<&ChargeBill> {
        self.bills[self.place(document, month, charge)].as_ref()
    }
}

impl<'a> Biller<'a> {
    /// Bills every billing month of the question.
    pub(super) fn bills(mut self) -> Result<Bills, Stop> {
        let frame = &self.ground.frame;
        let months = frame.n_earlier..frame.months.len();
        self.bill_plain_charges();
        self.bills.months.reserve_exact(months.len());
        for month in months.clone() {
            let bill = self.month_bill(month)?;
            self.bills.months.push(bill);
        }
        Ok(self.bills)
    }

    fn month_bill(&mut self, month: usize) -> Result<MonthBill, Stop> {
        self.month = month;
        self.missing_history.clear();
        let first = self.bills.billed.len();
        let mut total = Money::ZERO;
        let mut last = None;
        for (document, _) in self.held(month) {
            for (index, charge) in self.documents[document].plan.charges.iter().enumerate() {
                if !charge.on_bill {
                    continue;
                }
                let bill = self.charge(document, month, index)?;
                total = total.plus(bill.total).ok_or(Stop::TooLarge)?;
                for line in bill.lines.clone() {
                    let new = BilledLine { document: small(document), charge: small(index), line };
                    if last.is_none() || !self.joins_line(first, new)? {
                        self.bills.billed.push(new);
                    }
                }
            }
            last = Some(document);
        }
        let mut rounding = Money::ZERO;
        if let Some(rule) = last.and_then(|document| self.documents[document].total_rounding) {
            let rounded = rule.settle(&Exact::from(total))?;
            rounding = rounded.minus(total).ok_or(Stop::TooLarge)?;
            total = rounded;
        }
        let not_applied = self.not_applied(month);
        Ok(MonthBill {
            period: self.ground.frame.months[month].period,
            billed: first..self.bills.billed.len(),
            rounding,
            total,
            missing_history: distinct(&self.missing_history),
            not_applied,
        })
    }

    /// Adds a line to the one of the same charge, period, step and price of an earlier version, if there is one.
    fn joins_line(&mut self, first: usize, new: BilledLine) -> Result<bool, Stop> {
        let Bills { billed, lines, rates, .. } = &self.bills;
        let document = |billed: BilledLine| &self.documents[billed.document as usize];
        let charge = |billed: BilledLine| &document(billed).plan.charges[billed.charge as usize];
        let line = |billed: BilledLine| &lines[billed.line as usize];
        let period_name = |billed: BilledLine| {
            let (split, period) = (charge(billed).split?, line(billed).period?);
            Some(document(billed).plan.schedules[split].periods[usize::from(period)].as_str())
        };
        let series = |billed: BilledLine| {
            let (period, step) = (line(billed).period.map(usize::from), line(billed).step.map(usize::from));
            document(billed).plan.series_of(charge(billed), period, step)
        };
        let rate = |billed: BilledLine| line(billed).rate.of(document(billed).plan, rates);
        let found = billed[first..].iter().position(|known| {
            let known = *known;
            known.document != new.document
                && charge(known).id == charge(new).id
                && charge(known).kind == charge(new).kind
                && charge(known).unit == charge(new).unit
                && period_name(known) == period_name(new)
                && line(known).step == line(new).step
                && rate(known) == rate(new)
                && series(known) == series(new)
        });
        let Some(found) = found else { return Ok(false) };
        let known = billed[first + found].line as usize;
        let quantity = lines[known].quantity.plus(&line(new).quantity);
        let money = lines[known].money.plus(line(new).money).ok_or(Stop::TooLarge)?;
        let joined = &mut self.bills.lines[new.line as usize];
        (joined.quantity, joined.money) = (quantity, money);
        // It keeps its place on the bill and is told as the later version's.
        self.bills.billed[first + found] = new;
        Ok(true)
    }

    /// What a charge comes to in a billing month, under a document, on the days on which that is in force.
    pub(super) fn charge(&mut self, document: usize, month: usize, index: usize) -> Result<&ChargeBill, Stop> {
        let place = self.charges.place(document, month, index);
        if let Some(bill) = &self.charges.bills[place] {
            if let Some(rest) = &bill.rest {
                self.missing_history.extend(&rest.missing_history);
            }
        } else {
            let plan = self.documents[document].plan;
            let span = self.span_of(document, month, &plan.charges[index]);
            let n_missing = self.missing_history.len();
            let mut bill =
                self.charge_anew(index, span, Applied::Yes).map_err(|stop| stop.at(|| plan.place_of_charge(index)))?;
            if self.missing_history.len() > n_missing {
                let missing_history = distinct(&self.missing_history[n_missing..]);
                bill.rest.get_or_insert_default().missing_history = missing_history;
            }
            self.charges.bills[place] = Some(bill);
        }
        Ok(self.charges.bills[place].as_ref().expect("it has just been put there"))
    }

    /// The same of the parts of the month that are wanted, not remembered.
    pub(super) fn charge_anew(&mut self, index: usize, span: Span, wanted: Applied) -> Result<ChargeBill, Stop> {
        // What a charge refers to is billed meanwhile, on lines of its own.
        let mut lines = self.spare_lines.pop().unwrap_or_default();
        let bill = self.charge_on(index, span, wanted, &mut lines);
        lines.clear();
        self.spare_lines.push(lines);
        bill
    }

    fn charge_on(
        &mut self,
        index: usize,
        span: Span,
        wanted: Applied,
        lines: &mut Unsettled,
    ) -> Result<ChargeBill, Stop> {
        let document: &'a Document<'a> = &self.documents[span.document];
        let billable = document.billable(index);
        let Billable { charge, terms, .. } = billable;
        let mut sums: Vec<(Range<usize>, Exact)> = Vec::new();
        let mut last = 0..0;
        let mut next = span.first;
        while next < span.end {
            let part = self.part_from(charge, terms, Span { first: next, ..span });
            next = part.end;
            if !self.is_wanted(charge, part, wanted)? {
                continue;
            }
            let n_known = lines.len();
            self.lines(billable, part, lines)?;
            // The last part takes the rest: in a month of one part nothing is added up.
            if part.end < span.end {
                sums.push((part.segments(), lines.sum(n_known)));
            } else {
                last = part.segments();
            }
            if n_known > 0 {
                lines.join(n_known, &self.bills.rates);
            }
        }
        if charge.drops_zeros() {
            lines.drop_zeros();
        }
        let total = lines.settle(&terms.settling)?;
        let mut bill = ChargeBill {
            total,
            n_lines: small(lines.len()),
            lines: 0..0,
            part: small(last.start)..small(last.end),
            rest: None,
        };
        if !sums.is_empty() {
            sums.extend((!last.is_empty()).then_some((last, Exact::ZERO)));
            bill.rest = Some(Box::new(Rest { parts: share_out(&sums, total)?, missing_history: Vec::new() }));
        }
        if wanted == Applied::Yes && charge.on_bill && span.month == self.month {
            let first = self.bills.lines.len();
            self.bills.lines.append(&mut lines.lines);
            bill.lines = small(first)..small(self.bills.lines.len());
        }
        Ok(bill)
    }

    /// Whether a part of a month is billed: between the charge's first and last day, its condition as it is wanted.
    fn is_wanted(&self, charge: &Charge, part: Span, wanted: Applied) -> Result<bool, Stop> {
        if charge.from.is_some() || charge.to.is_some() {
            let first_day = self.ground.frame.first_date(part.first);
            if charge.from.is_some_and(|from| first_day < from) || charge.to.is_some_and(|to| to <= first_day) {
                return Ok(false);
            }
        }
        let holds = charge.condition.as_ref().map_or(Ok(true), |condition| self.holds(condition, part))?;
        Ok(holds == (wanted == Applied::Yes))
    }

    /// The first part of a span up to where the charge is cut: where it begins or ends, where dated values change, and at
    /// New Year.
    fn part_from(&self, charge: &Charge, terms: &Terms, span: Span) -> Span {
        let mut end = span.end;
        if !terms.cuts.is_empty() {
            let next = terms.cuts.get(terms.cuts.partition_point(|cut| *cut <= span.first));
            end = next.map_or(end, |cut| end.min(*cut));
        }
        if charge.cut_by_year {
            let frame = &self.ground.frame;
            let last = frame.first_date(span.end - 1);
            let new_year = NaiveDate::from_ymd_opt(last.year(), 1, 1).map(|date| frame.segment_from(date));
            end = new_year.filter(|cut| span.first < *cut).map_or(end, |cut| cut.min(end));
        }
        Span { end, ..span }
    }
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a year of bills has fewer lines")
}

/// The money of each part of the month; the last takes the rest, so that they add up to the lines.
fn share_out(sums: &[(Range<usize>, Exact)], total: Money) -> Result<Vec<(Range<usize>, Money)>, Stop> {
    let mut rest = total;
    let mut amounts = Vec::with_capacity(sums.len());
    for (i, (segments, sum)) in sums.iter().enumerate() {
        let money = if i + 1 == sums.len() { rest } else { Settling::new(None).settle(sum)? };
        rest = rest.minus(money).ok_or(Stop::TooLarge)?;
        amounts.push((segments.clone(), money));
    }
    Ok(amounts)
}
