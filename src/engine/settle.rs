//! Exact amounts settled to money: each line by its rounding, or a charge as a whole.

use super::lines::Line;
use super::measure::Stop;
use crate::tariff::model::Rounding;
use crate::tariff::number::{Exact, Money};

/// Lines whose amounts are not settled yet.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    pub(super) lines: Vec<Line>,
    /// The amount of each.
    pub(super) exact: Vec<Exact>,
}

impl Unsettled {
    /// Number of lines.
    pub(super) fn len(&self) -> usize {
        self.exact.len()
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.exact.clear();
    }

    /// The amount of the lines from one on.
    pub(super) fn sum(&self, first: usize) -> Exact {
        self.exact[first..].iter().fold(Exact::ZERO, |sum, exact| sum.plus(exact))
    }

    /// Adds an amount to the last line, which has no single rate then.
    pub(super) fn add_amount(&mut self, amount: &Exact) -> Result<(), Stop> {
        let (line, exact) = self.lines.last_mut().zip(self.exact.last_mut()).expect("a line has been added");
        *exact = exact.plus(amount);
        line.rate = None;
        if exact.is_too_large() { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Adds the lines from `first_new` on to known ones of the same period, step and price.
    pub(super) fn join(&mut self, first_new: usize) {
        let new: Vec<(Line, Exact)> = self.lines.drain(first_new..).zip(self.exact.drain(first_new..)).collect();
        for (new, exact) in new {
            let is_same = |known: &Line| (known.period, known.step) == (new.period, new.step) && known.rate == new.rate;
            match self.lines.iter().position(is_same) {
                Some(known) => {
                    self.lines[known].quantity = self.lines[known].quantity.plus(&new.quantity);
                    self.exact[known] = self.exact[known].plus(&exact);
                }
                None => {
                    self.lines.push(new);
                    self.exact.push(exact);
                }
            }
        }
    }

    /// Leaves lines of nothing out.
    pub(super) fn drop_zeros(&mut self) {
        let mut amounts = self.exact.iter();
        self.lines.retain(|_| amounts.next().is_some_and(|exact| !exact.is_zero()));
        self.exact.retain(|exact| !exact.is_zero());
    }

    /// Settles the lines of a charge and gives their sum. Where the charge is rounded as a whole, the last line takes the
    /// difference.
    pub(super) fn settle(&mut self, rounding: Option<Rounding>) -> Result<Money, Stop> {
        let each_charge = rounding.is_some_and(|rule| rule.each_charge);
        let of_line = rounding.filter(|_| !each_charge);
        let mut sum = Money::ZERO;
        for (line, exact) in self.lines.iter_mut().zip(&self.exact) {
            line.money = settle(exact, of_line)?;
            sum = sum.plus(line.money).ok_or(Stop::TooLarge)?;
        }
        if each_charge && let Some(last) = self.lines.last_mut() {
            let exact = self.exact.iter().fold(Exact::ZERO, |sum, exact| sum.plus(exact));
            let total = settle(&exact, rounding)?;
            let difference = total.minus(sum).ok_or(Stop::TooLarge)?;
            last.money = last.money.plus(difference).ok_or(Stop::TooLarge)?;
            return Ok(total);
        }
        Ok(sum)
    }
}

/// Settles an amount: by its rounding, looking at the exact fraction, or at 18 decimals.
#[inline]
pub(super) fn settle(exact: &Exact, rounding: Option<Rounding>) -> Result<Money, Stop> {
    let settled = match rounding {
        Some(rule) => exact.rounded(rule.to, rule.mode).and_then(|rounded| Money::settle(&rounded)),
        None => Money::settle(exact),
    };
    settled.ok_or(Stop::TooLarge)
}
