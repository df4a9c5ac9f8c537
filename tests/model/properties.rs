//! What must hold in every state, what must come, and what has to be possible for the rest to mean anything.

use stateright::{Expectation, Property};

use crate::protocol::Protocol;
use crate::state::{At, Broken, State};

pub(crate) const ONE_CURRENT: &str = "at most one current row";
pub(crate) const NO_GAP: &str = "once a key has a row, one is current";
pub(crate) const ONE_SUCCESSOR: &str = "at most one successor, and links that agree";
pub(crate) const KEPT: &str = "an acknowledged id stays readable with the same bytes";
pub(crate) const FRESH: &str = "fresh only with the inputs of an instant of the call";
pub(crate) const MARKED: &str = "a current row of other readings is marked";
pub(crate) const NOT_OUTDATED: &str = "nothing stored from inputs outdated when they were checked";
pub(crate) const NO_LOST_IMPORT: &str = "no import undoes another";
pub(crate) const TOLD: &str = "who made a row, and only that call, is told so";
pub(crate) const WANTED_FRESH: &str = "who asks for fresh numbers gets them";
pub(crate) const RIGHT_ROW: &str = "supersede answers the direct successor";
pub(crate) const NO_FAULT: &str = "no call ends in an internal error";
pub(crate) const ONE_COMPUTATION: &str = "a server computes one question once";
pub(crate) const ENDS: &str = "every call ends";

// What a model has to be able to reach, or it proves nothing.
pub(crate) const CONFLICT: &str = "an insert meets a current row";
pub(crate) const LOST_ANSWER: &str = "a commit happens and its answer is lost";
pub(crate) const ADRIFT: &str = "a commit is under way while its call asks for it";
pub(crate) const SUPERSEDE_RACE: &str = "a row is superseded while another computes its successor";
pub(crate) const CHANGED_INPUT: &str = "an input changes under a computation";
pub(crate) const JOINED: &str = "a call joins another's computation";
pub(crate) const REFRESHED: &str = "a marked row is found to have its inputs still";

/// All promises and what this world has to reach, or the one property that is asked for.
pub(crate) fn all(protocol: &Protocol) -> Vec<Property<Protocol>> {
    let mut properties = promises();
    properties.extend(possibilities());
    properties.retain(|property| match protocol.only {
        Some(name) => property.name == name,
        None => property.expectation != Expectation::Sometimes || protocol.reaches.contains(&property.name),
    });
    properties
}

fn promises() -> Vec<Property<Protocol>> {
    vec![
        Property::always(ONE_CURRENT, |_, state: &State| {
            state.database.rows.iter().filter(|row| row.successor.is_none()).count() <= 1
        }),
        Property::always(NO_GAP, |_, state: &State| {
            state.database.rows.is_empty() || state.database.current().is_some()
        }),
        Property::always(ONE_SUCCESSOR, |_, state: &State| {
            let rows = &state.database.rows;
            rows.iter().all(|row| {
                rows.iter().filter(|other| other.predecessor == Some(row.id)).count()
                    == usize::from(row.successor.is_some())
                    && row
                        .successor
                        .is_none_or(|id| state.database.row(id).is_some_and(|next| next.predecessor == Some(row.id)))
            })
        }),
        Property::always(KEPT, |_, state: &State| {
            state.acknowledged.iter().all(|(id, readings, plan)| {
                let row = state.database.row(*id).map(|row| (row.readings, row.plan));
                // Not yet committed: only a crash shows that it was acknowledged too early.
                row == Some((*readings, *plan))
                    || state.transactions().any(|open| open.insert.as_ref().is_some_and(|row| row.id == *id))
            })
        }),
        Property::always(FRESH, |_, state: &State| !state.broken.contains(&Broken::FreshWithOldInputs)),
        Property::always(MARKED, |_, state: &State| {
            let mut current = state.database.rows.iter().filter(|row| row.successor.is_none());
            current.all(|row| row.is_marked || row.readings == state.database.readings)
        }),
        Property::always(NOT_OUTDATED, |_, state: &State| !state.broken.contains(&Broken::StoredOutdated)),
        Property::always(NO_LOST_IMPORT, |_, state: &State| state.database.readings == state.readings_due),
        Property::always(TOLD, |_, state: &State| !state.broken.contains(&Broken::ToldWrongly)),
        Property::always(WANTED_FRESH, |_, state: &State| !state.broken.contains(&Broken::StaleAnswer)),
        Property::always(RIGHT_ROW, |_, state: &State| !state.broken.contains(&Broken::WrongRow)),
        Property::always(NO_FAULT, |_, state: &State| !state.broken.contains(&Broken::Internal)),
        Property::always(ONE_COMPUTATION, |_, state: &State| state.n_computations.iter().all(|n| *n <= 1)),
        Property::eventually(ENDS, |protocol: &Protocol, state: &State| {
            let is_done = |(client, (_, script)): (&crate::state::Client, &(u8, Vec<_>))| client.n_done == script.len();
            state.calls.is_empty() && state.clients.iter().zip(&protocol.clients).all(is_done)
        }),
    ]
}

fn possibilities() -> Vec<Property<Protocol>> {
    vec![
        Property::sometimes(CONFLICT, |_, state: &State| state.calls.iter().any(|call| call.at == At::Winner)),
        Property::sometimes(LOST_ANSWER, |_, state: &State| {
            state.calls.iter().any(|call| call.at == At::Unsure && state.database.row(call.id).is_some())
        }),
        Property::sometimes(SUPERSEDE_RACE, |_, state: &State| {
            let is_late = |row| state.database.row(row).is_some_and(|row| row.successor.is_some());
            state.calls.iter().any(|call| call.at == At::Lock && call.target.is_some_and(is_late))
        }),
        Property::sometimes(CHANGED_INPUT, |_, state: &State| state.calls.iter().any(|call| call.retries > 0)),
        Property::sometimes(JOINED, |_, state: &State| state.calls.iter().any(|call| call.at == At::Waiting)),
        Property::sometimes(ADRIFT, |_, state: &State| {
            state.calls.iter().any(|call| call.at == At::Unsure && !state.is_head_free(call.id))
        }),
        Property::sometimes(REFRESHED, |_, state: &State| {
            let is_marked = |row| state.database.row(row).is_some_and(|row| row.is_marked);
            state.transactions().any(|open| open.refresh.is_some_and(is_marked))
        }),
    ]
}
