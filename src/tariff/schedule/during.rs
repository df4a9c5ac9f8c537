//! Rules that hold within instants only: coincident peaks, critical days. Source: PLAN-MODEL section 2, `during`.
//!
//! The patterns of a schedule are those of its other rules. On a day that such instants touch, the rules are laid anew for
//! each stretch between two bounds, in their order: the first that applies holds there, too.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use chrono::Datelike;

use super::{ALL_DAYS, ALL_MONTHS, Calendars, Day, EventLists, MINUTES_OF_DAY, Pattern, Rule, Schedule, day_pattern};
use crate::words::Instants;

/// What a rule's `during` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Within {
    /// Instants written in the document.
    Written(Instants),
    /// Those of the event list of this name.
    List(String),
}

/// The rules of a schedule, some of which hold within instants only.
#[derive(Debug, Clone)]
pub(super) struct During {
    rules: Vec<Rule>,
    own_day: bool,
    /// The event lists that rules name: none until [`Schedule::with_events`].
    lists: EventLists,
    /// Every instant at which one of the stretches begins or ends, sorted.
    bounds: Vec<i64>,
}

impl During {
    /// * `own_day`: as for [`Schedule::compile`].
    pub(super) fn of(rules: &[Rule], own_day: bool) -> Option<Self> {
        let with_instants = rules.iter().any(|rule| rule.during.is_some());
        with_instants.then(|| Self::with(rules.to_vec(), own_day, EventLists::new()))
    }

    fn with(rules: Vec<Rule>, own_day: bool, lists: EventLists) -> Self {
        let mut bounds: Vec<i64> = written(&rules)
            .chain(lists.values())
            .flat_map(Instants::stretches)
            .flat_map(|stretch| [stretch.start, stretch.end])
            .collect();
        bounds.sort_unstable();
        bounds.dedup();
        Self { rules, own_day, lists, bounds }
    }

    /// The event lists that rules name, each with the place of its rule.
    fn named(&self) -> impl Iterator<Item = (usize, &Rule, &str)> {
        self.rules.iter().enumerate().filter_map(|(place, rule)| match &rule.during {
            Some(Within::List(name)) => Some((place, rule, name.as_str())),
            _ => None,
        })
    }
}

/// The instants that rules have of their own.
fn written(rules: &[Rule]) -> impl Iterator<Item = &Instants> {
    rules.iter().filter_map(|rule| match &rule.during {
        Some(Within::Written(instants)) => Some(instants),
        _ => None,
    })
}

impl Schedule {
    /// Instants at which a rule begins or ends to hold, sorted: those of `during`.
    pub(crate) fn bounds(&self) -> &[i64] {
        self.during.as_ref().map_or(&[], |during| &during.bounds)
    }

    /// Whether a rule holds within instants only.
    pub(crate) fn has_instants(&self) -> bool {
        self.during.is_some()
    }

    /// The event lists that rules name, each with the place of its rule.
    pub(crate) fn event_lists(&self) -> impl Iterator<Item = (usize, &str)> {
        self.during.iter().flat_map(During::named).map(|(place, _, name)| (place, name))
    }

    /// The same schedule with the instants of the event lists that its rules name.
    pub(crate) fn with_events(mut self, lists: &EventLists) -> Self {
        if let Some(during) = self.during.take() {
            let known = during.named().filter_map(|(.., name)| Some((name.to_owned(), lists.get(name)?.clone())));
            let known = known.collect();
            self.during = Some(During::with(during.rules, during.own_day, known));
        }
        self
    }

    /// The event lists and the written stretches within which rules of a period hold that speak of instants, and whether some
    /// of these rules speak of months, days or hours as well.
    pub(crate) fn instants_of(&self, period: usize) -> (BTreeSet<&str>, Vec<Range<i64>>, bool) {
        let rules = self.during.iter().flat_map(|during| &during.rules);
        let (mut lists, mut stretches, mut has_more) = (BTreeSet::new(), Vec::new(), false);
        for rule in rules.filter(|rule| rule.period == period) {
            match &rule.during {
                None => continue,
                Some(Within::List(name)) => {
                    lists.insert(name.as_str());
                }
                Some(Within::Written(instants)) => stretches.extend(instants.stretches().iter().cloned()),
            }
            let is_whole = rule.months == ALL_MONTHS && rule.season.is_none() && rule.days == ALL_DAYS;
            has_more |= !(is_whole && rule.hours.is_empty());
        }
        (lists, Instants::new(stretches).stretches().to_vec(), has_more)
    }

    /// Those inside a stretch of time, its start left out.
    pub(crate) fn bounds_inside(&self, stretch: &Range<i64>) -> &[i64] {
        let bounds = self.bounds();
        let from = bounds.partition_point(|bound| *bound <= stretch.start);
        &bounds[from..from.max(bounds.partition_point(|bound| *bound < stretch.end))]
    }

    /// Whether a rule with `during` holds at some instant of a stretch of time.
    pub(crate) fn is_touched(&self, stretch: &Range<i64>) -> bool {
        !self.bounds_inside(stretch).is_empty()
            || self.during.as_ref().is_some_and(|during| {
                written(&during.rules).chain(during.lists.values()).any(|instants| instants.contains(stretch.start))
            })
    }

    /// The stretches of a day by the rules that hold at instants of it: for each instant the index of a pattern. Where the
    /// same rules hold it is the same pattern.
    pub(crate) fn patterns_at(
        &self,
        day: Day,
        calendars: &Calendars,
        instants: impl Iterator<Item = i64>,
    ) -> (Vec<usize>, Vec<Pattern>) {
        let Some(during) = &self.during else {
            return (instants.map(|_| 0).collect(), vec![self.pattern(day, calendars).clone()]);
        };
        let date = day.date;
        let today = self.day_type(date, calendars);
        let yesterday = date.pred_opt().map_or(today, |date| self.day_type(date, calendars));
        let yesterday = if during.own_day { today } else { yesterday };
        let of_day: Vec<&Rule> = during.rules.iter().filter(|rule| rule.holds_on(date.month(), date.day())).collect();
        let mut patterns = Vec::new();
        let mut known: HashMap<(Vec<&str>, Vec<usize>), usize> = HashMap::new();
        let indices = instants.map(|instant| {
            let lists = during.lists.iter().filter(|(_, list)| list.contains(instant)).map(|(name, _)| name.as_str());
            let written = of_day.iter().enumerate().filter(
                |(_, rule)| matches!(&rule.during, Some(Within::Written(instants)) if instants.contains(instant)),
            );
            let on: (Vec<&str>, Vec<usize>) = (lists.collect(), written.map(|(place, _)| place).collect());
            if let Some(index) = known.get(&on) {
                return *index;
            }
            let holds = |place: usize, rule: &Rule| match &rule.during {
                None => true,
                Some(Within::Written(_)) => on.1.binary_search(&place).is_ok(),
                Some(Within::List(name)) => on.0.contains(&name.as_str()),
            };
            let rules = of_day.iter().enumerate().filter(|(place, rule)| holds(*place, rule)).map(|(_, rule)| *rule);
            patterns.push(day_pattern(&rules.collect::<Vec<_>>(), today, yesterday));
            known.insert(on, patterns.len() - 1);
            patterns.len() - 1
        });
        (indices.collect(), patterns)
    }

    /// Minutes of the day, midnight left out, at which windows of rules with `during` begin or end.
    pub(super) fn edges_during(&self) -> Vec<u16> {
        let rules = self.during.iter().flat_map(|during| &during.rules).filter(|rule| rule.during.is_some());
        let mut minutes: Vec<u16> =
            rules.flat_map(|rule| &rule.hours).flat_map(|(start, end)| [*start, *end]).collect();
        minutes.retain(|minute| *minute != 0 && *minute != MINUTES_OF_DAY);
        minutes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ALL_DAYS, ALL_MONTHS, period_at};
    use super::*;

    #[test]
    fn the_first_rule_that_applies_holds_within_instants_too() {
        let rule = |period, hours: &[(u16, u16)], during| Rule {
            period,
            months: ALL_MONTHS,
            season: None,
            days: ALL_DAYS,
            hours: hours.to_vec(),
            during,
        };
        let within = |stretch: Range<i64>| Some(Within::Written(Instants::new([stretch].into())));
        let rules = [
            rule(0, &[(0, 60)], None),
            rule(1, &[], within(0..7200)),
            rule(2, &[(60, 180)], within(3600..10_800)),
            rule(3, &[], None),
        ];
        let periods = ["first", "critical", "evening", "rest"].map(str::to_owned).into();
        let schedule = Schedule::compile("s".into(), periods, &rules, (Vec::new(), None), false);
        // A Thursday.
        let day = Day::new("1970-01-01".parse().unwrap(), 3);
        let calendars = Calendars::new();
        let period = |instant: i64, minute: u16| {
            let (of, patterns) = schedule.patterns_at(day, &calendars, [instant].into_iter());
            period_at(&patterns[of[0]], minute)
        };
        assert_eq!([period(0, 0), period(3600, 60), period(7200, 120)], [Some(0), Some(1), Some(2)]);
        assert_eq!([period(7200, 180), period(10_800, 120)], [Some(3), Some(3)]);
        assert_eq!(period_at(schedule.pattern(day, &calendars), 120), Some(3), "without instants the other rules hold");
        assert_eq!(
            (schedule.bounds(), schedule.bounds_inside(&(0..7201))),
            (&[0, 3600, 7200, 10_800][..], &[3600, 7200][..])
        );
        assert!(schedule.is_touched(&(10_000..10_001)) && !schedule.is_touched(&(10_800..20_000)));
        assert_eq!(schedule.edges_during(), [60, 180]);
        let span = schedule.span(day.date);
        assert!((0..4).all(|period| schedule.occurs(span, period)) && !schedule.is_seasonal);
    }
}
