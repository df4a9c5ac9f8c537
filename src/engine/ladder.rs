//! Ladders: what part of a quantity is priced at which step. Source of the rules: PLAN-MODEL section 2, "Steps".

use super::measure::Stop;
use crate::tariff::model::{Step, rise};
use crate::tariff::number::Exact;

/// One ladder on one span of days.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ladder<'l> {
    pub(super) steps: &'l [Step],
    /// Upper bound of each step; the last may have none.
    pub(super) bounds: &'l [Exact],
}

/// The part of a quantity that is priced at one step.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) step: usize,
    pub(super) quantity: Exact,
    /// How often the step was reached: once a ladder, with daily ladders once a day.
    pub(super) n_reached: i64,
}

impl Slice {
    /// A quantity at a step that is reached once.
    pub(super) fn once(step: usize, quantity: Exact) -> Self {
        Self { step, quantity, n_reached: 1 }
    }
}

impl Ladder<'_> {
    /// Whether there is one open step.
    pub(super) fn is_open(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Refuses bounds that do not rise: with measures as bounds it shows only here.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if !rise(self.bounds) {
            return Err(Stop::fault("bounds_fall", "an upper bound lies below the one before it"));
        }
        Ok(())
    }

    /// The step in which a quantity ends. A bound belongs to the lower step.
    pub(super) fn step_of(&self, quantity: &Exact) -> Result<usize, Stop> {
        let step = self.bounds.iter().position(|bound| quantity <= bound).unwrap_or(self.bounds.len());
        if step < self.steps.len() {
            return Ok(step);
        }
        let last = self.bounds.last().and_then(|bound| bound.text(0)).unwrap_or_default();
        let text = quantity.text(0).unwrap_or_default();
        Err(Stop::fault("above_last_step", format!("{text} lies above the last step, which ends at {last}")))
    }

    /// Cuts a quantity at the bounds and hands over the slices. The first step is always reached, the others when the
    /// quantity passes the bound below them.
    pub(super) fn slices(&self, quantity: &Exact, mut take: impl FnMut(Slice)) -> Result<(), Stop> {
        if self.is_open() {
            take(Slice::once(0, quantity.clone()));
            return Ok(());
        }
        let last = self.step_of(quantity)?;
        if self.steps[last].whole {
            take(Slice::once(last, quantity.clone()));
            return Ok(());
        }
        let mut lower = &Exact::ZERO;
        for (step, bound) in self.bounds.iter().enumerate().take(last) {
            take(Slice::once(step, bound.minus(lower)));
            lower = bound;
        }
        take(Slice::once(last, quantity.minus(lower)));
        Ok(())
    }
}

/// Adds a slice to those of other days, in the order of the steps.
pub(super) fn add(sum: &mut Vec<Slice>, slice: Slice) {
    match sum.binary_search_by_key(&slice.step, |known| known.step) {
        Ok(known) => {
            let known = &mut sum[known];
            known.quantity = known.quantity.plus(&slice.quantity);
            known.n_reached += slice.n_reached;
        }
        Err(place) => sum.insert(place, slice),
    }
}

/// Takes the slices of the days before away: a ladder that runs over more than one billing month.
pub(super) fn subtract(sum: &mut Vec<Slice>, slice: &Slice) {
    add(sum, Slice { quantity: slice.quantity.negated(), n_reached: -slice.n_reached, ..*slice });
}

/// The share `part/total` of a slice; without a total nothing is left.
#[inline]
pub(super) fn share(slice: &Slice, part: &Exact, total: &Exact) -> Slice {
    let quantity = slice.quantity.share(part, total).unwrap_or(Exact::ZERO);
    Slice { quantity, ..*slice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(whole: &[bool]) -> Vec<Step> {
        whole.iter().map(|whole| Step { to: None, price: None, amount: None, whole: *whole }).collect()
    }

    fn slices(bounds: &[i64], whole: &[bool], quantity: i64) -> Result<Vec<(usize, String)>, Stop> {
        let bounds: Vec<Exact> = bounds.iter().map(|bound| Exact::whole(*bound)).collect();
        let mut slices = Vec::new();
        let ladder = Ladder { steps: &steps(whole), bounds: &bounds };
        ladder.slices(&Exact::whole(quantity), |slice| slices.push((slice.step, slice.quantity.text(0).unwrap())))?;
        Ok(slices)
    }

    fn check(bounds: &[i64], quantity: i64, expected: &[(usize, &str)]) {
        let got = slices(bounds, &vec![false; bounds.len() + 1], quantity).unwrap();
        let expected: Vec<(usize, String)> = expected.iter().map(|(s, q)| (*s, (*q).to_owned())).collect();
        assert_eq!(got, expected, "{quantity} over {bounds:?}");
    }

    #[test]
    fn a_bound_belongs_to_the_lower_step() {
        let bounds = [100, 300];
        check(&bounds, 0, &[(0, "0")]);
        check(&bounds, 100, &[(0, "100")]);
        check(&bounds, 101, &[(0, "100"), (1, "1")]);
        check(&bounds, 300, &[(0, "100"), (1, "200")]);
        check(&bounds, 301, &[(0, "100"), (1, "200"), (2, "1")]);
        check(&bounds, -5, &[(0, "-5")]);
    }

    #[test]
    fn a_whole_step_prices_everything_that_ends_in_it() {
        let whole = [false, false, true];
        assert_eq!(slices(&[100, 300], &whole, 301).unwrap(), [(2, "301".to_owned())]);
        assert_eq!(slices(&[100, 300], &whole, 300).unwrap().len(), 2);
    }

    #[test]
    fn above_the_last_bound_is_refused() {
        let stop = slices(&[100], &[false], 101).unwrap_err();
        assert!(matches!(stop, Stop::Fault(fault) if fault.code == "above_last_step"));
        assert_eq!(slices(&[100], &[false], 100).unwrap().len(), 1);
    }
}
