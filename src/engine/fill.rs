//! Energy laid on ladders: all at once or reading by reading, for the billing month, each day or the year.

use std::ops::Range;

use super::document::Document;
use super::ladder::{self, Ladder, Slice};
use super::measure::{Biller, Span, Stop, kwh};
use crate::tariff::model::{Charge, EnergySpec, Measure, Resets, period_index};
use crate::tariff::number::Exact;
use crate::tariff::{TierAllocation, TierScope};

/// How the quantities of a charge run through the ladders of its periods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) scope: TierScope,
    pub(super) allocation: TierAllocation,
    pub(super) resets: Resets,
}

/// One quantity a period through one ladder a period: adds the slices of each, with the index of the period's part.
///
/// Under `all_periods` the total runs through each ladder and the period takes its share of every slice.
///
/// * `ladder`: that of each part.
pub(super) fn prorated<'l>(
    ladder: impl Fn(usize) -> Ladder<'l>,
    quantities: &[Exact],
    scope: TierScope,
    slices: &mut Vec<(usize, Slice)>,
) -> Result<(), Stop> {
    let is_alone = quantities.len() == 1 || scope == TierScope::PerPeriod;
    let total = if is_alone { Exact::ZERO } else { sum(quantities) };
    for (part, quantity) in quantities.iter().enumerate() {
        let ladder = ladder(part);
        if is_alone || ladder.is_open() {
            ladder.slices(quantity, |slice| slices.push((part, slice)))?;
        } else if quantity.is_zero() {
            // The total is on a step, whatever is used in this period.
            ladder.step_of(&total)?;
            slices.push((part, Slice::once(0, Exact::ZERO)));
        } else {
            ladder.slices(&total, |slice| slices.push((part, ladder::share(&slice, quantity, &total))))?;
        }
    }
    Ok(())
}

fn sum(quantities: &[Exact]) -> Exact {
    quantities.iter().fold(Exact::ZERO, |sum, quantity| sum.plus(quantity))
}

impl<'a> Biller<'a> {
    /// Adds the slices of each part of a charge on plain energy, on ladders that start again each day or year, or that are
    /// filled reading by reading.
    pub(super) fn fill(
        &mut self,
        charge: &'a Charge,
        ladders: &[Ladder<'_>],
        rules: Rules,
        span: Span,
        slices: &mut Vec<(usize, Slice)>,
    ) -> Result<(), Stop> {
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
            return self.in_order_of_time(document, &specs, ladders, rules.resets, days, slices);
        }
        let ladder = |part: usize| ladders[part];
        match rules.resets {
            Resets::BillingMonth => {
                let energy = |spec: &&EnergySpec| {
                    let table = document.table(&spec.channel, spec.period);
                    kwh(table.energy(span.segments(), period_index(spec.period)))
                };
                let quantities: Vec<Exact> = specs.iter().map(energy).collect();
                prorated(ladder, &quantities, rules.scope, slices)?;
            }
            Resets::Day => {
                let mut sums: Vec<Vec<Slice>> = vec![Vec::new(); ladders.len()];
                let mut of_day = Vec::new();
                for day in days {
                    prorated(ladder, &self.on_days(document, &specs, day..day + 1), rules.scope, &mut of_day)?;
                    for (part, slice) in of_day.drain(..) {
                        ladder::add(&mut sums[part], slice);
                    }
                }
                put(sums, slices);
            }
            Resets::Year => {
                let first = self.first_day_of_year(days.start);
                let start = self.on_days(document, &specs, first..days.start);
                let end = self.on_days(document, &specs, first..days.end);
                let mut sums: Vec<Vec<Slice>> = vec![Vec::new(); ladders.len()];
                if rules.scope == TierScope::PerPeriod || ladders.len() == 1 {
                    for (part, ladder) in ladders.iter().enumerate() {
                        ladder.slices(&end[part], |slice| ladder::add(&mut sums[part], slice))?;
                        ladder.slices(&start[part], |slice| ladder::subtract(&mut sums[part], &slice))?;
                    }
                } else {
                    // What the year adds to every step in these days, shared out by the periods' energy in them.
                    let own = self.on_days(document, &specs, days);
                    let (start, end, own_total) = (sum(&start), sum(&end), sum(&own));
                    for (part, ladder) in ladders.iter().enumerate() {
                        ladder.slices(&end, |slice| ladder::add(&mut sums[part], slice))?;
                        ladder.slices(&start, |slice| ladder::subtract(&mut sums[part], &slice))?;
                        for slice in &mut sums[part] {
                            *slice = ladder::share(slice, &own[part], &own_total);
                        }
                    }
                }
                put(sums, slices);
            }
        }
        Ok(())
    }

    fn on_days(&self, document: &Document<'_>, specs: &[&EnergySpec], days: Range<usize>) -> Vec<Exact> {
        specs
            .iter()
            .map(|spec| {
                let table = document.table(&spec.channel, spec.period);
                let period = period_index(spec.period);
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
        ladders: &[Ladder<'_>],
        resets: Resets,
        days: Range<usize>,
        slices: &mut Vec<(usize, Slice)>,
    ) -> Result<(), Stop> {
        let Some(first) = specs.first() else { return Ok(()) };
        let part_of: Vec<usize> = specs.iter().map(|spec| period_index(spec.period)).collect();
        let from = if resets == Resets::Year { self.first_day_of_year(days.start) } else { days.start };
        let mut sums: Vec<Vec<i64>> = ladders.iter().map(|ladder| vec![0; ladder.steps.len()]).collect();
        let bounds = whole_bounds(ladders)?;
        let mut count = 0i64;
        let mut counted_day = usize::MAX;
        let mut above = None;
        let table = document.table(&first.channel, first.period);
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
        for (part, sums) in sums.into_iter().enumerate() {
            // The first step is always reached, the others when something lies on them.
            let reached = sums.into_iter().enumerate().filter(|(step, sum)| *step == 0 || *sum != 0);
            slices.extend(reached.map(|(step, sum)| (part, Slice::once(step, kwh(sum)))));
        }
        Ok(())
    }
}

/// Puts the slices of each part in a row.
fn put(sums: Vec<Vec<Slice>>, slices: &mut Vec<(usize, Slice)>) {
    for (part, sum) in sums.into_iter().enumerate() {
        slices.extend(sum.into_iter().map(|slice| (part, slice)));
    }
}

/// Bounds in milliwatt-hours. One between two milliwatt-hours is refused: no reading can be split there exactly.
fn whole_bounds(ladders: &[Ladder<'_>]) -> Result<Vec<Vec<Option<i64>>>, Stop> {
    let million = Exact::whole(1_000_000);
    let whole = |bound: &Exact| {
        let digits = bound.times(&million).settled(0, crate::tariff::number::RoundingMode::HalfEven);
        digits.and_then(|digits| i64::try_from(digits).ok()).ok_or(Stop::TooLarge)
    };
    ladders
        .iter()
        .map(|ladder| {
            let bounds = ladder.bounds.iter().map(|bound| whole(bound).map(Some));
            let open = (ladder.bounds.len()..ladder.steps.len()).map(|_| Ok(None));
            bounds.chain(open).collect()
        })
        .collect()
}
