//! The calendars, price series and event lists of a question: those that its plans name, in their newest or in recorded
//! versions, cut to what its numbers can depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::ComparisonError;
use super::inputs::SharedFiles;
use crate::engine::{self, PlanToBill, PriceSeries};
use crate::shared::{self, Calendar, EventList};
use crate::store::{RecordedShared, SharedInput, SharedKind, Store};
use crate::tariff::Tariff;
use crate::words::{BillingPeriod, InputName, Instants, TenantId};

const SECONDS_OF_HOUR: i64 = 3600;

/// What a question depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedInputs {
    /// Dates by name of the calendar.
    pub calendars: BTreeMap<String, BTreeSet<NaiveDate>>,
    /// Prices by name of the series.
    pub price_series: BTreeMap<String, Arc<PriceSeries>>,
    /// Instants by name of the event list.
    pub event_lists: BTreeMap<String, Instants>,
    /// Their versions; those that do not exist are absent.
    pub recorded: Vec<RecordedShared>,
}

/// The ranges of a question, in the unit of each kind.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// Local days, as seconds to their midnight in UTC.
    pub days: Range<i64>,
    /// Seconds since the epoch.
    pub instants: Range<i64>,
    /// Those at which an event can begin or end and be told by the numbers, seconds since the epoch.
    pub events: Range<i64>,
}

impl Ranges {
    /// * `days`: of the input window by the customer's clock, end exclusive.
    /// * `window`: its instants.
    pub(super) fn new(days: &Range<NaiveDate>, window: &Range<i64>, plans: &[PlanToBill]) -> Self {
        // The dates of a plan's own clock can be a day off.
        let has_own_clock = tariffs(plans).any(|tariff| tariff.plan().time_zone.is_some());
        let margin = if has_own_clock { 86_400 } else { 0 };
        let events = events(days, window, tariffs(plans).filter_map(|tariff| tariff.plan().time_zone));
        let days = shared::days_of(days);
        Self { days: days.start - margin..days.end + margin, instants: window.clone(), events }
    }

    fn of(&self, kind: SharedKind) -> &Range<i64> {
        match kind {
            SharedKind::Calendar => &self.days,
            SharedKind::PriceSeries => &self.instants,
            SharedKind::EventList => &self.events,
        }
    }
}

/// The input window by every clock, to the end of its last readings: an event that begins within one cuts it.
fn events(days: &Range<NaiveDate>, window: &Range<i64>, clocks: impl Iterator<Item = Tz>) -> Range<i64> {
    let day = |date: NaiveDate| BillingPeriod::new(date, date.succ_opt()?).ok();
    let ends = days.start..days.end.pred_opt().unwrap_or(days.end);
    let by_clock = clocks.filter_map(|clock| {
        let (first, last) = (day(ends.start)?, day(ends.end)?);
        Some(engine::instants(clock, &first).start..engine::instants(clock, &last).end)
    });
    let all = by_clock.fold(window.clone(), |all, one| all.start.min(one.start)..all.end.max(one.end));
    // Of a longer reading the day's end decides.
    all.start..all.end + SECONDS_OF_HOUR
}

fn tariffs(plans: &[PlanToBill]) -> impl Iterator<Item = &Tariff> {
    plans.iter().flat_map(|plan| &plan.versions).map(|version| &*version.tariff)
}

/// What plans name of a kind. What no store can hold (a longer name) is absent, and the engine says so.
fn named(plans: &[PlanToBill], kind: SharedKind) -> BTreeSet<InputName> {
    let names = match kind {
        SharedKind::Calendar => Tariff::calendars,
        SharedKind::PriceSeries => Tariff::price_series,
        SharedKind::EventList => Tariff::event_lists,
    };
    tariffs(plans).flat_map(names).filter_map(|name| name.parse().ok()).collect()
}

impl SharedInputs {
    /// The newest versions of what the plans name.
    ///
    /// # Errors
    /// The store's, or [`ComparisonError::Internal`] for a version that cannot be read.
    pub(super) fn read(
        store: &dyn Store,
        tenant: &TenantId,
        plans: &[PlanToBill],
        ranges: &Ranges,
    ) -> Result<Self, ComparisonError> {
        let mut inputs = Self::default();
        for kind in SharedKind::ALL {
            let names = named(plans, kind);
            if names.is_empty() {
                continue;
            }
            for input in store.shared_inputs(tenant, kind, &names.iter().collect::<Vec<_>>())? {
                inputs.add(&input, ranges.of(kind))?;
            }
        }
        Ok(inputs)
    }

    /// The versions that a comparison recorded.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn recorded(
        store: &dyn Store,
        tenant: &TenantId,
        recorded: &[RecordedShared],
    ) -> Result<Self, ComparisonError> {
        let mut inputs = Self::default();
        for RecordedShared { kind, id, version, used } in recorded {
            let input = store.shared_input_version(tenant, *kind, id, *version)?.ok_or_else(|| {
                ComparisonError::Internal(format!("version {version} of {} {id} is not stored", kind.as_str()))
            })?;
            inputs.add(&input, used)?;
        }
        Ok(inputs)
    }

    /// Of what is at hand, what the plans name.
    pub(super) fn offline(files: &SharedFiles, plans: &[PlanToBill], ranges: &Ranges) -> Self {
        let [calendars, series, lists] = SharedKind::ALL.map(|kind| named(plans, kind).into_iter());
        let calendars = calendars.filter_map(|id| Some((id.to_string(), files.calendars.get(&id)?)));
        let series = series.filter_map(|id| Some((id.to_string(), files.price_series.get(&id)?)));
        let lists = lists.filter_map(|id| Some((id.to_string(), files.event_lists.get(&id)?)));
        Self {
            calendars: calendars.map(|(id, calendar)| (id, calendar.within(&ranges.days))).collect(),
            price_series: series.map(|(id, series)| (id, Arc::new(series.within(&ranges.instants)))).collect(),
            event_lists: lists.map(|(id, list)| (id, list.events.within(&ranges.events))).collect(),
            recorded: Vec::new(),
        }
    }

    fn add(&mut self, input: &SharedInput, used: &Range<i64>) -> Result<(), ComparisonError> {
        let SharedInput { kind, id, version, content, .. } = input;
        let damaged = |error: shared::Damaged| {
            ComparisonError::Internal(format!("version {version} of {} {id}: {error}", kind.as_str()))
        };
        match kind {
            SharedKind::Calendar => {
                let calendar = Calendar::decode(content).map_err(damaged)?;
                self.calendars.insert(id.to_string(), calendar.within(used));
            }
            SharedKind::PriceSeries => {
                let series = shared::decode(content).map_err(damaged)?;
                self.price_series.insert(id.to_string(), Arc::new(series.within(used)));
            }
            SharedKind::EventList => {
                let list = EventList::decode(content).map_err(damaged)?;
                self.event_lists.insert(id.to_string(), list.events.within(used));
            }
        }
        let recorded = RecordedShared { kind: *kind, id: id.clone(), version: *version, used: used.clone() };
        self.recorded.push(recorded);
        Ok(())
    }

    /// The calendars and event lists of one side and, for what only the other one names, of the other; price series
    /// likewise.
    ///
    /// * `days`: the side whose calendars and event lists hold; `series`: the side whose price series do.
    pub(super) fn combine(days: &Self, series: &Self, others: [&Self; 2]) -> Self {
        let mut combined = Self {
            calendars: days.calendars.clone(),
            price_series: series.price_series.clone(),
            event_lists: days.event_lists.clone(),
            recorded: Vec::new(),
        };
        for other in others {
            for (id, dates) in &other.calendars {
                combined.calendars.entry(id.clone()).or_insert_with(|| dates.clone());
            }
            for (id, prices) in &other.price_series {
                combined.price_series.entry(id.clone()).or_insert_with(|| Arc::clone(prices));
            }
            for (id, instants) in &other.event_lists {
                combined.event_lists.entry(id.clone()).or_insert_with(|| instants.clone());
            }
        }
        combined
    }

    fn version_of(&self, kind: SharedKind, id: &str) -> Option<u32> {
        self.recorded.iter().find(|input| input.kind == kind && input.id.as_str() == id).map(|input| input.version)
    }

    /// Inputs of a kind whose used part differs: id, version before and after.
    pub(super) fn differences(
        before: &Self,
        after: &Self,
        kind: SharedKind,
    ) -> Vec<(String, Option<u32>, Option<u32>)> {
        let ids = match kind {
            SharedKind::Calendar => differing(&before.calendars, &after.calendars),
            SharedKind::PriceSeries => differing(&before.price_series, &after.price_series),
            SharedKind::EventList => differing(&before.event_lists, &after.event_lists),
        };
        let versions = |id: &String| (id.clone(), before.version_of(kind, id), after.version_of(kind, id));
        ids.into_iter().map(versions).collect()
    }
}

/// The names under which the two hold something else.
fn differing<'a, T: PartialEq>(
    before: &'a BTreeMap<String, T>,
    after: &'a BTreeMap<String, T>,
) -> BTreeSet<&'a String> {
    before.keys().chain(after.keys()).filter(|id| before.get(*id) != after.get(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{BillingPeriod, Timestamp};

    fn input(kind: SharedKind, version: u32, content: Vec<u8>) -> SharedInput {
        let (id, summary) = ("one".parse().unwrap(), "{}".to_owned());
        SharedInput { kind, id, version, content, summary, created_at: Timestamp::from_micros(0) }
    }

    fn june() -> Ranges {
        let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
        let window = crate::engine::instants(chrono_tz::UTC, &june);
        Ranges::new(&(june.start()..june.end()), &window, &[])
    }

    fn of(version: u32, dates: &str, prices: &str) -> SharedInputs {
        let mut inputs = SharedInputs::default();
        let calendar = Calendar::read(dates).unwrap();
        inputs.add(&input(SharedKind::Calendar, version, calendar.encode()), &june().days).unwrap();
        let series = shared::read_prices(&format!("start,price\n{prices}"), Some(60)).unwrap();
        inputs.add(&input(SharedKind::PriceSeries, version, shared::encode(&series)), &june().instants).unwrap();
        inputs
    }

    fn called(version: u32, events: &str) -> SharedInputs {
        let list = EventList::read(events).unwrap();
        let mut inputs = SharedInputs::default();
        inputs.add(&input(SharedKind::EventList, version, list.encode()), &june().events).unwrap();
        inputs
    }

    #[test]
    fn only_what_a_question_can_use_is_held_against_each_other() {
        let before = of(1, "2026-05-30\n2026-06-30", "2026-05-31T22:00:00Z,1.25\n2026-06-30T23:30:00Z,1\n");
        let same = of(2, "2026-06-30\n2026-07-01", "2026-06-30T23:30:00Z,1\n2026-07-01T00:30:00Z,7\n");
        let differences = |after: &SharedInputs| {
            [SharedKind::Calendar, SharedKind::PriceSeries].map(|kind| SharedInputs::differences(&before, after, kind))
        };
        assert_eq!(differences(&same), [vec![], vec![]]);
        let other = of(3, "2026-05-31\n2026-06-30", "2026-05-31T23:30:00Z,1\n2026-06-30T23:30:00Z,1\n");
        let expected = vec![("one".to_owned(), Some(1), Some(3))];
        assert_eq!(differences(&other), [expected.clone(), expected], "the day before, a price that reaches into it");
        let gone = [SharedKind::Calendar, SharedKind::PriceSeries]
            .map(|kind| SharedInputs::differences(&before, &SharedInputs::default(), kind));
        assert_eq!(gone, [vec![("one".to_owned(), Some(1), None)], vec![("one".to_owned(), Some(1), None)]]);
        assert_eq!(same.recorded.iter().map(|recorded| recorded.version).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn events_count_up_to_the_end_of_the_last_readings() {
        let before = called(1, "2026-05-31T23:00Z/PT2H\n2026-07-01T00:30Z/PT1H");
        let differences = |after: &SharedInputs| SharedInputs::differences(&before, after, SharedKind::EventList);
        assert_eq!(
            differences(&called(2, "2026-06-01T00:00Z/PT1H\n2026-07-01T00:30Z/PT5H\n2026-08-01T00:00Z/PT1H")),
            []
        );
        let expected = [("one".to_owned(), Some(1), Some(3))];
        assert_eq!(
            differences(&called(3, "2026-06-01T00:00Z/PT1H")),
            expected,
            "a reading of an hour can lie across 0:30"
        );
        assert_eq!(differences(&called(3, "2026-06-01T00:00Z/PT30M\n2026-07-01T00:30Z/PT1H")), expected);
    }

    #[test]
    fn events_count_by_the_clocks_of_plans_too() {
        let first: NaiveDate = "2026-06-01".parse().unwrap();
        let days = first..first + chrono::Days::new(1);
        let window = engine::instants(chrono_tz::UTC, &BillingPeriod::new(days.start, days.end).unwrap());
        let hours = |range: Range<i64>| ((range.start - window.start) / 3600, (range.end - window.end) / 3600);
        assert_eq!(hours(events(&days, &window, [].into_iter())), (0, 1));
        let clocks = [Tz::Australia__Brisbane, Tz::America__Phoenix];
        assert_eq!(hours(events(&days, &window, clocks.into_iter())), (-10, 8));
    }

    #[test]
    fn damaged_bytes_are_a_fault_of_ours() {
        for kind in SharedKind::ALL {
            let refused = SharedInputs::default().add(&input(kind, 1, b"x".to_vec()), &(0..1));
            assert!(matches!(refused, Err(ComparisonError::Internal(_))), "{refused:?}");
        }
    }

    #[test]
    fn what_only_the_other_side_names_is_taken_from_it() {
        let (one, none) = (of(1, "2026-06-01", "2026-06-01T00:00:00Z,1\n"), SharedInputs::default());
        let two = of(2, "2026-06-02", "2026-06-01T00:00:00Z,2\n");
        let combined = SharedInputs::combine(&none, &two, [&one, &two]);
        assert_eq!((&combined.calendars, &combined.price_series), (&one.calendars, &two.price_series));
    }
}
