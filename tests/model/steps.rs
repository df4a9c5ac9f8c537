//! The steps, as they are in `src/comparison/` and `src/store/units/`. A step is what others can come between: one
//! statement, or what a process does in its own memory. What only concerns the call itself (to compute, to decide) is
//! joined to the statement before it; what happens under the head's lock is not, so that taking the lock away shows.

use crate::answers::{Failure, answer_successor, answer_superseded, end, fail, leave, look_up_again, tell};
use crate::protocol::{Protocol, Safeguard};
use crate::state::{Answer, At, Call, Change, FIRST, Id, Inputs, Op, Row, State, Transaction};

impl Protocol {
    /// Whether the next step has to wait.
    pub(crate) fn is_blocked(&self, state: &State, call: &Call) -> bool {
        match call.at {
            At::Waiting => true,
            At::Lock | At::LockSince(_) if call.at == At::Lock && !self.has(Safeguard::CheckInNewStatement) => false,
            At::Lock | At::LockSince(_) => self.has(Safeguard::LockBeforeCheck) && !state.is_head_free(call.id),
            At::LockHead => !state.is_head_free(call.id),
            At::Unsure => self.has(Safeguard::AskUnderLock) && !state.is_head_free(call.id),
            At::Insert => {
                self.has(Safeguard::PartialIndex) && state.others(call.id).any(|other| other.insert.is_some())
            }
            At::Update => call.target.is_some_and(|row| state.others(call.id).any(|other| other.has_locked(row))),
            At::Mark => {
                to_mark(state, call).iter().any(|row| state.others(call.id).any(|other| other.has_locked(*row)))
            }
            _ => false,
        }
    }

    pub(crate) fn ask(&self, state: &mut State, client: u8) {
        let this = &mut state.clients[usize::from(client)];
        let (server, script) = &self.clients[usize::from(client)];
        let op = script[this.n_done];
        assert!(this.n_calls < 15, "more calls than there are ids");
        let id = client * 16 + this.n_calls;
        this.n_calls += 1;
        let (at, target) = match op {
            Op::Compare | Op::CompareFresh => (At::LookUp, None),
            Op::Supersede | Op::ForceSupersede => (At::ReadRow, Some(this.last.unwrap_or(FIRST))),
            Op::Import(_) if self.has(Safeguard::LockBeforeMerge) && self.has(Safeguard::LockBeforeMark) => {
                (At::LockHead, None)
            }
            Op::Import(_) if self.has(Safeguard::LockBeforeMerge) => (At::Mark, None),
            Op::Import(_) => (At::Merge, None),
            Op::PutPlan => {
                this.n_done += 1;
                state.database.plan += 1;
                state.history.push((state.database.readings, state.database.plan));
                return;
            }
        };
        let call = Call {
            id,
            client: Some(client),
            server: *server,
            op,
            since: state.history.len() - 1,
            at,
            inputs: Inputs::default(),
            retries: 0,
            target,
            answer: None,
            transaction: None,
        };
        if self.is_blocked(state, &call) { state.put(call) } else { self.go(state, call) }
    }

    /// The next step of a call that was taken out of the state.
    pub(crate) fn go(&self, state: &mut State, mut call: Call) {
        match call.at {
            At::LookUp => match state.database.current().map(|row| state.database.answer(row)) {
                None => call.at = At::Enter,
                Some(found) if call.op == Op::CompareFresh && !found.is_fresh => {
                    (call.target, call.at) = (Some(found.id), At::ReadRow);
                }
                Some(found) => return end(state, &call, found),
            },
            At::Enter => match state.seats[usize::from(call.server)] {
                Some(_) if self.is_coalescing => call.at = At::Waiting,
                _ => {
                    if self.is_coalescing {
                        state.seats[usize::from(call.server)] = Some(call.id);
                    }
                    call.at = if self.has(Safeguard::SecondLookUp) { At::LookAgain } else { self.first_read() };
                }
            },
            At::LookAgain => match state.database.current().map(|row| state.database.answer(row)) {
                None => call.at = self.first_read(),
                Some(found) => return self.answer_found(state, call, found),
            },
            At::ReadRow => {
                let row = call.target.and_then(|id| state.database.row(id)).expect("rows stay");
                match row.successor {
                    Some(successor) => return answer_successor(state, call, successor),
                    None => call.at = self.first_read(),
                }
            }
            At::ReadHead => {
                call.inputs.revision = state.database.revision;
                call.at = At::ReadPlan;
            }
            At::ReadPlan => {
                call.inputs.plan = state.database.plan;
                call.at = At::ReadBlocks;
                if !self.has(Safeguard::RevisionsBeforeData) {
                    self.compute(state, &mut call);
                }
            }
            At::ReadBlocks => {
                (call.inputs.block_revision, call.inputs.readings) =
                    (state.database.block_revision, state.database.readings);
                if self.has(Safeguard::RevisionsBeforeData) {
                    self.compute(state, &mut call);
                } else {
                    call.at = At::ReadHead;
                }
            }
            At::Lock if !self.has(Safeguard::CheckInNewStatement) => call.at = At::LockSince(state.database.plan),
            At::Lock | At::LockSince(_) => return self.lock(state, call),
            At::CheckPlan => return self.check_plan(state, call, state.database.plan),
            At::Update => {
                let old = call.target.and_then(|id| state.database.row(id)).expect("rows stay");
                if old.successor.is_some() {
                    return fail(state, &call, &Failure::Internal);
                }
                call.at = At::Insert;
                call.transaction.as_mut().expect("it is open").supersede = call.target;
                if !self.has(Safeguard::SingleTransaction) {
                    let first = call.transaction.take().expect("it is open");
                    call.transaction = Some(Transaction { owner: call.id, ..Transaction::default() });
                    state.commit(first);
                }
            }
            At::Insert => return self.insert(state, call),
            At::Commit => {
                let transaction = call.transaction.take().expect("it is open");
                state.commit(transaction);
                call.at = At::Answer;
            }
            At::Unsure => {
                let is_import = matches!(call.op, Op::Import(_));
                let is_stored = if is_import {
                    state.database.imports.iter().any(|(id, _)| *id == call.id)
                } else {
                    call.answer.is_some_and(|made| made.is_created) && state.database.row(call.id).is_some()
                };
                if is_stored && self.has(Safeguard::AskWhetherStored) {
                    call.at = At::Answer;
                } else {
                    // The unit is run again, in the transaction that holds the head already.
                    call.answer = None;
                    call.at = if is_import { At::LockHead } else { At::Lock };
                    if self.is_blocked(state, &call) {
                        state.put(call);
                    } else {
                        self.go(state, call);
                    }
                    return;
                }
            }
            At::Winner => match state.database.current().map(|row| state.database.answer(row)) {
                Some(found) => return self.answer_found(state, call, found),
                None => return self.again(state, call),
            },
            At::ById => match state.database.row(call.id).map(|row| state.database.answer(row)) {
                Some(own) => return end(state, &call, Answer { is_created: true, ..own }),
                None => call.at = At::InItsPlace,
            },
            At::InItsPlace => return self.in_its_place(state, call),
            At::LockHead => {
                let transaction = call.transaction.get_or_insert_with(Transaction::default);
                (transaction.owner, transaction.holds_head) = (call.id, true);
                call.at = if self.has(Safeguard::LockBeforeMerge) { At::Merge } else { At::Mark };
            }
            At::Merge => return self.merge(state, call),
            At::Mark => {
                let marks = to_mark(state, &call);
                let transaction = call.transaction.get_or_insert_with(Transaction::default);
                (transaction.owner, transaction.marks) = (call.id, marks);
                call.at = if self.has(Safeguard::LockBeforeMark) { At::Commit } else { At::LockHead };
            }
            At::Answer => {
                let answer = call.answer.expect("what was committed is known");
                return end(state, &call, answer);
            }
            At::Waiting => unreachable!("the leader wakes it"),
        }
        state.put(call);
    }

    fn first_read(&self) -> At {
        if self.has(Safeguard::RevisionsBeforeData) { At::ReadHead } else { At::ReadBlocks }
    }

    /// On the service's own threads: nobody sees it but those who count.
    fn compute(&self, state: &mut State, call: &mut Call) {
        call.inputs.revision = call.inputs.revision.max(call.inputs.block_revision);
        if self.counts_computations {
            state.n_computations[usize::from(call.server)] += 1;
        }
        if !self.has(Safeguard::SeatUntilCommit) {
            leave(state, call);
        }
        call.at = At::Lock;
    }

    /// The head's lock, and in its transaction: the old row, and the usage. They change only under that lock.
    fn lock(&self, state: &mut State, mut call: Call) {
        if let Some(old) = call.target.and_then(|id| state.database.row(id))
            && old.successor.is_some()
        {
            call.at = At::ReadRow;
            call.inputs = Inputs::default();
            return state.put(call);
        }
        if self.has(Safeguard::InputCheck) && state.database.is_usage_changed(call.inputs) {
            return self.again(state, call);
        }
        (call.inputs.revision, call.inputs.block_revision) = (state.database.revision, state.database.block_revision);
        call.transaction = Some(Transaction {
            owner: call.id,
            holds_head: self.has(Safeguard::LockBeforeCheck),
            plan_before: state.database.plan,
            ..Transaction::default()
        });
        match call.at {
            At::LockSince(plan) => self.check_plan(state, call, plan),
            _ => {
                call.at = At::CheckPlan;
                state.put(call);
            }
        }
    }

    fn check_plan(&self, state: &mut State, mut call: Call, newest: u8) {
        if self.has(Safeguard::InputCheck) && newest > call.inputs.plan {
            return self.again(state, call);
        }
        let old = call.target.and_then(|id| state.database.row(id));
        let is_same = old.is_some_and(|old| (old.readings, old.plan) == (call.inputs.readings, call.inputs.plan));
        if is_same && call.op != Op::ForceSupersede {
            call.transaction.as_mut().expect("it is open").refresh = call.target;
            call.answer = call.target.map(|id| Answer { id, is_fresh: true, is_created: false });
            call.at = At::Commit;
        } else {
            call.at = if old.is_some() { At::Update } else { At::Insert };
        }
        state.put(call);
    }

    fn insert(&self, state: &mut State, mut call: Call) {
        let own = call.transaction.as_mut().expect("it is open");
        let is_conflict =
            state.database.rows.iter().any(|row| row.successor.is_none() && own.supersede != Some(row.id));
        if is_conflict && self.has(Safeguard::PartialIndex) {
            if call.target.is_some() {
                return fail(state, &call, &Failure::Internal);
            }
            call.transaction = None;
            call.at = At::Winner;
            return state.put(call);
        }
        own.insert = Some(Row {
            id: call.id,
            readings: call.inputs.readings,
            plan: call.inputs.plan,
            is_marked: false,
            predecessor: call.target,
            successor: None,
        });
        let made = Answer { id: call.id, is_fresh: true, is_created: true };
        call.answer = Some(made);
        call.at = At::Commit;
        if !self.has(Safeguard::AnswerAfterCommit) {
            tell(state, &call, made);
            call.client = None;
        }
        state.put(call);
    }

    fn merge(&self, state: &mut State, mut call: Call) {
        let Op::Import(change) = call.op else { unreachable!("only imports merge") };
        let before = state.database.readings;
        let after = match change {
            Change::Set(bit) => before | bit,
            Change::TakeBack(bit) => before & !bit,
            Change::Beside | Change::Elsewhere => before,
        };
        let is_changed = after != before || matches!(change, Change::Beside | Change::Elsewhere);
        let transaction = call.transaction.get_or_insert_with(Transaction::default);
        transaction.owner = call.id;
        transaction.usage = is_changed.then_some((after, change));
        transaction.import = Some(is_changed);
        call.answer = Some(Answer { id: call.id, is_fresh: false, is_created: is_changed });
        call.at = if !self.has(Safeguard::LockBeforeMerge) {
            At::LockHead
        } else if !is_changed || !self.has(Safeguard::LockBeforeMark) {
            At::Commit
        } else {
            At::Mark
        };
        state.put(call);
    }

    /// Every try to write failed, one of them perhaps not: not there by its id; what stands in its place?
    fn in_its_place(&self, state: &mut State, call: Call) {
        let found = match call.target {
            Some(old) => state.database.row(old).and_then(|old| old.successor),
            None => state.database.current().map(|row| row.id),
        };
        let Some(row) = found.and_then(|id| state.database.row(id)) else {
            return fail(state, &call, &Failure::Repeat);
        };
        let mut found = state.database.answer(row);
        found.is_created = found.id == call.id && self.has(Safeguard::OwnIdIsOwn);
        if call.target.is_some() {
            answer_superseded(state, call, found);
        } else {
            self.answer_found(state, call, found);
        }
    }

    /// Inputs have changed under the computation.
    fn again(&self, state: &mut State, mut call: Call) {
        call.transaction = None;
        call.inputs = Inputs::default();
        if call.retries == self.max_retries {
            return fail(state, &call, &Failure::Repeat);
        }
        call.retries += 1;
        call.at = if call.target.is_some() { At::ReadRow } else { self.first_read() };
        state.put(call);
    }

    /// A row that another made between two steps of this call.
    fn answer_found(&self, state: &mut State, call: Call, found: Answer) {
        let is_wanted = call.op != Op::CompareFresh || found.is_fresh || found.is_created;
        if is_wanted || !self.has(Safeguard::FreshMeansFresh) {
            return end(state, &call, found);
        }
        look_up_again(state, call);
    }
}

/// Current rows without a mark whose window the import touches.
fn to_mark(state: &State, call: &Call) -> Vec<Id> {
    match call.op {
        Op::Import(Change::Set(_) | Change::TakeBack(_)) => {
            let rows = state.database.rows.iter();
            rows.filter(|row| row.successor.is_none() && !row.is_marked).map(|row| row.id).collect()
        }
        _ => Vec::new(),
    }
}
