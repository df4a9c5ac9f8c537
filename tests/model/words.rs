//! A path of the checker as a numbered schedule that can be read.

use stateright::Path;

use crate::protocol::{Action, Loss};
use crate::state::{Answer, At, Call, Change, FIRST, Id, Op, State};

/// One line a step.
pub(crate) fn schedule(path: Path<State, Action>) -> Vec<String> {
    let steps = path.into_vec();
    let pairs = steps.iter().zip(steps.iter().skip(1));
    pairs.filter_map(|((before, action), (after, _))| action.map(|action| line(before, action, after))).collect()
}

fn line(before: &State, action: Action, after: &State) -> String {
    match action {
        Action::Ask(client) => {
            let id = client * 16 + before.clients[usize::from(client)].n_calls;
            ask(id, after, before)
        }
        Action::Go(id) => {
            let call = before.call(id).expect("it is under way");
            match after.call(id).map(|call| call.at) {
                Some(At::LockSince(_)) => format!("{} begins and waits for the head", name(id)),
                _ => format!("{} {}{}", name(id), step(call.at, call, after), outcome(call, before, after)),
            }
        }
        Action::Lose(id, loss) => {
            let what = match loss {
                Loss::RolledBack => "is rolled back",
                Loss::Committed => "happens, its answer is lost",
                Loss::Adrift => "is under way, its connection breaks",
            };
            format!("{}'s commit {what}", name(id))
        }
        Action::GiveUp(id) => format!("{} cannot find out what became of it", name(id)),
        Action::Drift(place, is_committed) => {
            let what = if is_committed { "happens" } else { "is rolled back" };
            format!("{}'s commit, under way since, {what}", name(before.adrift[place].owner))
        }
        Action::HangUp(client) => format!("{} hangs up", name(client * 16)),
        Action::Crash(server) => format!("server {} is killed and started again", server + 1),
    }
}

/// The first step of a call.
fn ask(id: Id, after: &State, before: &State) -> String {
    let begun = after.call(id);
    let op = begun.map(|call| call.op);
    let on = begun.map_or_else(String::new, |call| format!(" server {}", call.server + 1));
    let what = match op {
        None if before.database.plan != after.database.plan => {
            return format!("{} stores version {} of the plan", name(id), after.database.plan);
        }
        None => "asks and is answered at once".to_owned(),
        Some(Op::Compare) => format!("asks{on} to compare, which looks up: no row"),
        Some(Op::CompareFresh) => format!("asks{on} to compare with if_stale=supersede, which looks up"),
        Some(Op::Supersede | Op::ForceSupersede) => {
            let row = begun.and_then(|call| call.target).map_or_else(String::new, row);
            format!("asks{on} to supersede {row}, which is read: current")
        }
        Some(Op::Import(change)) => {
            let what = match change {
                Change::Set(_) => "a reading of the window",
                Change::TakeBack(_) => "the removal of a reading",
                Change::Beside => "a reading of the window's month, outside of it",
                Change::Elsewhere => "a reading of another month",
            };
            let first = match begun.map(|call| call.at) {
                Some(At::Merge) => "locks the head",
                Some(At::Commit | At::Mark) => "reads and writes the block",
                Some(At::LockHead) if begun.is_some_and(|call| call.answer.is_some()) => "reads the block and merges",
                Some(At::LockHead) if begun.is_some_and(|call| call.transaction.is_some()) => "marks current rows",
                _ => "waits for the head",
            };
            format!("asks{on} to import {what}, which {first}")
        }
        Some(Op::PutPlan) => String::new(),
    };
    format!("{} {what}", name(id))
}

fn step(at: At, call: &Call, after: &State) -> String {
    let database = &after.database;
    match at {
        At::LookUp => "looks up".to_owned(),
        At::Enter => match after.seats[usize::from(call.server)] {
            Some(leader) if leader != call.id => format!("joins {}'s computation", name(leader)),
            _ => "leads a computation".to_owned(),
        },
        At::LookAgain => "looks up again".to_owned(),
        At::ReadRow => "reads the row".to_owned(),
        At::ReadHead => format!("reads the head (usage revision {})", database.revision),
        At::ReadPlan => format!("reads the plan (version {})", database.plan),
        At::ReadBlocks => format!("reads the readings (of revision {})", database.block_revision),
        At::LockSince(_) => "has the head; compares the usage and, as of when it began to wait, the plan".to_owned(),
        At::Lock => "begins, locks the head and compares the usage".to_owned(),
        At::CheckPlan => "compares the plan versions".to_owned(),
        At::Update => "ends the old row".to_owned(),
        At::Insert => "inserts".to_owned(),
        At::Commit => "commits".to_owned(),
        At::Unsure => "asks whether it was stored".to_owned(),
        At::Winner => "reads the winner".to_owned(),
        At::ById => "reads by its own id".to_owned(),
        At::InItsPlace => "reads what stands in its place".to_owned(),
        At::LockHead => "locks the head".to_owned(),
        At::Merge => "reads and writes the block".to_owned(),
        At::Mark => "marks current rows".to_owned(),
        At::Answer => "answers".to_owned(),
        At::Waiting => "waits".to_owned(),
    }
}

/// What came of a step.
fn outcome(call: &Call, before: &State, after: &State) -> String {
    let Some(now) = after.call(call.id) else {
        let told = call.client.is_some_and(|client| {
            after.clients[usize::from(client)].n_done > before.clients[usize::from(client)].n_done
        });
        if !told {
            return if call.client.is_some() { ": 503, repeat".to_owned() } else { ": nobody is there".to_owned() };
        }
        return match call.op {
            Op::Import(_) => ", done".to_owned(),
            _ if call.answer.is_some() => answered(call.answer),
            _ => {
                let last = call.client.and_then(|client| after.clients[usize::from(client)].last);
                last.map_or_else(String::new, |id| format!(": answered {}", row(id)))
            }
        };
    };
    match now.at {
        At::Winner => ": a current row is there".to_owned(),
        _ if now.retries > call.retries => ": changed, once more".to_owned(),
        At::Enter | At::ReadHead | At::ReadBlocks if matches!(call.at, At::LookUp | At::LookAgain) => {
            ": no row".to_owned()
        }
        At::ReadRow if call.at == At::Lock => ": superseded before".to_owned(),
        At::ReadRow if call.at == At::LookUp => ": stale, to be superseded".to_owned(),
        At::ReadHead | At::ReadBlocks if call.at == At::ReadRow => ": current".to_owned(),
        At::Lock if call.at == At::ReadBlocks || call.at == At::ReadPlan => " and computes".to_owned(),
        At::Lock | At::LockSince(_) if call.at == At::Unsure => ": not there, once more".to_owned(),
        At::CheckPlan if call.at == At::Unsure => ": not there; once more, and the usage is the same".to_owned(),
        At::ReadRow if call.at == At::Unsure => ": not there; once more, superseded before".to_owned(),
        _ => String::new(),
    }
}

fn answered(answer: Option<Answer>) -> String {
    answer.map_or_else(String::new, |answer| {
        let status = if answer.is_created { "201" } else { "200" };
        let freshness = if answer.is_fresh { "fresh" } else { "stale" };
        format!(": {status}, {}, {freshness}", row(answer.id))
    })
}

/// A client's letter, with the number of its call where it repeats.
fn name(id: Id) -> String {
    let letter = char::from(b'A' + id / 16);
    match id % 16 {
        0 => letter.to_string(),
        n => format!("{letter}{}", n + 1),
    }
}

fn row(id: Id) -> String {
    if id == FIRST { "the first row".to_owned() } else { format!("{}'s row", name(id)) }
}
