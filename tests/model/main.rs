//! The protocol of `src/comparison/protocol.md` as a model, of which every interleaving is tried.
//!
//! * `protocol.rs`: the world that is explored; `steps.rs` and `answers.rs`: the steps as the code has them;
//! * `properties.rs`: what must hold;
//! * here: worlds of two and three servers, in which it does;
//! * `without.rs`: each safeguard taken away, and the schedule that breaks what it guards (`--nocapture` prints them).
//!
//! `SAMEBILL_LONG` (`tests/run --long`) adds faults and calls. The processes are those of PostgreSQL, READ COMMITTED.
//! SQLite has one writer: its interleavings are fewer, and one world is restricted to them.

mod answers;
mod properties;
mod protocol;
mod state;
mod steps;
mod without;
mod words;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Instant;

use stateright::{Checker as _, Model as _};

use properties::{ADRIFT, CHANGED_INPUT, CONFLICT, JOINED, LOST_ANSWER, REFRESHED, SUPERSEDE_RACE};
use protocol::Protocol;
use state::{Change, Op, Start, State};

const COMPARE: Op = Op::Compare;
const COMPARE_FRESH: Op = Op::CompareFresh;
const SUPERSEDE: Op = Op::Supersede;
const PUT_PLAN: Op = Op::PutPlan;
const IMPORT: Op = Op::Import(Change::Set(1));
const IMPORT_MORE: Op = Op::Import(Change::Set(2));
const TAKE_BACK: Op = Op::Import(Change::TakeBack(1));
const IMPORT_BESIDE: Op = Op::Import(Change::Beside);
const IMPORT_ELSEWHERE: Op = Op::Import(Change::Elsewhere);

/// Clients, each with its server and what it asks for; no row, no faults, every safeguard.
fn world(clients: &[(u8, &[Op])]) -> Protocol {
    Protocol {
        clients: clients.iter().map(|(server, script)| (*server, script.to_vec())).collect(),
        start: Start::Empty,
        crashes: 0,
        losses: 0,
        hang_ups: 0,
        is_coalescing: true,
        one_writer: false,
        counts_computations: false,
        max_retries: 1,
        without: None,
        only: None,
        reaches: &[],
    }
}

fn short_or_long<T>(short: T, long: T) -> T {
    if std::env::var_os("SAMEBILL_LONG").is_some() { long } else { short }
}

/// Explores a world to its end: every promise holds in every state, and what it has to reach is reached.
#[track_caller]
fn holds(name: &str, world: Protocol) {
    let begun = Instant::now();
    let checked = world.checker().threads(2).spawn_dfs().join();
    assert!(checked.is_done(), "{name}: not everything was explored");
    println!(
        "{name}: {} states, {} steps, at most {} after each other, {:.1} s",
        checked.unique_state_count(),
        checked.state_count(),
        checked.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    for (property, path) in checked.discoveries() {
        let is_broken = !checked.model().reaches.contains(&property);
        assert!(!is_broken, "{name}: broken: {property}\n{}", words::schedule(path).join("\n"));
    }
    checked.assert_properties();
}

#[test]
fn two_servers_asked_the_same_while_readings_are_corrected() {
    let clients: [(u8, &[Op]); 3] = [(0, &[COMPARE]), (1, &[COMPARE]), (0, &[IMPORT])];
    let reaches = &[CONFLICT, CHANGED_INPUT];
    holds("race, a server is killed", Protocol { crashes: 1, reaches, ..world(&clients) });
    holds("race, a client hangs up", Protocol { hang_ups: 1, reaches, ..world(&clients) });
    let reaches = &[CONFLICT, CHANGED_INPUT, LOST_ANSWER, ADRIFT];
    holds("race, an answer of COMMIT is lost", Protocol { losses: 1, reaches, ..world(&clients) });
    holds("race, two of them", Protocol { losses: 2, reaches, ..world(&clients) });
    let (crashes, hang_ups) = short_or_long((0, 1), (1, 1));
    holds("race, more than one fault", Protocol { crashes, hang_ups, losses: 1, reaches, ..world(&clients) });
}

#[test]
fn two_people_supersede_one_row_while_readings_are_corrected() {
    let start = Start::StaleRow;
    let clients: [(u8, &[Op]); 3] = [(0, &[SUPERSEDE]), (1, &[COMPARE_FRESH]), (1, &[IMPORT])];
    let reaches = &[SUPERSEDE_RACE, CHANGED_INPUT];
    holds("supersede, a server is killed", Protocol { start, crashes: 1, reaches, ..world(&clients) });
    let reaches = &[SUPERSEDE_RACE, CHANGED_INPUT, LOST_ANSWER, ADRIFT];
    holds("supersede, answers of COMMIT are lost", Protocol { start, losses: 2, reaches, ..world(&clients) });
    let (hang_ups, crashes, losses) = short_or_long((1, 0, 0), (1, 1, 1));
    let reaches = &[SUPERSEDE_RACE, CHANGED_INPUT];
    holds("supersede, a client hangs up", Protocol { start, crashes, losses, hang_ups, reaches, ..world(&clients) });
}

#[test]
fn three_servers_compare_import_and_change_the_plan() {
    let clients: [(u8, &[Op]); 3] = [(0, &[COMPARE]), (1, &[COMPARE_FRESH]), (2, &[IMPORT, PUT_PLAN])];
    let reaches = &[CONFLICT, CHANGED_INPUT];
    let (crashes, losses) = short_or_long((1, 0), (1, 1));
    holds("three servers", Protocol { crashes, losses, reaches, ..world(&clients) });
}

#[test]
fn a_correction_that_is_taken_back_leaves_the_row_as_it_was() {
    let clients: [(u8, &[Op]); 3] = [(0, &[COMPARE, SUPERSEDE]), (1, &[COMPARE_FRESH]), (0, &[IMPORT, TAKE_BACK])];
    let reaches = &[CONFLICT, REFRESHED, SUPERSEDE_RACE, CHANGED_INPUT];
    let (losses, crashes) = short_or_long((1, 0), (1, 1));
    holds("taken back", Protocol { crashes, losses, reaches, ..world(&clients) });
}

#[test]
fn a_feed_into_other_readings_disturbs_nothing() {
    let clients: [(u8, &[Op]); 3] =
        [(0, &[COMPARE]), (1, &[COMPARE_FRESH]), (1, &[IMPORT_BESIDE, IMPORT_ELSEWHERE, IMPORT])];
    let reaches = &[CONFLICT, CHANGED_INPUT];
    holds("feeds", Protocol { losses: 1, reaches, ..world(&clients) });
}

#[test]
fn two_imports_at_once_are_both_there() {
    let clients: [(u8, &[Op]); 3] = [(0, &[IMPORT]), (1, &[IMPORT_MORE]), (1, &[COMPARE])];
    let (losses, crashes) = short_or_long((1, 0), (1, 1));
    holds("imports", Protocol { losses, crashes, reaches: &[CHANGED_INPUT], ..world(&clients) });
}

#[test]
fn a_forced_successor_is_made_once() {
    let start = Start::FreshRow;
    let clients: [(u8, &[Op]); 3] = [(0, &[Op::ForceSupersede]), (1, &[Op::ForceSupersede]), (1, &[IMPORT])];
    let reaches = &[SUPERSEDE_RACE];
    holds("forced", Protocol { start, losses: 1, reaches, ..world(&clients) });
}

#[test]
fn without_coalescing_every_promise_holds() {
    let clients: [(u8, &[Op]); 3] = [(0, &[COMPARE]), (0, &[COMPARE_FRESH]), (1, &[IMPORT, PUT_PLAN])];
    let reaches = &[CONFLICT, CHANGED_INPUT, LOST_ANSWER];
    let (losses, crashes) = short_or_long((1, 0), (1, 1));
    holds("no coalescing", Protocol { is_coalescing: false, losses, crashes, reaches, ..world(&clients) });
}

#[test]
fn one_server_computes_a_question_once_and_three_at_most_thrice() {
    let of_one: [(u8, &[Op]); 4] = [(0, &[COMPARE]), (0, &[COMPARE]), (0, &[COMPARE]), (0, &[COMPARE])];
    holds("herd on one server", Protocol { counts_computations: true, reaches: &[JOINED], ..world(&of_one) });
    let of_three: [(u8, &[Op]); 4] = [(0, &[COMPARE]), (0, &[COMPARE]), (1, &[COMPARE]), (2, &[COMPARE])];
    let reaches = &[JOINED, CONFLICT];
    holds("herd on three servers", Protocol { counts_computations: true, reaches, ..world(&of_three) });
}

#[test]
fn with_one_writer_every_promise_holds() {
    let clients: [(u8, &[Op]); 4] = [(0, &[COMPARE]), (0, &[COMPARE_FRESH]), (0, &[IMPORT]), (0, &[PUT_PLAN])];
    let (losses, crashes) = short_or_long((0, 1), (1, 1));
    holds(
        "SQLite",
        Protocol { one_writer: true, losses, crashes, reaches: &[JOINED, CHANGED_INPUT], ..world(&clients) },
    );
}

/// "Every call ends" is checked where nothing more can happen. That this is always reached, it takes a graph without a
/// circle: then no schedule, however unlucky, goes on for ever.
#[test]
fn no_call_goes_in_circles() {
    let worlds = [
        world(&[(0, &[COMPARE]), (0, &[COMPARE_FRESH]), (1, &[IMPORT, PUT_PLAN])]),
        Protocol { losses: 1, ..world(&[(0, &[COMPARE_FRESH]), (1, &[COMPARE]), (1, &[IMPORT])]) },
        Protocol { start: Start::StaleRow, crashes: 1, ..world(&[(0, &[SUPERSEDE]), (1, &[COMPARE_FRESH])]) },
    ];
    for world in worlds {
        let mut longest = HashMap::new();
        for state in world.init_states() {
            let n_steps = n_steps_to_the_end(&world, &state, &mut longest);
            println!("{} states, the longest schedule has {n_steps} steps", longest.len());
        }
    }
}

/// The length of the longest schedule from a state; `None` in the map: on the way here.
fn n_steps_to_the_end(world: &Protocol, state: &State, known: &mut HashMap<u64, Option<usize>>) -> usize {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    let hash = hasher.finish();
    match known.get(&hash) {
        Some(Some(n_steps)) => return *n_steps,
        Some(None) => panic!("a circle: {state:#?}"),
        None => known.insert(hash, None),
    };
    let next = world.next_states(state);
    let longest = next.iter().map(|next| 1 + n_steps_to_the_end(world, next, known)).max().unwrap_or(0);
    known.insert(hash, Some(longest));
    longest
}
