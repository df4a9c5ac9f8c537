//! The world that is explored: who asks what of which server, what may go wrong, and which safeguard is off.

use stateright::{Model, Property};

use crate::answers::{Failure, fail};
use crate::properties;
use crate::state::{At, Call, Client, Database, Id, Op, Start, State};

/// Each protection of the protocol, to be taken away one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safeguard {
    /// Inputs are compared again in the transaction that stores.
    InputCheck,
    /// One current row a key.
    PartialIndex,
    /// The old row's end and its successor are one transaction.
    SingleTransaction,
    RevisionsBeforeData,
    /// An import reads what it merges into after it has the head.
    LockBeforeMerge,
    /// An import marks after it has the head.
    LockBeforeMark,
    /// Who stores a comparison takes the head.
    LockBeforeCheck,
    /// Plan versions are read in a statement after the one that waited for the head.
    CheckInNewStatement,
    SecondLookUp,
    /// The leader leaves the map only after its commit.
    SeatUntilCommit,
    /// Nobody is answered before COMMIT.
    AnswerAfterCommit,
    /// After an error of COMMIT the database is asked before the unit is run again.
    AskWhetherStored,
    /// And asked under the head's lock.
    AskUnderLock,
    /// A row found with the id that this call made counts as its own.
    OwnIdIsOwn,
    /// Who asked for fresh numbers and lost the race to a row that is stale by now looks again.
    FreshMeansFresh,
}

/// A world to be explored.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    /// By client: its server, what it asks for one after the other.
    pub(crate) clients: Vec<(u8, Vec<Op>)>,
    pub(crate) start: Start,
    /// How often a server may be killed, an answer of COMMIT lost, a client hang up.
    pub(crate) crashes: u8,
    pub(crate) losses: u8,
    pub(crate) hang_ups: u8,
    pub(crate) is_coalescing: bool,
    /// SQLite: whoever writes has the whole database.
    pub(crate) one_writer: bool,
    pub(crate) counts_computations: bool,
    /// How often inputs are read again (the code: 3).
    pub(crate) max_retries: u8,
    pub(crate) without: Option<Safeguard>,
    /// The one property that is checked; `None`: all.
    pub(crate) only: Option<&'static str>,
    /// What has to be possible in it, of [`properties::REACHED`].
    pub(crate) reaches: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client's next call arrives and takes its first step.
    Ask(u8),
    /// A call takes its next step.
    Go(Id),
    /// COMMIT gives an error.
    Lose(Id, Loss),
    /// Every try to find out has failed.
    GiveUp(Id),
    /// A commit that was under way ends.
    Drift(usize, bool),
    HangUp(u8),
    /// A server is killed and started again.
    Crash(u8),
}

/// What became of a transaction whose COMMIT gave an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    RolledBack,
    Committed,
    /// It is still under way.
    Adrift,
}

impl Protocol {
    pub(crate) fn has(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    fn n_servers(&self) -> usize {
        self.clients.iter().map(|(server, _)| usize::from(*server) + 1).max().unwrap_or(0)
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let database = Database::new(self.start);
        vec![State {
            history: vec![(database.readings, database.plan)],
            readings_due: database.readings,
            database,
            adrift: Vec::new(),
            seats: vec![None; self.n_servers()],
            calls: Vec::new(),
            clients: vec![Client::default(); self.clients.len()],
            crashes_left: self.crashes,
            losses_left: self.losses,
            hang_ups_left: self.hang_ups,
            acknowledged: Vec::new(),
            n_computations: vec![0; if self.counts_computations { self.n_servers() } else { 0 }],
            broken: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (client, (state_of, (_, script))) in (0..).zip(state.clients.iter().zip(&self.clients)) {
            let is_asking = state.calls.iter().any(|call| call.client == Some(client));
            let next = script.get(state_of.n_done);
            let may_write = !(self.one_writer && next == Some(&Op::PutPlan)) || state.transactions().next().is_none();
            if !is_asking && next.is_some() && may_write {
                actions.push(Action::Ask(client));
            }
            if state.hang_ups_left > 0
                && state.calls.iter().any(|call| call.client == Some(client) && is_detached(state, call))
            {
                actions.push(Action::HangUp(client));
            }
        }
        for call in &state.calls {
            if !self.is_blocked(state, call) {
                actions.push(Action::Go(call.id));
                if call.at == At::Commit && state.losses_left > 0 {
                    actions.extend(
                        [Loss::RolledBack, Loss::Committed, Loss::Adrift].map(|loss| Action::Lose(call.id, loss)),
                    );
                }
            }
            if call.at == At::Unsure && state.losses_left > 0 {
                actions.push(Action::GiveUp(call.id));
            }
        }
        for place in 0..state.adrift.len() {
            actions.extend([true, false].map(|is_committed| Action::Drift(place, is_committed)));
        }
        if state.crashes_left > 0 {
            for server in (0..).take(self.n_servers()) {
                if state.calls.iter().any(|call| call.server == server) {
                    actions.push(Action::Crash(server));
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        let take = |state: &mut State, id| {
            let place = state.calls.iter().position(|call| call.id == id).expect("it is under way");
            state.calls.remove(place)
        };
        match action {
            Action::Ask(client) => self.ask(&mut state, client),
            Action::Go(id) => {
                let call = take(&mut state, id);
                self.go(&mut state, call);
            }
            Action::Lose(id, loss) => {
                state.losses_left -= 1;
                let mut call = take(&mut state, id);
                let transaction = call.transaction.take().expect("it is open");
                match loss {
                    Loss::RolledBack => {}
                    Loss::Committed => state.commit(transaction),
                    Loss::Adrift => state.adrift.push(transaction),
                }
                call.at = At::Unsure;
                state.put(call);
            }
            Action::GiveUp(id) => {
                state.losses_left -= 1;
                let mut call = take(&mut state, id);
                if matches!(call.op, Op::Import(_)) {
                    fail(&mut state, &call, &Failure::Repeat);
                } else {
                    (call.at, call.answer) = (At::ById, None);
                    state.put(call);
                }
            }
            Action::Drift(place, is_committed) => {
                let transaction = state.adrift.remove(place);
                if is_committed {
                    state.commit(transaction);
                }
            }
            Action::HangUp(client) => {
                state.hang_ups_left -= 1;
                for call in state.calls.iter_mut().filter(|call| call.client == Some(client)) {
                    call.client = None;
                }
            }
            Action::Crash(server) => {
                state.crashes_left -= 1;
                state.seats[usize::from(server)] = None;
                state.calls.retain(|call| call.server != server);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

/// What runs on when its client is gone.
fn is_detached(state: &State, call: &Call) -> bool {
    !matches!(call.at, At::LookUp | At::Enter | At::Waiting) || state.seats[usize::from(call.server)] == Some(call.id)
}
