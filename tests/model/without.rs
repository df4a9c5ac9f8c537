//! Each safeguard taken away: the checker has to find what breaks, and says it as a schedule. The same world with the
//! safeguard has no such schedule.

use stateright::{Checker as _, Model as _};

use crate::properties::{
    ENDS, FRESH, KEPT, MARKED, NO_FAULT, NO_GAP, NO_LOST_IMPORT, NOT_OUTDATED, ONE_COMPUTATION, ONE_CURRENT, TOLD,
    WANTED_FRESH,
};
use crate::protocol::{Protocol, Safeguard};
use crate::state::{Change, Op, Start};
use crate::words::schedule;
use crate::{IMPORT, world};

/// Explores the world without the safeguard, breadth first, so that the schedule is the shortest; then with it.
#[track_caller]
fn breaks(safeguard: Safeguard, promise: &'static str, at_most: usize, world: Protocol) {
    let with = Protocol { only: Some(promise), ..world };
    let without = Protocol { without: Some(safeguard), ..with.clone() };
    let found = without.checker().spawn_bfs().join().discovery(promise);
    let Some(path) = found else { panic!("without {safeguard:?}, \"{promise}\" still holds") };
    let schedule = schedule(path);
    println!("Without {safeguard:?}, broken: {promise}");
    for (n, line) in (1..).zip(&schedule) {
        println!("  {n:2}. {line}");
    }
    assert!(schedule.len() <= at_most, "the shortest schedule has {} steps", schedule.len());
    let checked = with.checker().spawn_dfs().join();
    assert!(checked.is_done(), "not everything was explored");
    assert!(checked.discovery(promise).is_none(), "\"{promise}\" is broken with {safeguard:?} too");
}

#[test]
fn without_the_check_of_inputs_an_outdated_answer_is_stored() {
    breaks(Safeguard::InputCheck, NOT_OUTDATED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
    breaks(Safeguard::InputCheck, MARKED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
    breaks(Safeguard::InputCheck, FRESH, 16, world(&[(0, &[Op::Compare]), (1, &[IMPORT, Op::Compare])]));
}

#[test]
fn without_the_partial_index_two_rows_are_current() {
    breaks(Safeguard::PartialIndex, ONE_CURRENT, 20, world(&[(0, &[Op::Compare]), (1, &[Op::Compare])]));
}

#[test]
fn without_a_single_transaction_no_row_is_current() {
    let world = Protocol { start: Start::StaleRow, ..world(&[(0, &[Op::Supersede])]) };
    breaks(Safeguard::SingleTransaction, NO_GAP, 7, world);
}

#[test]
fn with_data_read_before_revisions_an_outdated_answer_is_stored() {
    breaks(Safeguard::RevisionsBeforeData, NOT_OUTDATED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
}

#[test]
fn with_the_head_locked_after_reading_the_block_an_import_is_lost() {
    let other = Op::Import(Change::Set(2));
    breaks(Safeguard::LockBeforeMerge, NO_LOST_IMPORT, 8, world(&[(0, &[IMPORT]), (1, &[other])]));
}

#[test]
fn with_the_head_locked_after_marking_a_row_stays_fresh_for_ever_or_two_wait_for_each_other() {
    breaks(Safeguard::LockBeforeMark, MARKED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
    let world = Protocol { start: Start::FreshRow, ..world(&[(0, &[Op::ForceSupersede]), (1, &[IMPORT])]) };
    breaks(Safeguard::LockBeforeMark, ENDS, 7, world);
}

#[test]
fn without_the_head_lock_an_import_comes_between_check_and_insert() {
    breaks(Safeguard::LockBeforeCheck, NOT_OUTDATED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
    breaks(Safeguard::LockBeforeCheck, MARKED, 14, world(&[(0, &[Op::Compare]), (1, &[IMPORT])]));
    let world = Protocol { start: Start::StaleRow, ..world(&[(0, &[Op::Supersede]), (1, &[Op::Supersede])]) };
    breaks(Safeguard::LockBeforeCheck, NO_FAULT, 16, world);
}

#[test]
fn with_plans_read_in_the_statement_that_waits_a_new_version_is_overlooked() {
    let world = world(&[(0, &[Op::Compare]), (1, &[Op::PutPlan]), (1, &[IMPORT])]);
    breaks(Safeguard::CheckInNewStatement, NOT_OUTDATED, 11, world);
}

#[test]
fn without_the_second_look_up_one_question_is_computed_twice() {
    let world = Protocol { counts_computations: true, ..world(&[(0, &[Op::Compare]), (0, &[Op::Compare])]) };
    breaks(Safeguard::SecondLookUp, ONE_COMPUTATION, 15, world);
}

#[test]
fn with_a_leader_that_leaves_before_its_commit_one_question_is_computed_twice() {
    let world = Protocol { counts_computations: true, ..world(&[(0, &[Op::Compare]), (0, &[Op::Compare])]) };
    breaks(Safeguard::SeatUntilCommit, ONE_COMPUTATION, 12, world);
}

#[test]
fn with_an_answer_before_the_commit_an_acknowledged_row_is_lost() {
    let world = Protocol { crashes: 1, ..world(&[(0, &[Op::Compare])]) };
    breaks(Safeguard::AnswerAfterCommit, KEPT, 10, world);
}

#[test]
fn without_asking_after_a_lost_answer_a_call_denies_its_own_work() {
    let stale = Protocol { losses: 1, start: Start::StaleRow, ..world(&[(0, &[Op::Supersede])]) };
    breaks(Safeguard::AskWhetherStored, TOLD, 11, stale);
    breaks(Safeguard::AskWhetherStored, TOLD, 8, Protocol { losses: 1, ..world(&[(0, &[IMPORT])]) });
}

#[test]
fn asking_without_the_lock_is_too_early_for_a_commit_under_way() {
    let stale = Protocol { losses: 1, start: Start::StaleRow, ..world(&[(0, &[Op::Supersede])]) };
    breaks(Safeguard::AskUnderLock, TOLD, 13, stale);
    breaks(Safeguard::AskUnderLock, TOLD, 10, Protocol { losses: 1, ..world(&[(0, &[IMPORT])]) });
}

#[test]
fn a_commit_that_lands_between_two_reads_is_still_this_calls_own() {
    breaks(Safeguard::OwnIdIsOwn, TOLD, 14, Protocol { losses: 2, ..world(&[(0, &[Op::Compare])]) });
    let stale = Protocol { losses: 2, start: Start::StaleRow, ..world(&[(0, &[Op::Supersede])]) };
    breaks(Safeguard::OwnIdIsOwn, TOLD, 13, stale);
}

#[test]
fn who_asks_for_fresh_numbers_does_not_get_a_row_that_grew_stale_between_two_look_ups() {
    let world = world(&[(0, &[Op::CompareFresh]), (1, &[Op::Compare, Op::PutPlan])]);
    breaks(Safeguard::FreshMeansFresh, WANTED_FRESH, 15, world);
}
