//! What a caller is told in the end, and what that is held against.

use crate::state::{Answer, At, Broken, Call, Id, Inputs, Op, State};

/// Why a call ended without an answer.
pub(crate) enum Failure {
    /// 503: the client repeats it.
    Repeat,
    /// 500: must not happen.
    Internal,
}

pub(crate) fn answer_successor(state: &mut State, call: Call, successor: Id) {
    let row = state.database.row(successor).cloned();
    match row.map(|row| state.database.answer(&row)) {
        Some(answer) => answer_superseded(state, call, answer),
        None => fail(state, &call, &Failure::Internal),
    }
}

pub(crate) fn answer_superseded(state: &mut State, call: Call, answer: Answer) {
    if call.op == Op::CompareFresh && !answer.is_created && !answer.is_fresh {
        return look_up_again(state, call);
    }
    end(state, &call, answer);
}

pub(crate) fn look_up_again(state: &mut State, mut call: Call) {
    leave(state, &call);
    if call.client.is_some() {
        (call.at, call.target, call.answer, call.retries) = (At::LookUp, None, None, 0);
        call.inputs = Inputs::default();
        state.put(call);
    }
}

pub(crate) fn end(state: &mut State, call: &Call, answer: Answer) {
    leave(state, call);
    tell(state, call, answer);
}

/// What the client sees, held against what was promised.
pub(crate) fn tell(state: &mut State, call: &Call, answer: Answer) {
    let Some(client) = call.client else { return };
    let client = &mut state.clients[usize::from(client)];
    client.n_done += 1;
    if let Op::Import(_) = call.op {
        if state.database.imports.iter().any(|(id, is_changed)| (*id, !*is_changed) == (call.id, answer.is_created)) {
            state.break_promise(Broken::ToldWrongly);
        }
        return;
    }
    client.last = Some(answer.id);
    let in_work = call.transaction.as_ref().and_then(|own| own.insert.as_ref()).filter(|row| row.id == answer.id);
    let Some(row) = state.database.row(answer.id).or(in_work).cloned() else {
        return state.break_promise(Broken::WrongRow);
    };
    let given = (row.id, row.readings, row.plan);
    let place = state.acknowledged.partition_point(|other| *other < given);
    if state.acknowledged.get(place) != Some(&given) {
        state.acknowledged.insert(place, given);
    }
    if answer.is_fresh && !state.history[call.since..].contains(&(row.readings, row.plan)) {
        state.break_promise(Broken::FreshWithOldInputs);
    }
    if answer.is_created != (answer.id == call.id) {
        state.break_promise(Broken::ToldWrongly);
    }
    if call.op == Op::CompareFresh && !answer.is_fresh && !answer.is_created {
        state.break_promise(Broken::StaleAnswer);
    }
    let is_asked_for = row.predecessor == call.target || (Some(row.id) == call.target && answer.is_fresh);
    if matches!(call.op, Op::Supersede | Op::ForceSupersede) && !is_asked_for {
        state.break_promise(Broken::WrongRow);
    }
}

pub(crate) fn fail(state: &mut State, call: &Call, failure: &Failure) {
    let is_leader = state.seats[usize::from(call.server)] == Some(call.id);
    if is_leader {
        // Those who joined share the error.
        state.seats[usize::from(call.server)] = None;
        state.calls.retain(|other| other.server != call.server || other.at != At::Waiting);
    }
    if matches!(failure, Failure::Internal) {
        state.break_promise(Broken::Internal);
        if let Some(client) = call.client {
            state.clients[usize::from(client)].n_done += 1;
        }
    }
}

/// A leader leaves the map, and those who joined look up anew.
pub(crate) fn leave(state: &mut State, call: &Call) {
    let seat = &mut state.seats[usize::from(call.server)];
    if *seat == Some(call.id) {
        *seat = None;
        for other in state.calls.iter_mut().filter(|other| other.server == call.server && other.at == At::Waiting) {
            other.at = At::LookUp;
        }
    }
}
