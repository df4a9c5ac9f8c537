//! What energy costs at the prices of a series: summed up once for each channel and series, in cells as the energy is, so
//! that any schedule reads it as differences. Factor and adder come after. Source: PLAN-MODEL section 5, need F.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Question;
use super::aggregate::{Stretch, place, stretches};
use super::clock::SECONDS_OF_DAY;
use super::cost::{Factors, Sum, add};
use super::coverage::instant_text;
use super::document::Document;
use super::during::{self, DayPeriods};
use super::frame::Frame;
use super::ground::{Grain, Ground};
use super::join::{At, Found, Why, join};
use super::measure::{Biller, Span, Stop};
use super::series::PriceSeries;
use crate::tariff::model::{CostRead, CostSpec, MeasureId, Plan};
use crate::tariff::number::Exact;
use crate::usage::{Channel, Series};

/// The price series of a question, joined with the channels that plans price by them.
#[derive(Debug)]
pub(super) struct Spot<'a> {
    prices: &'a BTreeMap<String, Arc<PriceSeries>>,
    split_evenly: bool,
    wanted: BTreeMap<Key, Wanted>,
}

/// What plans want of a channel and series.
#[derive(Debug, Default)]
struct Wanted {
    /// Whether some plan looks at the hours of the readings.
    by_hours: bool,
    cells: Option<CostCells>,
}

/// A channel, a series and the slots at which plans read them.
type Key = (Channel, String, Grain);

/// Energy times price of one channel and series by day group and slot.
#[derive(Debug)]
struct CostCells {
    slot_seconds: i64,
    n_slots: usize,
    running: Running,
    blocked: Vec<Blocked>,
    /// Whether a change of price cuts a reading, which was split evenly.
    was_split: bool,
}

/// Running sums of each group, `n_slots + 1` of them, in milliwatt-hours times the last decimal of a price.
#[derive(Debug)]
enum Running {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

/// Readings in a row that have no cost for the same reason.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    at: At,
    n_readings: usize,
    why: Why,
}

impl<'a> Spot<'a> {
    /// The series of a question, nothing joined yet.
    pub(super) fn new(question: &'a Question) -> Self {
        let split_evenly = question.options.split_intervals_even;
        Self { prices: &question.price_series, split_evenly, wanted: BTreeMap::new() }
    }

    /// Notes that a plan reads a channel by a series, which is there.
    pub(super) fn want(&mut self, cost: &CostRead, grain: Grain) {
        let key = (cost.read.channel.clone(), cost.series.clone(), grain);
        self.wanted.entry(key).or_default().by_hours |= cost.read.schedule.is_some();
    }

    /// Joins what is wanted: one pass over the readings for each channel and series.
    ///
    /// * `readings`: of a channel as they are read at a grain, and the series they are of.
    pub(super) fn aggregate<'s>(
        &mut self,
        frame: &Frame,
        readings: impl Fn(&Channel, Grain) -> Option<(Cow<'s, [Stretch<'s>]>, &'s Series)> + Sync,
    ) {
        use rayon::prelude::*;
        self.wanted.par_iter_mut().for_each(|((channel, name, grain), wanted)| {
            if let (Some((stretches, series)), Some(prices)) = (readings(channel, *grain), self.prices.get(name)) {
                let slot = if wanted.by_hours { grain.0 } else { SECONDS_OF_DAY };
                let cells = CostCells::new(frame, &stretches, series, prices, (*grain, slot), self.split_evenly);
                wanted.cells = Some(cells);
            }
        });
    }

    fn cells(&self, cost: &CostRead, grain: Grain) -> Option<&CostCells> {
        self.wanted.get(&(cost.read.channel.clone(), cost.series.clone(), grain))?.cells.as_ref()
    }
}

/// Whether readings were split evenly for what a plan pays by series.
pub(super) fn was_split(ground: &Ground<'_>, plan: &Plan) -> bool {
    plan.costs.iter().any(|cost| {
        let cells = ground.grain(plan, &cost.read).and_then(|grain| ground.spot.cells(cost, grain));
        cells.is_some_and(|cells| cells.was_split)
    })
}

impl CostCells {
    /// * `slot_seconds`: width of the cells; of the slots at which readings are spread it is `grain`'s.
    fn new(
        frame: &Frame,
        stretches: &[Stretch<'_>],
        series: &Series,
        prices: &PriceSeries,
        (grain, slot_seconds): (Grain, i64),
        split_evenly: bool,
    ) -> Self {
        let mut cells = Self {
            slot_seconds,
            n_slots: usize::try_from(SECONDS_OF_DAY / slot_seconds).unwrap_or(1),
            running: Running::Narrow(Vec::new()),
            blocked: Vec::new(),
            was_split: false,
        };
        let n_readings: usize = stretches.iter().map(|stretch| stretch.readings.len()).sum();
        let n_sum_bits = usize::BITS - n_readings.leading_zeros();
        let is_short = series.n_bits() <= 32 && !series.has_negative() && prices.n_bits() <= 31;
        let factors = if is_short { Factors::Short } else { Factors::Any };
        cells.running = if series.n_bits() + n_sum_bits + prices.n_bits() < 63 {
            Running::Narrow(cells.sum_up(frame, stretches, prices, (grain, factors), split_evenly))
        } else {
            Running::Wide(cells.sum_up(frame, stretches, prices, (grain, Factors::Any), split_evenly))
        };
        cells
    }

    fn sum_up<S: Sum>(
        &mut self,
        frame: &Frame,
        stretches: &[Stretch<'_>],
        prices: &PriceSeries,
        (grain, factors): (Grain, Factors),
        split_evenly: bool,
    ) -> Vec<S> {
        let width = self.n_slots + 1;
        let mut running = vec![S::default(); frame.group_days.len() * width];
        join(stretches, prices, grain, split_evenly, |at, found| {
            let group = frame.group_of_day[at.day];
            let (slot, stride) = place(at.local, at.seconds, self.slot_seconds, self.n_slots);
            let cells = &mut running[group * width + 1 + slot..(group + 1) * width];
            match found {
                Found::Lane(lane) => add(cells, lane, stride, factors),
                Found::One { cost, is_split } => {
                    cells[0] = cells[0].plus(S::of(cost));
                    self.was_split |= is_split;
                }
                Found::Blocked(why) => self.block(at, why),
            }
        });
        for group in running.chunks_exact_mut(width) {
            let mut sum = S::default();
            for cell in group {
                sum = sum.plus(*cell);
                *cell = sum;
            }
        }
        running
    }

    fn block(&mut self, at: At, why: Why) {
        let is_same = |why: Why, other: Why| matches!((why, other), (Why::Missing(_), Why::Missing(_)));
        match self.blocked.last_mut() {
            Some(last) if last.at.after(last.n_readings) == at && is_same(last.why, why) => last.n_readings += 1,
            _ => self.blocked.push(Blocked { at, n_readings: 1, why }),
        }
    }

    /// Cost of a group in minutes `[start, end)`.
    fn cost(&self, group: usize, start: u16, end: u16) -> i128 {
        let slot = |minute: u16| {
            usize::try_from((i64::from(minute) * 60 + self.slot_seconds - 1) / self.slot_seconds).unwrap_or(0)
        };
        let row = group * (self.n_slots + 1);
        let (from, to) = (row + slot(start), row + slot(end));
        match &self.running {
            Running::Narrow(running) => i128::from(running[to] - running[from]),
            Running::Wide(running) => running[to] - running[from],
        }
    }
}

/// Cost of one channel at one series by segment and by period of one schedule.
#[derive(Debug)]
pub(super) struct CostTable {
    read: CostRead,
    /// Decimals of a cost.
    scale: u32,
    /// Periods of the schedule, and one more for what no rule covers; 1 without a schedule.
    width: usize,
    cost: Vec<i128>,
    /// By segment and period the first reading that has no cost.
    blocked: BTreeMap<usize, Blocked>,
}

impl CostTable {
    /// Reads the cells of a channel and series through a schedule of a plan.
    pub(super) fn new(ground: &Ground<'_>, plan: &Plan, read: &CostRead) -> Self {
        let frame = &ground.frame;
        let schedule = read.read.schedule.map(|schedule| &plan.schedules[schedule]);
        let width = schedule.map_or(1, |schedule| schedule.periods.len() + 1);
        let mut table = Self {
            read: read.clone(),
            scale: 6 + ground.spot.prices.get(&read.series).map_or(0, |prices| prices.scale()),
            width,
            cost: vec![0; frame.segments.len() * width],
            blocked: BTreeMap::new(),
        };
        let cells = ground.grain(plan, &read.read).and_then(|grain| ground.spot.cells(read, grain));
        let Some(cells) = cells else { return table };
        let (one_by_one, days) = schedule.map_or_else(Default::default, |s| during::read_one_by_one(frame, s));
        for (segment, groups) in frame.segment_groups.iter().enumerate() {
            for group in groups.clone() {
                if one_by_one.get(group).is_some_and(|one_by_one| *one_by_one) {
                    continue;
                }
                let row = segment * width;
                let Some(schedule) = schedule else {
                    table.cost[row] += cells.cost(group, 0, 1440);
                    continue;
                };
                for stretch in schedule.pattern(frame.group_days[group], ground.calendars) {
                    table.cost[row + usize::from(stretch.period)] += cells.cost(group, stretch.start, stretch.end);
                }
            }
        }
        for day in days {
            table.add_day(ground, plan, day);
        }
        for blocked in &cells.blocked {
            table.block(ground, plan, *blocked);
        }
        table
    }

    /// The place of a reading in the table.
    fn cell(&self, ground: &Ground<'_>, periods: Option<&DayPeriods<'_>>, at: At) -> usize {
        let minute = u16::try_from(at.local / 60).unwrap_or(u16::MAX).min(1439);
        let period = periods.map_or(0, |periods| periods.period(minute, at.start).map_or(self.width - 1, usize::from));
        ground.frame.segment_of(at.day) * self.width + period
    }

    /// The periods of a day, where the table has a schedule.
    fn periods<'p>(&self, ground: &Ground<'_>, plan: &'p Plan, day: usize) -> Option<DayPeriods<'p>> {
        let schedule = &plan.schedules[self.read.read.schedule?];
        Some(DayPeriods::new(&ground.frame, ground.calendars, schedule, day))
    }

    /// Adds a day reading by reading.
    fn add_day(&mut self, ground: &Ground<'_>, plan: &Plan, day: usize) {
        let periods = self.periods(ground, plan, day);
        let Some(grain) = ground.grain(plan, &self.read.read) else { return };
        let series = ground.series(&self.read.read.channel, grain).zip(ground.spot.prices.get(&self.read.series));
        let Some((series, prices)) = series else { return };
        let stretches = stretches(series, ground.frame.days.pieces(day..day + 1));
        join(&stretches, prices, grain, ground.spot.split_evenly, |at, found| match found {
            Found::Lane(lane) => {
                for (n, (reading, price)) in lane.pairs().enumerate() {
                    let cell = self.cell(ground, periods.as_ref(), at.after(n));
                    self.cost[cell] += i128::product(reading, price);
                }
            }
            Found::One { cost, .. } => {
                let cell = self.cell(ground, periods.as_ref(), at);
                self.cost[cell] += cost;
            }
            // Noted with the cells.
            Found::Blocked(_) => {}
        });
    }

    fn block(&mut self, ground: &Ground<'_>, plan: &Plan, blocked: Blocked) {
        let periods = self.periods(ground, plan, blocked.at.day);
        for n in 0..blocked.n_readings {
            let at = blocked.at.after(n);
            let why = if n == 0 { blocked.why } else { Why::Missing(at.start) };
            let cell = self.cell(ground, periods.as_ref(), at);
            self.blocked.entry(cell).or_insert(Blocked { at, n_readings: 1, why });
        }
    }

    /// Cost of segments in a period, in money before factor and adder.
    ///
    /// # Errors
    /// A reading there without a price, or one that a price cuts.
    fn cost(&self, segments: Range<usize>, period: usize) -> Result<Exact, Stop> {
        let mut sum = 0;
        for cell in segments.map(|segment| segment * self.width + period) {
            if let Some(blocked) = self.blocked.get(&cell) {
                return Err(self.fault(blocked));
            }
            sum += self.cost[cell];
        }
        Ok(Exact::scaled(sum, self.scale))
    }

    fn fault(&self, blocked: &Blocked) -> Stop {
        let (series, minutes, start) = (&self.read.series, blocked.at.seconds / 60, instant_text(blocked.at.start));
        match blocked.why {
            Why::Missing(from) => {
                let message = format!(
                    "the price series {series:?} has no price from {} on, and there is a reading of {minutes} minutes \
                     from {start}: import its prices",
                    instant_text(from)
                );
                Stop::fault("price_missing", message)
            }
            Why::Cut(boundary) => {
                let message = format!(
                    "the reading of {minutes} minutes from {start} is cut in two at {}, where a price of {series:?} ends",
                    instant_text(boundary)
                );
                Stop::fault("interval_too_coarse", message)
            }
        }
    }
}

impl Document<'_> {
    /// Energy times price of a span, in money before factor and adder.
    ///
    /// # Errors
    /// As [`CostTable::cost`].
    pub(super) fn cost(&self, spec: &CostSpec, span: Span) -> Result<Exact, Stop> {
        let read = spec.read();
        let table = self.costs.iter().find(|table| table.read == read);
        let table = table.expect("a plan's costs are collected with its measures");
        table.cost(span.segments(), spec.energy.period.map_or(0, |period| period.period))
    }
}

impl Biller<'_> {
    /// What a quantity costs by a series: `factor x cost + adder x quantity`, times what the charge is counted per.
    ///
    /// * `quantity`: with `per` in it already.
    pub(super) fn by_series(
        &mut self,
        (cost, factor, adder): (MeasureId, Option<MeasureId>, Option<MeasureId>),
        quantity: &Exact,
        per: &Exact,
        span: Span,
    ) -> Result<Exact, Stop> {
        let mut money = self.measure(cost, span)?.times(per);
        if let Some(factor) = factor {
            money = money.times(&self.measure(factor, span)?);
        }
        if let Some(adder) = adder {
            money = money.plus(&self.measure(adder, span)?.times(quantity));
        }
        Ok(money)
    }
}

#[cfg(test)]
mod tests;
