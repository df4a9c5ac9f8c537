//! Tables of 12 months by 24 hours, for weekdays and for weekends, as rules of a schedule.

use std::collections::BTreeSet;

use itertools::Itertools;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fields::Fields;

/// One period number for each local hour.
type Day = [usize; 24];

/// Which period holds when.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Weekday and weekend of each month.
    months: Vec<[Day; 2]>,
}

/// The name of a period in the document.
pub(super) fn period_name(period: usize) -> String {
    format!("period_{period}")
}

impl Table {
    /// The tables of weekday and weekend. Without both, a structure of one period holds always; of more, that is
    /// a fault.
    pub(super) fn of_hours(fields: &mut Fields<'_>, names: [&'static str; 2], n_periods: usize) -> Option<Self> {
        let mut tables: Vec<Vec<Day>> = Vec::with_capacity(2);
        let mut n_missing = 0;
        for name in names {
            let wanted = "twelve lists of 24 period numbers";
            match fields.parsed::<Vec<Vec<&RawValue>>>(name, wanted) {
                Some(rows) => tables.push(read_rows(fields, name, &rows, n_periods)?),
                None => n_missing += 1,
            }
        }
        match (n_missing, n_periods) {
            (0, _) => {}
            (2, 1) => return Some(Self { months: vec![[[0; 24]; 2]; 12] }),
            _ => {
                let message = format!("{} and {} go together with a structure of periods", names[0], names[1]);
                fields.fault("missing_field", &format!("/{}", names[0]), message);
                return None;
            }
        }
        let weekends = tables.pop()?;
        let weekdays = tables.pop()?;
        Some(Self { months: weekdays.into_iter().zip(weekends).map(|(day, end)| [day, end]).collect() })
    }

    /// A period for each whole month.
    pub(super) fn of_months(periods: &[usize]) -> Self {
        Self { months: periods.iter().map(|period| [[*period; 24]; 2]).collect() }
    }

    /// The periods that occur, rising.
    pub(super) fn periods(&self) -> Vec<usize> {
        self.months.iter().flatten().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Rules of a schedule, months of equal days together; `None` when one period holds always.
    pub(super) fn rules(&self) -> Option<Vec<Value>> {
        if self.periods().len() == 1 {
            return None;
        }
        let mut rules = Vec::new();
        let mut groups: Vec<(&[Day; 2], Vec<usize>)> = Vec::new();
        for (i, days) in self.months.iter().enumerate() {
            match groups.iter_mut().find(|(known, _)| *known == days) {
                Some((_, months)) => months.push(i + 1),
                None => groups.push((days, vec![i + 1])),
            }
        }
        for ([weekday, weekend], months) in groups {
            if weekday == weekend {
                rules.extend(day_rules(weekday, &months, None));
            } else {
                rules.extend(day_rules(weekday, &months, Some("weekdays")));
                rules.extend(day_rules(weekend, &months, Some("weekends")));
            }
        }
        Some(rules)
    }
}

fn read_rows(fields: &mut Fields<'_>, name: &str, rows: &[Vec<&RawValue>], n_periods: usize) -> Option<Vec<Day>> {
    if rows.len() != 12 || rows.iter().any(|row| row.len() != 24) {
        let message = format!("{name} has twelve months of 24 hours each");
        fields.fault("wrong_length", &format!("/{name}"), message);
        return None;
    }
    let mut days = Vec::with_capacity(12);
    for (month, row) in rows.iter().enumerate() {
        let mut day = [0; 24];
        for (hour, cell) in row.iter().enumerate() {
            // The first cell that names no period is enough: a wrong table has it 288 times.
            day[hour] = fields.index(cell, n_periods, &format!("/{name}/{month}/{hour}"))?;
        }
        days.push(day);
    }
    Some(days)
}

/// One rule for each period of a day, with its windows unless it holds all day.
fn day_rules(day: &Day, months: &[usize], days: Option<&str>) -> Vec<Value> {
    let runs: Vec<(usize, usize, usize)> = day
        .iter()
        .enumerate()
        .chunk_by(|(_, period)| **period)
        .into_iter()
        .map(|(period, hours)| {
            let hours: Vec<usize> = hours.map(|(hour, _)| hour).collect();
            (period, hours[0], hours[hours.len() - 1] + 1)
        })
        .collect();
    let periods: BTreeSet<usize> = runs.iter().map(|(period, _, _)| *period).collect();
    let is_all_day = periods.len() == 1;
    periods
        .into_iter()
        .map(|period| {
            let mut rule = json!({"period": period_name(period)});
            if months.len() < 12 {
                rule["months"] = months.into();
            }
            if let Some(days) = days {
                rule["days"] = days.into();
            }
            if !is_all_day {
                let windows: Vec<String> = runs
                    .iter()
                    .filter(|(other, _, _)| *other == period)
                    .map(|(_, from, to)| format!("{from:02}:00-{to:02}:00"))
                    .collect();
                rule["hours"] = windows.into();
            }
            rule
        })
        .collect()
}
