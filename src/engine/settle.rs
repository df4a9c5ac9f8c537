//! Exact amounts settled to money: each line by its rounding, or a charge as a whole.

use super::lines::{Line, LineRate};
use super::measure::Stop;
use crate::tariff::model::Rounding;
use crate::tariff::number::{Exact, MONEY_DECIMALS, Money, RoundingMode};

/// How amounts become money: by a rounding, looking at the exact fraction, or at 18 decimals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settling {
    rounding: Option<Rounding>,
    /// Where the unit is a power of ten, or there is no rounding: its decimals and the mode.
    plain: Option<(u32, RoundingMode)>,
}

impl Settling {
    /// By a rounding of each line or of the whole charge, or by none.
    pub(super) fn new(rounding: Option<Rounding>) -> Self {
        let plain = match rounding {
            None => Some((MONEY_DECIMALS, RoundingMode::HalfEven)),
            Some(rule) => rule.to.decimals_of_unit().map(|decimals| (decimals, rule.mode)),
        };
        Self { rounding, plain }
    }

    /// Whether the charge is settled as a whole, not each line.
    pub(super) fn is_of_charge(&self) -> bool {
        self.rounding.is_some_and(|rule| rule.each_charge)
    }

    /// Whether amounts are rounded to fewer than 18 decimals.
    pub(super) fn rounds(&self) -> bool {
        self.rounding.is_some()
    }

    /// Settles an amount.
    #[inline]
    pub(super) fn settle(&self, exact: &Exact) -> Result<Money, Stop> {
        let settled = match (self.plain, self.rounding) {
            (Some((decimals, mode)), _) => Money::rounded(exact, decimals, mode),
            (None, Some(rule)) => exact.rounded(rule.to, rule.mode).and_then(|rounded| Money::settle(&rounded)),
            (None, None) => Money::settle(exact),
        };
        settled.ok_or(Stop::TooLarge)
    }
}

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
        line.rate = LineRate::None;
        if exact.is_too_large() { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Adds the lines from `first_new` on to known ones of the same period, step and price.
    ///
    /// * `rates`: those that were measured.
    pub(super) fn join(&mut self, first_new: usize, rates: &[Exact]) {
        let is_same_rate = |a: LineRate, b: LineRate| match (a, b) {
            (LineRate::Measured(a), LineRate::Measured(b)) => rates[a as usize] == rates[b as usize],
            // At one step of one charge the known rate is one.
            _ => a == b,
        };
        let new: Vec<(Line, Exact)> = self.lines.drain(first_new..).zip(self.exact.drain(first_new..)).collect();
        for (new, exact) in new {
            let is_same = |known: &Line| {
                (known.period, known.step) == (new.period, new.step) && is_same_rate(known.rate, new.rate)
            };
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
    pub(super) fn settle(&mut self, settling: &Settling) -> Result<Money, Stop> {
        let of_line = if settling.is_of_charge() { &Settling::new(None) } else { settling };
        let mut sum = Money::ZERO;
        for (line, exact) in self.lines.iter_mut().zip(&self.exact) {
            line.money = of_line.settle(exact)?;
            sum = sum.plus(line.money).ok_or(Stop::TooLarge)?;
        }
        if settling.is_of_charge()
            && let Some(last) = self.lines.last_mut()
        {
            let exact = self.exact.iter().fold(Exact::ZERO, |sum, exact| sum.plus(exact));
            let total = settling.settle(&exact)?;
            let difference = total.minus(sum).ok_or(Stop::TooLarge)?;
            last.money = last.money.plus(difference).ok_or(Stop::TooLarge)?;
            return Ok(total);
        }
        Ok(sum)
    }
}
