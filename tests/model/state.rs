//! What there is: the database, what the servers hold in memory, the calls under way, and what was promised to whom.
//!
//! One customer, one natural key. Another customer has another head, and another key another entry of the index: nothing
//! of the protocol passes between them.

/// A call; also the id of the row that it may store (`ComparisonId`), or of its import.
pub(crate) type Id = u8;

/// The row that may be there at the beginning.
pub(crate) const FIRST: Id = 0xF0;

/// The reading that was corrected before the beginning where the first row is stale.
const CORRECTED: u8 = 0x80;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// `?if_stale=answer`.
    Compare,
    /// `?if_stale=supersede`.
    CompareFresh,
    /// Of the row that the client was answered last, else of the first row.
    Supersede,
    /// The same with `"force": true`.
    ForceSupersede,
    Import(Change),
    /// A new version of the plan.
    PutPlan,
}

/// What an import does to the readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// Merges a reading of the input window, named by its bit.
    Set(u8),
    /// Takes it away again (a revert).
    TakeBack(u8),
    /// Writes the block of the window's month, but no reading of the window.
    Beside,
    /// Writes another month.
    Elsewhere,
}

/// A stored comparison. Its `result` bytes are a function of the readings and the plan version it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) id: Id,
    pub(crate) readings: u8,
    pub(crate) plan: u8,
    /// `stale_since` is set.
    pub(crate) is_marked: bool,
    pub(crate) predecessor: Option<Id>,
    /// `None`: current.
    pub(crate) successor: Option<Id>,
}

/// What is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Database {
    /// Usage revision of the customer's head.
    pub(crate) revision: u8,
    /// Revision that wrote the block of the window's month.
    pub(crate) block_revision: u8,
    /// The readings in it: a bit each.
    pub(crate) readings: u8,
    /// Newest version of the plan.
    pub(crate) plan: u8,
    /// The log of usage revisions: whether the first, second, … touched the window.
    pub(crate) log: Vec<bool>,
    /// Sorted by id.
    pub(crate) rows: Vec<Row>,
    /// Records of imports, sorted, and whether they changed anything.
    pub(crate) imports: Vec<(Id, bool)>,
}

/// What a computation has read, and records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inputs {
    pub(crate) revision: u8,
    pub(crate) block_revision: u8,
    pub(crate) readings: u8,
    pub(crate) plan: u8,
}

/// A transaction that is open: what it holds and what it has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Transaction {
    pub(crate) owner: Id,
    pub(crate) holds_head: bool,
    /// Newest plan version when the head was had.
    pub(crate) plan_before: u8,
    pub(crate) insert: Option<Row>,
    pub(crate) supersede: Option<Id>,
    pub(crate) refresh: Option<Id>,
    pub(crate) marks: Vec<Id>,
    /// The readings as they will be, and what was done to them.
    pub(crate) usage: Option<(u8, Change)>,
    /// The record of an import.
    pub(crate) import: Option<bool>,
}

impl Transaction {
    /// Whether it has updated this row: others that want to wait.
    pub(crate) fn has_locked(&self, row: Id) -> bool {
        self.supersede == Some(row) || self.refresh == Some(row) || self.marks.contains(&row)
    }
}

/// The next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    LookUp,
    Enter,
    /// Joined.
    Waiting,
    LookAgain,
    /// The row that is to be superseded.
    ReadRow,
    ReadHead,
    ReadPlan,
    ReadBlocks,
    /// BEGIN, the head, and what is checked under its lock.
    Lock,
    /// The same when the lock is waited for with a snapshot taken before (a safeguard is off).
    LockSince(u8),
    CheckPlan,
    Update,
    Insert,
    Commit,
    /// COMMIT gave an error.
    Unsure,
    /// The insert met a current row.
    Winner,
    /// Every try failed: what is stored under the own id?
    ById,
    /// And under the key; of a supersede, in the place of the old row?
    InItsPlace,
    LockHead,
    Merge,
    Mark,
    Answer,
}

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) id: Id,
    pub(crate) is_fresh: bool,
    /// 201; of an import: that it changed something.
    pub(crate) is_created: bool,
}

/// A call on a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) id: Id,
    /// `None`: hung up.
    pub(crate) client: Option<u8>,
    pub(crate) server: u8,
    pub(crate) op: Op,
    /// How many states the inputs had had when it arrived.
    pub(crate) since: usize,
    pub(crate) at: At,
    pub(crate) inputs: Inputs,
    pub(crate) retries: u8,
    /// The row that is to be superseded.
    pub(crate) target: Option<Id>,
    pub(crate) answer: Option<Answer>,
    pub(crate) transaction: Option<Transaction>,
}

/// A client works through its script and repeats what it got no answer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    pub(crate) n_done: usize,
    pub(crate) n_calls: u8,
    pub(crate) last: Option<Id>,
}

/// A promise broken in a step rather than in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Broken {
    FreshWithOldInputs,
    StoredOutdated,
    ToldWrongly,
    StaleAnswer,
    WrongRow,
    Internal,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) database: Database,
    /// Commits under way that nobody waits for any more.
    pub(crate) adrift: Vec<Transaction>,
    /// The leader of each server's computation.
    pub(crate) seats: Vec<Option<Id>>,
    /// Sorted by id.
    pub(crate) calls: Vec<Call>,
    pub(crate) clients: Vec<Client>,
    pub(crate) crashes_left: u8,
    pub(crate) losses_left: u8,
    pub(crate) hang_ups_left: u8,
    /// Every state that the inputs have had: readings and plan.
    pub(crate) history: Vec<(u8, u8)>,
    /// The readings as they would be if imports had come one after the other.
    pub(crate) readings_due: u8,
    /// Ids that clients were given, with what determines their bytes, sorted.
    pub(crate) acknowledged: Vec<(Id, u8, u8)>,
    /// By server, where they are counted.
    pub(crate) n_computations: Vec<u8>,
    pub(crate) broken: Vec<Broken>,
}

/// What is there before anybody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Empty,
    FreshRow,
    StaleRow,
}

impl Database {
    pub(crate) fn new(start: Start) -> Self {
        let is_corrected = start == Start::StaleRow;
        let revision = u8::from(is_corrected);
        let first =
            Row { id: FIRST, readings: 0, plan: 1, is_marked: is_corrected, predecessor: None, successor: None };
        Self {
            revision,
            block_revision: revision,
            readings: if is_corrected { CORRECTED } else { 0 },
            plan: 1,
            log: vec![true; usize::from(revision)],
            rows: if start == Start::Empty { Vec::new() } else { vec![first] },
            imports: Vec::new(),
        }
    }

    pub(crate) fn row(&self, id: Id) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    pub(crate) fn row_mut(&mut self, id: Id) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.id == id)
    }

    pub(crate) fn current(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.successor.is_none())
    }

    /// A row as it is seen now, in one statement: marked, or outdated by a plan version.
    pub(crate) fn answer(&self, row: &Row) -> Answer {
        let is_fresh = row.successor.is_none() && !row.is_marked && row.plan == self.plan;
        Answer { id: row.id, is_fresh, is_created: false }
    }

    /// Whether the usage that a question used has changed: same revision, same readings; else the block; else the log.
    pub(crate) fn is_usage_changed(&self, inputs: Inputs) -> bool {
        self.revision != inputs.revision
            && self.block_revision != inputs.block_revision
            && self.log.iter().skip(usize::from(inputs.revision)).any(|touches| *touches)
    }
}

impl State {
    pub(crate) fn put(&mut self, call: Call) {
        let place = self.calls.partition_point(|other| other.id < call.id);
        self.calls.insert(place, call);
    }

    pub(crate) fn call(&self, id: Id) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == id)
    }

    /// The transactions that are open, of calls and adrift.
    pub(crate) fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        self.calls.iter().filter_map(|call| call.transaction.as_ref()).chain(&self.adrift)
    }

    pub(crate) fn others(&self, than: Id) -> impl Iterator<Item = &Transaction> {
        // What is adrift was given up by its owner, which may be the one that asks.
        let of_calls = self.calls.iter().filter_map(|call| call.transaction.as_ref());
        of_calls.filter(move |transaction| transaction.owner != than).chain(&self.adrift)
    }

    pub(crate) fn is_head_free(&self, of: Id) -> bool {
        !self.others(of).any(|transaction| transaction.holds_head)
    }

    pub(crate) fn break_promise(&mut self, promise: Broken) {
        if !self.broken.contains(&promise) {
            self.broken.push(promise);
        }
    }

    /// COMMIT, as it is seen by everybody at once.
    pub(crate) fn commit(&mut self, transaction: Transaction) {
        let Transaction { owner, plan_before, insert, supersede, refresh, marks, usage, import, .. } = transaction;
        let database = &self.database;
        let stored = insert.as_ref().or_else(|| refresh.and_then(|id| database.row(id)));
        let is_outdated = stored.is_some_and(|row| row.readings != database.readings || row.plan < plan_before);
        let database = &mut self.database;
        if let Some(old) = supersede.and_then(|id| database.row_mut(id)) {
            old.successor = Some(owner);
        }
        if let Some(row) = refresh.and_then(|id| database.row_mut(id)) {
            row.is_marked = false;
        }
        for id in marks {
            if let Some(row) = database.row_mut(id).filter(|row| row.successor.is_none()) {
                row.is_marked = true;
            }
        }
        if let Some(row) = insert {
            let place = database.rows.partition_point(|other| other.id < row.id);
            database.rows.insert(place, row);
        }
        if let Some(is_changed) = import {
            match database.imports.iter_mut().find(|(id, _)| *id == owner) {
                Some((_, has_changed)) => *has_changed |= is_changed,
                None => {
                    let place = database.imports.partition_point(|(id, _)| *id < owner);
                    database.imports.insert(place, (owner, is_changed));
                }
            }
        }
        if let Some((readings, change)) = usage {
            database.revision += 1;
            if change != Change::Elsewhere {
                database.block_revision = database.revision;
            }
            let touches = matches!(change, Change::Set(_) | Change::TakeBack(_));
            database.log.push(touches);
            database.readings = readings;
            match change {
                Change::Set(bit) => self.readings_due |= bit,
                Change::TakeBack(bit) => self.readings_due &= !bit,
                Change::Beside | Change::Elsewhere => {}
            }
            if touches {
                self.history.push((database.readings, database.plan));
            }
        }
        if is_outdated {
            self.break_promise(Broken::StoredOutdated);
        }
    }
}
