//! The history of one question: what was called when, what came back, and whether one order of the calls, each at an
//! instant between its beginning and its end, explains every answer.
//!
//! The rule that the answers are held against is [`Key`]: one question without anybody else. A call without an answer
//! (a killed server, a cut connection, a caller that gave up, 503) may have done its work at any later time, or never.

use std::time::Instant;

use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};
use uuid::Uuid;

/// What a caller may do about one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Compare,
    /// Compare with `?if_stale=supersede`.
    CompareAnew,
    Supersede {
        id: Uuid,
        force: bool,
    },
    Read {
        id: Uuid,
    },
    /// The readings that ever change get this value.
    Import {
        value: u32,
    },
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Row(Seen),
    Imported { before: i64, after: i64 },
    NoSuchRow,
}

/// A comparison as it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: Uuid,
    /// The call was told that it made the row (201).
    pub(crate) created: bool,
    pub(crate) usage_revision: i64,
    /// Of the changing readings, as the result has it.
    pub(crate) value: u32,
    pub(crate) is_stale: bool,
    pub(crate) predecessor: Option<Uuid>,
    pub(crate) successor: Option<Uuid>,
}

/// One question, its answers and its customer's readings, as one caller alone would see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    usage_revision: i64,
    value: u32,
    /// Plans change besides: whether a row is stale, and whether it is replaced, is not known here.
    is_moving: bool,
    /// The chain; the last one is current.
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// `None`: made by a call without an answer; the first answer with it says what it is.
    id: Option<Uuid>,
    usage_revision: i64,
    value: u32,
    is_stale: bool,
}

impl Key {
    /// A question that nobody has asked.
    pub(crate) fn new(usage_revision: i64, value: u32, is_moving: bool) -> Self {
        Self { usage_revision, value, is_moving, rows: Vec::new() }
    }

    /// Does a call. With an answer: whether it can be that of this call now.
    fn apply(&mut self, call: Call, said: Option<&Said>) -> bool {
        let seen = match said {
            Some(Said::NoSuchRow) => return false,
            Some(Said::Row(seen)) => Some(seen),
            Some(Said::Imported { .. }) | None => None,
        };
        match call {
            Call::Import { value } => {
                let before = self.usage_revision;
                self.import(value);
                match said {
                    Some(Said::Imported { before: b, after: a }) => (*b, *a) == (before, self.usage_revision),
                    Some(_) => false,
                    None => true,
                }
            }
            Call::Compare | Call::CompareAnew if self.rows.is_empty() => {
                self.add();
                self.can_be_seen(0, seen, true)
            }
            Call::Compare => self.can_be_seen(self.rows.len() - 1, seen, false),
            Call::CompareAnew if !self.is_moving && self.rows.last().is_some_and(|row| !row.is_stale) => {
                self.can_be_seen(self.rows.len() - 1, seen, false)
            }
            Call::CompareAnew => self.replace(false, seen),
            Call::Supersede { id, force } => match self.place(id) {
                None => false,
                Some(place) if place + 1 < self.rows.len() => self.can_be_seen(place + 1, seen, false),
                Some(_) => self.replace(force, seen),
            },
            Call::Read { id } => self.place(id).is_some_and(|place| self.can_be_seen(place, seen, false)),
        }
    }

    fn import(&mut self, value: u32) {
        if self.value != value {
            self.value = value;
            self.usage_revision += 1;
            if let Some(current) = self.rows.last_mut() {
                current.is_stale = true;
            }
        }
    }

    fn add(&mut self) {
        self.rows.push(Row { id: None, usage_revision: self.usage_revision, value: self.value, is_stale: false });
    }

    /// Replaces the current row if its inputs differ; else it is as if made now.
    fn replace(&mut self, force: bool, seen: Option<&Seen>) -> bool {
        let (usage_revision, value) = (self.usage_revision, self.value);
        let Some(current) = self.rows.last_mut() else { return false };
        let is_changed = current.value != value;
        let is_new = force || is_changed || (self.is_moving && seen.is_none_or(|seen| seen.created));
        if is_new {
            self.add();
        } else if !self.is_moving {
            (current.usage_revision, current.is_stale) = (usage_revision, false);
        }
        self.can_be_seen(self.rows.len() - 1, seen, is_new)
    }

    fn place(&self, id: Uuid) -> Option<usize> {
        self.rows.iter().position(|row| row.id == Some(id))
    }

    /// Whether an answer can be this row as it is now. One that nobody has seen yet gets the id that is seen.
    fn can_be_seen(&mut self, place: usize, seen: Option<&Seen>, created: bool) -> bool {
        let Some(seen) = seen else { return true };
        let is_current = place + 1 == self.rows.len();
        let links = [
            (Some(place), Some(seen.id)),
            (place.checked_sub(1), seen.predecessor),
            (Some(place + 1).filter(|_| !is_current), seen.successor),
        ];
        if seen.created != created || !links.into_iter().all(|(place, id)| self.is_named(place, id)) {
            return false;
        }
        let (newest, is_moving) = (self.usage_revision, self.is_moving);
        let row = &mut self.rows[place];
        if seen.value != row.value {
            return false;
        }
        if is_moving {
            // A repeat that found nothing changed may have moved the recorded revision on.
            let possible = row.usage_revision..=newest;
            let is_possible = possible.contains(&seen.usage_revision) && (!created || seen.usage_revision == newest);
            row.usage_revision = seen.usage_revision;
            return is_possible;
        }
        seen.usage_revision == row.usage_revision && (!is_current || seen.is_stale == row.is_stale)
    }

    /// Whether the row at a place, or none, can have this id.
    fn is_named(&mut self, place: Option<usize>, id: Option<Uuid>) -> bool {
        match (place, id) {
            (None, None) => true,
            (Some(place), Some(id)) => match self.rows[place].id {
                Some(known) => known == id,
                None if self.place(id).is_some() => false,
                None => {
                    self.rows[place].id = Some(id);
                    true
                }
            },
            _ => false,
        }
    }
}

impl SequentialSpec for Key {
    type Op = Call;
    /// `None`: there was no answer.
    type Ret = Option<Said>;

    fn invoke(&mut self, call: &Call) -> Option<Said> {
        self.apply(*call, None);
        None
    }

    fn is_valid_step(&mut self, call: &Call, said: &Option<Said>) -> bool {
        self.apply(*call, said.as_ref())
    }
}

/// One call of one caller, who makes one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    pub(crate) caller: usize,
    pub(crate) call: Call,
    pub(crate) begun: Instant,
    /// `None`: without an answer.
    pub(crate) ended: Option<(Instant, Said)>,
}

/// Whether some order of the calls explains every answer.
pub(crate) fn is_explained(key: &Key, history: &[Recorded]) -> bool {
    const CALLERS: usize = 1000;
    // At the same instant what ends comes first: it was over when its end was written down, the other had not begun.
    let mut events: Vec<(Instant, bool, usize)> = Vec::with_capacity(2 * history.len());
    for (i, recorded) in history.iter().enumerate() {
        events.push((recorded.begun, true, i));
        events.extend(recorded.ended.map(|(at, _)| (at, false, i)));
    }
    events.sort_unstable();
    let mut tester = LinearizabilityTester::new(key.clone());
    // Whose call is never answered goes on as somebody else; the call stays open.
    let mut names: Vec<usize> = (0..CALLERS).collect();
    let recorded = events.into_iter().try_for_each(|(_, is_begin, i)| {
        let Recorded { caller, call, ended, .. } = history[i];
        match ended {
            Some((_, said)) if !is_begin => tester.on_return(names[caller], Some(said)).map(|_| ()),
            _ => {
                tester.on_invoke(names[caller], call)?;
                if ended.is_none() {
                    names[caller] += CALLERS;
                }
                Ok(())
            }
        }
    });
    recorded.expect("a caller makes one call after the other");
    tester.is_consistent()
}

/// The calls in the order in which they began, for a person.
pub(crate) fn told(history: &[Recorded]) -> String {
    let Some(first) = history.iter().map(|recorded| recorded.begun).min() else { return String::new() };
    let mut history = history.to_vec();
    history.sort_by_key(|recorded| recorded.begun);
    let micros = |at: Instant| at.duration_since(first).as_micros();
    let line = |recorded: &Recorded| {
        let Recorded { caller, call, begun, ended } = recorded;
        let end = ended.map_or("no answer".to_owned(), |(at, said)| format!("{}: {said:?}", micros(at)));
        format!("  caller {caller}, {} to {end}\n      {call:?}\n", micros(*begun))
    };
    history.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);
    const C: Uuid = Uuid::from_u128(3);

    fn row(id: Uuid, created: bool, usage_revision: i64) -> Seen {
        Seen { id, created, usage_revision, value: 1, is_stale: false, predecessor: None, successor: None }
    }

    /// A history written as (caller, call, begun, ended, said).
    fn is_possible(calls: &[(usize, Call, u64, u64, Option<Said>)]) -> bool {
        let zero = Instant::now();
        let at = |millis: u64| zero + Duration::from_millis(millis);
        let history: Vec<Recorded> = calls
            .iter()
            .map(|&(caller, call, begun, ended, said)| Recorded {
                caller,
                call,
                begun: at(begun),
                ended: said.map(|said| (at(ended), said)),
            })
            .collect();
        is_explained(&Key::new(1, 1, false), &history)
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a call was told, if anything")]
    fn made(id: Uuid) -> Option<Said> {
        Some(Said::Row(row(id, true, 1)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a call was told, if anything")]
    fn found(id: Uuid) -> Option<Said> {
        Some(Said::Row(row(id, false, 1)))
    }

    #[test]
    fn one_makes_the_row_and_all_get_it() {
        use Call::Compare;
        assert!(is_possible(&[
            (0, Compare, 0, 9, found(A)),
            (1, Compare, 1, 5, made(A)),
            (2, Compare, 6, 9, found(A))
        ]));
    }

    #[test]
    fn two_creators_of_one_key_are_rejected() {
        use Call::Compare;
        assert!(!is_possible(&[(0, Compare, 0, 5, made(A)), (1, Compare, 1, 6, made(B))]));
        assert!(!is_possible(&[(0, Compare, 0, 5, made(A)), (1, Compare, 1, 6, made(A))]), "the same row twice");
        assert!(!is_possible(&[(0, Compare, 0, 5, made(A)), (1, Compare, 6, 9, found(B))]), "another row");
    }

    #[test]
    fn a_row_is_not_found_before_it_is_made() {
        use Call::Compare;
        assert!(!is_possible(&[(0, Compare, 0, 2, found(A)), (1, Compare, 3, 5, made(A))]));
    }

    #[test]
    fn a_lost_row_is_rejected() {
        let compared = (0, Call::Compare, 0, 1, made(A));
        assert!(is_possible(&[compared, (0, Call::Read { id: A }, 2, 3, found(A))]));
        assert!(!is_possible(&[compared, (0, Call::Read { id: A }, 2, 3, Some(Said::NoSuchRow))]));
    }

    #[test]
    fn a_call_without_an_answer_may_have_been_done_later_or_never() {
        let unanswered = (0, Call::Compare, 0, 0, None);
        assert!(is_possible(&[unanswered, (0, Call::Compare, 1, 2, made(A))]), "never");
        assert!(is_possible(&[unanswered, (0, Call::Compare, 1, 2, found(A))]), "before");
        let imported = |before, after| Some(Said::Imported { before, after });
        let unanswered = (0, Call::Import { value: 2 }, 0, 0, None);
        let other = (1, Call::Import { value: 1 }, 1, 2, imported(1, 1));
        assert!(is_possible(&[unanswered, other, (1, Call::Import { value: 2 }, 3, 4, imported(2, 2))]), "in between");
        assert!(!is_possible(&[unanswered, other, (1, Call::Import { value: 2 }, 3, 4, imported(3, 3))]), "once");
    }

    #[test]
    fn a_lost_import_is_rejected() {
        let import = |value| Call::Import { value };
        let imported = |before, after| Some(Said::Imported { before, after });
        let first = (0, import(2), 0, 1, imported(1, 2));
        assert!(is_possible(&[first, (0, import(3), 2, 3, imported(2, 3))]));
        assert!(!is_possible(&[first, (0, import(3), 2, 3, imported(1, 2))]));
        let stale = Seen { is_stale: true, ..row(A, false, 1) };
        let compared = [(0, Call::Compare, 0, 1, made(A)), (0, import(2), 2, 3, imported(1, 2))];
        assert!(is_possible(&[compared[0], compared[1], (1, Call::Compare, 4, 5, Some(Said::Row(stale)))]));
        assert!(!is_possible(&[compared[0], compared[1], (1, Call::Compare, 4, 5, found(A))]), "said to be fresh");
    }

    #[test]
    fn a_successor_is_one_and_follows_its_row() {
        let force = Call::Supersede { id: A, force: true };
        let compared = (0, Call::Compare, 0, 1, made(A));
        let second = Seen { predecessor: Some(A), ..row(B, true, 1) };
        let superseded = (0, force, 2, 5, Some(Said::Row(second)));
        let again = |id, created| Some(Said::Row(Seen { id, created, ..second }));
        assert!(is_possible(&[compared, superseded, (1, force, 3, 6, again(B, false))]));
        assert!(!is_possible(&[compared, superseded, (1, force, 3, 6, again(C, true))]), "two successors");
        assert!(!is_possible(&[compared, superseded, (1, force, 6, 7, again(C, false))]), "another one later");
        assert!(!is_possible(&[compared, superseded, (1, Call::Compare, 6, 7, found(A))]), "the old one stands");
        let read = |successor| Some(Said::Row(Seen { successor, ..row(A, false, 1) }));
        assert!(is_possible(&[compared, superseded, (1, Call::Read { id: A }, 6, 7, read(Some(B)))]));
        assert!(!is_possible(&[compared, superseded, (1, Call::Read { id: A }, 6, 7, read(None))]), "a stale link");
    }

    #[test]
    fn a_row_is_made_from_the_readings_of_its_revision() {
        let import = (0, Call::Import { value: 2 }, 0, 1, Some(Said::Imported { before: 1, after: 2 }));
        let made = |usage_revision, value| Some(Said::Row(Seen { value, ..row(A, true, usage_revision) }));
        assert!(is_possible(&[import, (0, Call::Compare, 2, 3, made(2, 2))]));
        assert!(!is_possible(&[import, (0, Call::Compare, 2, 3, made(2, 1))]), "old readings under a new revision");
        assert!(!is_possible(&[import, (0, Call::Compare, 2, 3, made(1, 1))]), "old readings");
        assert!(is_possible(&[import, (1, Call::Compare, 0, 3, made(1, 1))]), "before the import");
    }

    #[test]
    fn a_row_whose_inputs_are_the_same_is_kept() {
        let compared = (0, Call::Compare, 0, 1, made(A));
        let supersede = Call::Supersede { id: A, force: false };
        let second = Some(Said::Row(Seen { predecessor: Some(A), ..row(B, true, 1) }));
        assert!(is_possible(&[compared, (0, supersede, 2, 3, found(A))]));
        assert!(!is_possible(&[compared, (0, supersede, 2, 3, second)]));
    }
}
