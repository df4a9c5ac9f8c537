//! Tests of schedules.

use super::*;

fn rule(period: usize, days: u8, hours: &[(u16, u16)]) -> Rule {
    Rule { period, months: ALL_MONTHS, season: None, days, hours: hours.to_vec(), during: None }
}

fn stretches(pattern: &Pattern) -> Vec<(u16, u16, u16)> {
    pattern.iter().map(|s| (s.start, s.end, s.period)).collect()
}

fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn of(text: &str) -> Day {
    Day::new(date(text), date(text).weekday().num_days_from_monday() as usize)
}

fn pattern<'s>(schedule: &'s Schedule, day: &str) -> &'s Pattern {
    schedule.pattern(of(day), &Calendars::new())
}

#[test]
fn the_first_rule_that_applies_holds() {
    let rules = [rule(0, 0b0110_0000, &[]), rule(1, ALL_DAYS, &[(600, 840), (1080, 1320)]), rule(2, ALL_DAYS, &[])];
    let schedule =
        Schedule::compile("tou".into(), vec!["a".into(), "b".into(), "c".into()], &rules, (Vec::new(), None), false);
    let monday = pattern(&schedule, "2026-06-01");
    assert_eq!(stretches(monday), [(0, 600, 2), (600, 840, 1), (840, 1080, 2), (1080, 1320, 1), (1320, 1440, 2)]);
    assert_eq!(stretches(pattern(&schedule, "2026-06-06")), [(0, 1440, 0)]);
    assert_eq!(period_at(monday, 599), Some(2));
    assert_eq!(period_at(monday, 600), Some(1));
}

#[test]
fn a_wrapping_window_keeps_the_day_on_which_it_began() {
    let saturday = 0b0010_0000;
    let rules = [rule(0, saturday, &[(1320, 420)])];
    let names = vec!["night".to_owned()];
    let schedule = Schedule::compile("s".into(), names.clone(), &rules, (Vec::new(), None), false);
    assert_eq!(stretches(pattern(&schedule, "2026-06-06")), [(1320, 1440, 0)]);
    assert_eq!(stretches(pattern(&schedule, "2026-06-07")), [(0, 420, 0)]);
    let own_day = Schedule::compile("s".into(), names, &rules, (Vec::new(), None), true);
    assert_eq!(stretches(pattern(&own_day, "2026-06-06")), [(0, 420, 0), (1320, 1440, 0)]);
    assert_eq!(stretches(pattern(&own_day, "2026-06-07")), []);
}

#[test]
fn a_season_ends_before_its_last_day_and_may_wrap_the_year() {
    let mut winter = rule(0, ALL_DAYS, &[]);
    winter.season = Some(((11, 15), (3, 1)));
    let rules = [winter, rule(1, ALL_DAYS, &[])];
    let schedule =
        Schedule::compile("s".into(), vec!["winter".into(), "rest".into()], &rules, (Vec::new(), None), false);
    for (day, is_winter) in [
        ("2026-11-14", false),
        ("2026-11-15", true),
        ("2027-02-28", true),
        ("2028-02-29", true),
        ("2027-03-01", false),
        ("2028-03-01", false),
    ] {
        assert_eq!(schedule.occurs_on(of(day), 0), is_winter, "{day}");
        assert_eq!(schedule.occurs_on(of(day), 1), !is_winter, "{day}");
    }
    assert!(schedule.is_seasonal);
    assert_eq!(schedule.spans.len(), 2);
}

#[test]
fn a_schedule_changes_on_the_days_on_which_other_rules_hold_than_on_the_day_before() {
    for season in [((11, 15), (3, 1)), ((2, 29), (6, 1)), ((3, 1), (3, 2)), ((1, 1), (12, 31)), ((2, 28), (2, 29))] {
        let mut seasonal = rule(0, ALL_DAYS, &[]);
        seasonal.season = Some(season);
        let rules = [seasonal, rule(1, ALL_DAYS, &[])];
        let schedule = Schedule::compile("s".into(), vec!["a".into(), "b".into()], &rules, (Vec::new(), None), false);
        for year in 2023..2030 {
            let days = date(&format!("{year}-01-01")).iter_days().take_while(|day| day.year() == year);
            let changes = days.filter(|day| schedule.span(*day) != schedule.span(day.pred_opt().unwrap()));
            let found: BTreeSet<NaiveDate> = schedule.changes().in_year(year).collect();
            assert_eq!(found, changes.collect(), "{season:?} {year}");
        }
    }
}

#[test]
fn ten_thousand_rules_are_compiled_in_time() {
    let rules: Vec<Rule> = (0..10_000u16)
        .map(|i| {
            let mut rule = rule(0, ALL_DAYS, &[(i % 1439, i % 1439 + 1)]);
            rule.season = Some(((1 + u32::from(i) % 12, 1 + u32::from(i) % 28), (12, 31)));
            rule
        })
        .collect();
    let schedule = Schedule::compile("s".into(), vec!["p".into()], &rules, (Vec::new(), None), false);
    assert!(schedule.spans.len() > 80);
}

#[test]
fn a_holiday_is_no_other_day_and_its_night_lasts_until_morning() {
    let holiday = 1 << HOLIDAY;
    let weekdays = 0b001_1111;
    let rules = [rule(0, holiday, &[]), rule(1, weekdays, &[(1320, 360)]), rule(2, ALL_DAYS, &[])];
    let names: Vec<String> = ["holiday", "night", "day"].map(str::to_owned).into();
    // Wednesday 24 June 2026.
    let calendars = Calendars::from([("x".to_owned(), BTreeSet::from([date("2026-06-24")]))]);
    let schedule = Schedule::compile("s".into(), names.clone(), &rules, (vec!["x".into()], None), false);
    let day = |schedule: &Schedule, day: &str| stretches(schedule.pattern(of(day), &calendars));
    assert_eq!(day(&schedule, "2026-06-23"), [(0, 360, 1), (360, 1320, 2), (1320, 1440, 1)]);
    assert_eq!(day(&schedule, "2026-06-24"), [(0, 1440, 0)]);
    assert_eq!(day(&schedule, "2026-06-25"), [(0, 1320, 2), (1320, 1440, 1)]);
    let as_sunday = Schedule::compile("s".into(), names, &rules, (vec!["x".into()], Some(6)), false);
    assert_eq!(day(&as_sunday, "2026-06-24"), [(0, 360, 1), (360, 1440, 2)]);
    assert_eq!(day(&as_sunday, "2026-06-25"), [(0, 1320, 2), (1320, 1440, 1)]);
}
