//! Energy laid on ladders: all at once or reading by reading, for the billing month, each day or the year.

use std::ops::Range;

use super::ladder::{self, Ladder, Slice};
use super::measure::{Biller, Document, Span, Stop};
use crate::tariff::model::{Charge, EnergySpec, Measure, Resets};
use crate::tariff::number::Exact;
use crate::tariff::{TierAllocation, TierScope};

/// How the quantities of a charge run through the ladders of its periods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) scope: TierScope,
    pub(super) allocation: TierAllocation,
    pub(super) resets: Resets,
}

/// One quantity a period through one ladder a period: the slices of each.
///
/// Under `all_periods` the total runs through each ladder and the period takes its share of every slice.
pub(super) fn prorated(ladders: &[Ladder], quantities: &[Exact], scope: TierScope) -> Result<Vec<Vec<Slice>>, Stop> {
    if quantities.len() == 1 || scope == TierScope::PerPeriod {
        return ladders.iter().zip(quantities).map(|(ladder, quantity)| ladder.slices(quantity)).collect();
    }
    let total = quantities.iter().fold(Exact::ZERO, |sum, quantity| sum.plus(quantity));
    ladders
        .iter()
        .zip(quantities)
        .map(|(ladder, quantity)| {
            if ladder.is_flat() {
                return ladder.slices(quantity);
            }
            let slices = ladder.slices(&total)?;
            if quantity.is_zero() {
                return Ok(vec![Slice { step: 0, quantity: Exact::ZERO, n_reached: 1 }]);
            }
            Ok(ladder::share(&slices, quantity, &total))
        })
        .collect()
}

impl<'a> Biller<'a> {
    /// The slices of each part of a charge on plain energy, on ladders that start again each day or year, or that are
    /// filled reading by reading.
    pub(super) fn fill(
        &mut self,
        charge: &'a Charge,
        ladders: &[Ladder],
        rules: Rules,
        span: Span,
    ) -> Result<Vec<Vec<Slice>>, Stop> {
        let document: &'a Document<'a> = &self.documents[span.document];
        let specs: Vec<&EnergySpec> = charge
            .parts
            .iter()
            .filter_map(|part| match &document.plan.measures[part.measure] {
                Measure::Energy(spec) => Some(spec),
                _ => None,
            })
            .collect();
        if specs.len() != charge.parts.len() {
            let message = "tiers in order of time are for plain energy only";
            return Err(Stop::fault("composed_under_hours", message));
        }
        let days = self.ground.frame.days_of(&span.segments());
        if rules.allocation == TierAllocation::Chronological && rules.scope == TierScope::AllPeriods {
            return self.in_order_of_time(document, &specs, ladders, rules.resets, days);
        }
        match rules.resets {
            Resets::BillingMonth => {
                let quantities: Vec<Exact> =
                    specs.iter().map(|spec| kwh(super::measure::energy(document, spec, span))).collect();
                prorated(ladders, &quantities, rules.scope)
            }
            Resets::Day => {
                let mut sums: Vec<Vec<Slice>> = vec![Vec::new(); ladders.len()];
                for day in days {
                    let slices = prorated(ladders, &self.on_days(document, &specs, day..day + 1), rules.scope)?;
                    for (sum, slices) in sums.iter_mut().zip(slices) {
                        ladder::add(sum, slices);
                    }
                }
                Ok(sums)
            }
            Resets::Year => {
                let first = self.first_day_of_year(days.start);
                let start = self.on_days(document, &specs, first..days.start);
                let end = self.on_days(document, &specs, first..days.end);
                if rules.scope == TierScope::PerPeriod || ladders.len() == 1 {
                    let end = prorated(ladders, &end, TierScope::PerPeriod)?;
                    let start = prorated(ladders, &start, TierScope::PerPeriod)?;
                    return Ok(end.into_iter().zip(start).map(|(end, start)| ladder::difference(end, start)).collect());
                }
                // What the year adds to every step in these days, shared out by the periods' energy in them.
                let own = self.on_days(document, &specs, days);
                let total =
                    |quantities: &[Exact]| quantities.iter().fold(Exact::ZERO, |sum, quantity| sum.plus(quantity));
                let (start, end, own_total) = (total(&start), total(&end), total(&own));
                ladders
                    .iter()
                    .zip(&own)
                    .map(|(ladder, quantity)| {
                        let slices = ladder::difference(ladder.slices(&end)?, ladder.slices(&start)?);
                        Ok(ladder::share(&slices, quantity, &own_total))
                    })
                    .collect()
            }
        }
    }

    fn on_days(&self, document: &Document<'_>, specs: &[&EnergySpec], days: Range<usize>) -> Vec<Exact> {
        specs
            .iter()
            .map(|spec| {
                let table = document.table(&spec.channel, spec.period, false);
                let period = spec.period.map_or(0, |period| period.period);
                let energy = days.clone().map(|day| table.energy_of_day(self.ground, document.plan, day, period)).sum();
                kwh(energy)
            })
            .collect()
    }

    fn first_day_of_year(&self, day: usize) -> usize {
        let days = &self.ground.frame.days;
        let year = chrono::Datelike::year(&days.date(day));
        chrono::NaiveDate::from_ymd_opt(year, 1, 1).map_or(0, |first| days.index(first))
    }

    /// Readings fill one common count in order; the ladder of a reading's period says which step it lies on, and a
    /// reading across a bound is split there.
    fn in_order_of_time(
        &self,
        document: &'a Document<'a>,
        specs: &[&EnergySpec],
        ladders: &[Ladder],
        resets: Resets,
        days: Range<usize>,
    ) -> Result<Vec<Vec<Slice>>, Stop> {
        let Some(first) = specs.first() else { return Ok(Vec::new()) };
        let part_of: Vec<usize> = specs.iter().map(|spec| spec.period.map_or(0, |period| period.period)).collect();
        let from = if resets == Resets::Year { self.first_day_of_year(days.start) } else { days.start };
        let mut sums: Vec<Vec<i64>> = ladders.iter().map(|ladder| vec![0; ladder.bounds.len()]).collect();
        let mut n_reached: Vec<Vec<i64>> = sums.clone();
        let bounds = whole_bounds(ladders)?;
        let mut count = 0i64;
        let mut counted_day = usize::MAX;
        let mut above = None;
        let table = document.table(&first.channel, first.period, false);
        table.for_each_reading(self.ground, document.plan, from..days.end, |reading| {
            if resets == Resets::Day && reading.day != counted_day {
                count = 0;
                counted_day = reading.day;
            }
            let part = part_of.iter().position(|period| *period == reading.period);
            let mut rest = reading.milliwatt_hours;
            if let Some(part) = part.filter(|_| reading.day >= days.start) {
                let mut at = count;
                for (step, bound) in bounds[part].iter().enumerate() {
                    let room = bound.map_or(i64::MAX, |bound| bound.saturating_sub(at).max(0));
                    let slice = rest.min(room);
                    sums[part][step] += slice;
                    at += slice;
                    rest -= slice;
                    if rest == 0 {
                        break;
                    }
                }
                if rest != 0 {
                    above = Some(at + rest);
                }
            }
            count += reading.milliwatt_hours;
        });
        if let Some(above) = above {
            let text = kwh(above).text(0).unwrap_or_default();
            return Err(Stop::fault("above_last_step", format!("{text} kWh lie above the last step")));
        }
        for reached in &mut n_reached {
            reached[0] = 1;
        }
        Ok(sums
            .into_iter()
            .zip(n_reached)
            .map(|(sums, reached)| {
                let slices = sums.into_iter().zip(reached).enumerate().map(|(step, (sum, reached))| Slice {
                    step,
                    quantity: kwh(sum),
                    n_reached: reached.max(i64::from(sum != 0)),
                });
                slices.filter(|slice| slice.n_reached > 0).collect()
            })
            .collect())
    }
}

/// Bounds in milliwatt-hours. One between two milliwatt-hours is refused: no reading can be split there exactly.
fn whole_bounds(ladders: &[Ladder]) -> Result<Vec<Vec<Option<i64>>>, Stop> {
    let million = Exact::whole(1_000_000);
    let whole = |bound: &Exact| {
        let digits = bound.times(&million).settled(0, crate::tariff::number::RoundingMode::HalfEven);
        digits.and_then(|digits| i64::try_from(digits).ok()).ok_or(Stop::TooLarge)
    };
    ladders
        .iter()
        .map(|ladder| ladder.bounds.iter().map(|bound| bound.as_ref().map(whole).transpose()).collect())
        .collect()
}

fn kwh(milliwatt_hours: i64) -> Exact {
    Exact::scaled(i128::from(milliwatt_hours), 6)
}
