//! Which meter points a file has, whose they are, and why one is not stored. Pure.

use std::collections::HashMap;

use itertools::Itertools as _;

use crate::store::{MeterPointCustomers, MeterPointRefusal, MeterPointRow, MeterPointState};
use crate::usage::{Channel, Direction, SeriesLabel, UsageError};
use crate::words::CustomerId;

/// Whether the file says the other direction than the channel means.
pub(super) fn contradicts(channel: &Channel, directions: &[Direction]) -> bool {
    let is_said = |direction| directions.contains(&direction);
    (*channel == Channel::import() && is_said(Direction::Export) && !is_said(Direction::Import))
        || (*channel == Channel::export() && is_said(Direction::Import))
}

/// Every name by which a customer could list a meter point of the file: its meters and its series.
pub(super) fn names(labels: &[SeriesLabel]) -> Vec<String> {
    let with_meter = labels.iter().filter(|label| label.meter.is_some());
    with_meter.flat_map(|label| [label.meter.clone().unwrap_or_default(), label.name()]).unique().collect()
}

/// The meter points of a file in its order, with their series: a series that is listed by its own name, and the meter for
/// all others. `None` for series without a meter.
pub(super) fn meter_points(
    labels: &[SeriesLabel],
    is_listed: impl Fn(&str) -> bool,
) -> Vec<(Option<String>, Vec<usize>)> {
    let mut points: Vec<(Option<String>, Vec<usize>)> = Vec::new();
    let mut place_of: HashMap<Option<String>, usize> = HashMap::new();
    for (idx, label) in labels.iter().enumerate().filter(|(_, label)| label.is_energy()) {
        let name = label.name();
        let id = match &label.meter {
            Some(_) if label.channel.is_some() && is_listed(&name) => Some(name),
            meter => meter.clone(),
        };
        let place = *place_of.entry(id.clone()).or_insert(points.len());
        if place == points.len() {
            points.push((id, Vec::new()));
        }
        points[place].1.push(idx);
    }
    points
}

/// A meter point as the record first has it.
pub(super) fn first_row(place: u32, id: Option<&str>, listed: &MeterPointCustomers) -> MeterPointRow {
    let row = MeterPointRow {
        place,
        meter_point_id: id.map(str::to_owned),
        n_readings: 0,
        state: MeterPointState::Pending,
        customer_id: None,
        part_id: None,
        code: None,
        detail: None,
    };
    let why = match id {
        None => Why {
            state: MeterPointState::Unmapped,
            customer: None,
            code: "meter_point_unnamed".to_owned(),
            detail: "these series name no meter point; import them for a customer".to_owned(),
        },
        Some(id) => match owner(id, listed) {
            Ok(customer) => return MeterPointRow { customer_id: Some(customer), ..row },
            Err(why) => why,
        },
    };
    MeterPointRow { state: why.state, code: Some(why.code), detail: Some(why.detail), ..row }
}

/// The one customer that lists a meter point.
pub(super) fn owner(point: &str, listed: &MeterPointCustomers) -> Result<CustomerId, Why> {
    let customers: Vec<&CustomerId> =
        listed.get(point).into_iter().flatten().map(|(customer, _)| customer).dedup().collect();
    match customers.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(Why {
            state: MeterPointState::Unmapped,
            customer: None,
            code: "meter_point_unmapped".to_owned(),
            detail: format!("no customer lists the meter point {point}; add it to the customer's meter_points"),
        }),
        several => {
            let names = several.iter().join(", ");
            let detail = format!("the meter point {point} is listed by {names}; leave it to one of them");
            Err(Why::refused("meter_point_ambiguous", detail))
        }
    }
}

/// Why a meter point is not stored.
#[derive(Debug, Clone)]
pub(super) struct Why {
    pub(super) state: MeterPointState,
    pub(super) customer: Option<CustomerId>,
    pub(super) code: String,
    pub(super) detail: String,
}

impl Why {
    pub(super) fn refused(code: &str, detail: String) -> Self {
        Self { state: MeterPointState::Refused, customer: None, code: code.to_owned(), detail }
    }

    pub(super) fn unreadable(error: &UsageError) -> Self {
        Self::refused(error.code.as_str(), error.to_string())
    }

    pub(super) fn moved() -> Self {
        let detail = "the customer's meter points were changed while the file was read; send it again".to_owned();
        Self::refused("meter_point_moved", detail)
    }

    pub(super) fn not_listed(found: &Channel, listed: &[&Channel]) -> Self {
        let listed = listed.iter().join(", ");
        let detail = format!(
            "the file has {found} of this meter point, which is listed as {listed}: list it as {found}, too, or one of its \
             series by its own name"
        );
        Self::refused("meter_point_channel_not_listed", detail)
    }

    pub(super) fn at(self, place: u32) -> MeterPointRefusal {
        let Self { state, customer, code, detail } = self;
        MeterPointRefusal { place, state, customer_id: customer, code, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Quantity;

    fn label(meter: Option<&str>, channel: &str, direction: Direction) -> SeriesLabel {
        SeriesLabel {
            meter: meter.map(str::to_owned),
            channel: Some(channel.to_owned()),
            direction,
            unit: "kWh".to_owned(),
            quantity: Quantity::Energy,
        }
    }

    #[test]
    fn a_series_that_is_listed_by_its_own_name_is_a_meter_point_of_its_own() {
        let reactive = SeriesLabel { quantity: Quantity::Other, ..label(Some("a"), "Q1", Direction::Other) };
        let labels = [
            label(Some("a"), "E1", Direction::Import),
            label(Some("b"), "E1", Direction::Import),
            label(Some("a"), "E2", Direction::Import),
            label(Some("a"), "B1", Direction::Export),
            reactive,
            label(None, "x", Direction::Other),
        ];
        let points = meter_points(&labels, |name| name == "a/E2");
        let told: Vec<_> = points.iter().map(|(id, idxs)| (id.as_deref(), idxs.as_slice())).collect();
        assert_eq!(told, [(Some("a"), &[0, 3][..]), (Some("b"), &[1]), (Some("a/E2"), &[2]), (None, &[5])]);
        assert_eq!(names(&labels), ["a", "a/E1", "b", "b/E1", "a/E2", "a/B1", "a/Q1"]);
    }

    #[test]
    fn a_channel_is_not_fed_with_the_other_direction() {
        let (import, export) = (Channel::import(), Channel::export());
        assert!(contradicts(&import, &[Direction::Export]) && contradicts(&export, &[Direction::Import]));
        assert!(!contradicts(&export, &[Direction::Other]) && !contradicts(&import, &[Direction::Net]));
    }

    #[test]
    fn a_meter_point_has_one_owner_whatever_channels_it_feeds() {
        let customer = |id: &str| id.parse::<CustomerId>().unwrap();
        let (import, export) = (Channel::import(), Channel::export());
        let listed = MeterPointCustomers::from([
            ("one".to_owned(), vec![(customer("c-1"), import.clone()), (customer("c-1"), export)]),
            ("two".to_owned(), vec![(customer("c-1"), import.clone()), (customer("c-2"), import)]),
        ]);
        assert_eq!(owner("one", &listed).unwrap(), customer("c-1"));
        let ambiguous = owner("two", &listed).unwrap_err();
        assert_eq!((ambiguous.code.as_str(), ambiguous.state), ("meter_point_ambiguous", MeterPointState::Refused));
        assert!(ambiguous.detail.contains("c-1, c-2"), "{}", ambiguous.detail);
        assert_eq!(owner("three", &listed).unwrap_err().state, MeterPointState::Unmapped);
    }
}
