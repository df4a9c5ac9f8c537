//! Charges with a condition: whether it holds, and what a charge that is not on the bill would have been.
//!
//! A condition is looked at for each part of a billing month, as dated values are: the date of a dated attribute cuts the
//! charge, unless the plan takes the values at the start or the end of the month (`dated_values`). An attribute that the
//! customer lacks, or has no value for yet, holds no condition. Source: DESIGN section 8.

use super::bill::Applied;
use super::measure::{Biller, Span, Stop};
use crate::tariff::model::{Condition, Test};
use crate::tariff::number::{Decimal, Money};
use crate::words::{AttributeValue, DatedValue, dated};

/// A charge that is not on the bill of a month, or of a part of it.
#[derive(Debug)]
pub(super) struct WouldBe {
    pub(super) document: usize,
    pub(super) charge: usize,
    /// `None` when it has none on these readings.
    pub(super) amount: Option<Money>,
}

impl Biller<'_> {
    /// Whether a condition holds on a part of a month.
    pub(super) fn holds(&self, condition: &Condition, span: Span) -> Result<bool, Stop> {
        let name = &condition.attribute;
        let (flag, text) = match self.question.attributes.get(name) {
            None => return Ok(false),
            Some(AttributeValue::Flag(flag)) => (Some(*flag), String::new()),
            Some(AttributeValue::Number(number)) => (None, number.to_string()),
            Some(AttributeValue::Word(word)) => (None, word.as_str().to_owned()),
            Some(AttributeValue::ByDate { by_date }) => {
                let date = self.value_date(span);
                let known = by_date.iter().filter_map(|(from, value)| Some((dated(from)?, value)));
                match known.filter(|(from, _)| *from <= date).max_by_key(|(from, _)| *from) {
                    None => return Ok(false),
                    Some((_, DatedValue::Flag(flag))) => (Some(*flag), String::new()),
                    Some((_, DatedValue::Text(text))) => (None, text.clone()),
                }
            }
        };
        let shown = flag.map_or_else(|| format!("{text:?}"), |flag| flag.to_string());
        let wrong = |code, wanted| {
            let message =
                format!("the customer's attribute {name:?} is {shown}; the condition of this charge asks for {wanted}");
            Err(Stop::fault(code, message))
        };
        match (&condition.test, flag) {
            (Test::Flag(wanted), Some(flag)) => Ok(flag == *wanted),
            (Test::Flag(_), None) => wrong("attribute_not_a_flag", "true or false"),
            (Test::Word(wanted), None) if text.starts_with(|c: char| c.is_ascii_alphabetic()) => Ok(text == *wanted),
            (Test::Word(_), _) => wrong("attribute_not_a_word", "a word"),
            (Test::Number { at_least, at_most }, _) => match Decimal::parse(&text, 18) {
                Ok(number) => Ok(!at_least.is_some_and(|least| least.is_above(number))
                    && !at_most.is_some_and(|most| number.is_above(most))),
                Err(_) => wrong("attribute_not_a_number", "a number"),
            },
        }
    }

    /// The charges that would be on the bill of a month if their conditions held, with what they would come to beside
    /// what is on it. Asked last: nothing that is billed sees of it.
    pub(super) fn not_applied(&mut self, month: usize) -> Vec<WouldBe> {
        let n_missing = self.missing_history.len();
        let mut found = Vec::new();
        for (document, _) in self.held(month) {
            let charges = &self.documents[document].plan.charges;
            for (index, charge) in charges.iter().enumerate() {
                if charge.condition.is_none() || !charge.on_bill {
                    continue;
                }
                let span = self.span_of(document, month, charge);
                let amount = match self.charge_anew(index, span, Applied::No) {
                    Ok(bill) if bill.n_lines == 0 => continue,
                    Ok(bill) => Some(bill.total),
                    Err(_) => None,
                };
                found.push(WouldBe { document, charge: index, amount });
            }
        }
        self.missing_history.truncate(n_missing);
        found
    }
}
