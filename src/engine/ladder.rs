//! Ladders: what part of a quantity is priced at which step. Source of the rules: PLAN-MODEL section 2, "Steps".

use super::measure::Stop;
use crate::tariff::number::Exact;

/// The bounds of one ladder on one span of days.
#[derive(Debug, Clone)]
pub(super) struct Ladder {
    /// Upper bound of each step; the last may be open.
    pub(super) bounds: Vec<Option<Exact>>,
    /// Whether a quantity that ends in a step is priced there as a whole.
    pub(super) whole: Vec<bool>,
}

/// The part of a quantity that is priced at one step.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) step: usize,
    pub(super) quantity: Exact,
    /// How often the step was reached: once a ladder, with daily ladders once a day.
    pub(super) n_reached: i64,
}

impl Ladder {
    /// Whether there is one open step.
    pub(super) fn is_flat(&self) -> bool {
        self.bounds.len() == 1 && self.bounds[0].is_none()
    }

    /// Refuses bounds that do not rise: with measures as bounds it shows only here.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let known: Vec<&Exact> = self.bounds.iter().flatten().collect();
        if known.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(Stop::fault("bounds_fall", "an upper bound lies below the one before it"));
        }
        Ok(())
    }

    /// The step in which a quantity ends. A bound belongs to the lower step.
    pub(super) fn step_of(&self, quantity: &Exact) -> Result<usize, Stop> {
        self.bounds.iter().position(|bound| bound.as_ref().is_none_or(|bound| quantity <= bound)).ok_or_else(|| {
            let last = self.bounds.iter().flatten().last().and_then(|bound| bound.text(0)).unwrap_or_default();
            let text = quantity.text(0).unwrap_or_default();
            Stop::fault("above_last_step", format!("{text} lies above the last step, which ends at {last}"))
        })
    }

    /// Cuts a quantity at the bounds. The first step is always reached, the others when the quantity passes the bound
    /// below them.
    pub(super) fn slices(&self, quantity: &Exact) -> Result<Vec<Slice>, Stop> {
        if self.is_flat() {
            return Ok(vec![Slice { step: 0, quantity: quantity.clone(), n_reached: 1 }]);
        }
        let last = self.step_of(quantity)?;
        if self.whole[last] {
            return Ok(vec![Slice { step: last, quantity: quantity.clone(), n_reached: 1 }]);
        }
        let mut slices = Vec::with_capacity(last + 1);
        let mut lower = Exact::ZERO;
        for (step, bound) in self.bounds.iter().enumerate().take(last + 1) {
            let upper = match bound {
                Some(bound) if step < last => bound.clone(),
                _ => quantity.clone(),
            };
            slices.push(Slice { step, quantity: upper.minus(&lower), n_reached: 1 });
            lower = upper;
        }
        Ok(slices)
    }
}

/// Adds slices step by step.
pub(super) fn add(sum: &mut Vec<Slice>, slices: Vec<Slice>) {
    for slice in slices {
        match sum.iter_mut().find(|known| known.step == slice.step) {
            Some(known) => {
                known.quantity = known.quantity.plus(&slice.quantity);
                known.n_reached += slice.n_reached;
            }
            None => sum.push(slice),
        }
    }
    sum.sort_by_key(|slice| slice.step);
}

/// The slices of `end` less those of `start`: a ladder that runs over more than one billing month.
pub(super) fn difference(end: Vec<Slice>, start: Vec<Slice>) -> Vec<Slice> {
    let mut slices = end;
    let negated = start
        .into_iter()
        .map(|slice| Slice { quantity: slice.quantity.negated(), n_reached: -slice.n_reached, ..slice })
        .collect();
    add(&mut slices, negated);
    slices
}

/// The share `part/total` of every slice; without a total nothing but the first step is left.
pub(super) fn share(slices: &[Slice], part: &Exact, total: &Exact) -> Vec<Slice> {
    slices
        .iter()
        .map(|slice| {
            let quantity = slice.quantity.times(part).divided_by(total).unwrap_or(Exact::ZERO);
            Slice { step: slice.step, quantity, n_reached: slice.n_reached }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(bounds: &[Option<i64>], whole: &[bool]) -> Ladder {
        Ladder { bounds: bounds.iter().map(|b| b.map(Exact::whole)).collect(), whole: whole.to_vec() }
    }

    fn quantities(slices: &[Slice]) -> Vec<(usize, String)> {
        slices.iter().map(|slice| (slice.step, slice.quantity.text(0).unwrap())).collect()
    }

    fn check(bounds: &[Option<i64>], quantity: i64, expected: &[(usize, &str)]) {
        let got = ladder(bounds, &vec![false; bounds.len()]).slices(&Exact::whole(quantity)).unwrap();
        let expected: Vec<(usize, String)> = expected.iter().map(|(s, q)| (*s, (*q).to_owned())).collect();
        assert_eq!(quantities(&got), expected, "{quantity} over {bounds:?}");
    }

    #[test]
    fn a_bound_belongs_to_the_lower_step() {
        let bounds = [Some(100), Some(300), None];
        check(&bounds, 0, &[(0, "0")]);
        check(&bounds, 100, &[(0, "100")]);
        check(&bounds, 101, &[(0, "100"), (1, "1")]);
        check(&bounds, 300, &[(0, "100"), (1, "200")]);
        check(&bounds, 301, &[(0, "100"), (1, "200"), (2, "1")]);
        check(&bounds, -5, &[(0, "-5")]);
    }

    #[test]
    fn a_whole_step_prices_everything_that_ends_in_it() {
        let ladder = ladder(&[Some(100), Some(300), None], &[false, false, true]);
        assert_eq!(quantities(&ladder.slices(&Exact::whole(301)).unwrap()), [(2, "301".to_owned())]);
        assert_eq!(quantities(&ladder.slices(&Exact::whole(300)).unwrap()).len(), 2);
    }

    #[test]
    fn above_the_last_bound_is_refused() {
        let stop = ladder(&[Some(100)], &[false]).slices(&Exact::whole(101)).unwrap_err();
        assert!(matches!(stop, Stop::Fault { code: "above_last_step", .. }));
    }
}
