use std::collections::BTreeMap;

use proptest::prelude::*;

use model::{Generation, JobName, LineageId, ObjectNumber};

use crate::manifest::LogRecord;
use crate::manifest::samples::{bare, claim};

use super::{ClaimStep, Claiming, Content, Error, LineageChoice, LogEntry, MAX_READS, Outcome, OwnerStep, Ownership};

fn entry(number: u64, record: LogRecord) -> LogEntry {
    LogEntry { number: ObjectNumber(number), content: Content::Record(record) }
}

fn damaged(number: u64) -> LogEntry {
    LogEntry { number: ObjectNumber(number), content: Content::Damaged("checksum".to_owned()) }
}

fn manifest(generation: u64, epoch: u64) -> LogRecord {
    LogRecord::Complete(Box::new(bare(generation, epoch)))
}

fn claiming(job: &str) -> Claiming {
    let lineage = LineageChoice::Continue(LineageId(5));
    Claiming::new(JobName::new(job).unwrap(), "me".to_owned(), lineage)
}

#[track_caller]
fn check_proposal(entries: &[LogEntry], number: u64, generation: u64, lineage: u64) {
    let (at, claim) = claiming("orders").propose(entries).unwrap();
    assert_eq!(
        (at, claim.generation, claim.lineage),
        (ObjectNumber(number), Generation(generation), LineageId(lineage))
    );
}

#[test]
fn an_empty_log_is_claimed_from_its_beginning() {
    check_proposal(&[], 0, 1, 5);
}

#[test]
fn a_claim_is_one_above_the_newest_record() {
    check_proposal(&[entry(6, claim(3, 0xfeed))], 7, 4, 0xfeed);
    check_proposal(&[entry(5, claim(3, 8)), entry(6, manifest(3, 1))], 7, 4, 0xfeed);
}

#[test]
fn the_lineage_of_a_manifest_outlasts_that_of_a_claim_without_one() {
    check_proposal(&[entry(5, manifest(3, 1)), entry(6, claim(4, 8))], 7, 5, 0xfeed);
}

#[test]
fn a_rewind_names_its_own_lineage() {
    let job = JobName::new("orders").unwrap();
    let mut claiming = Claiming::new(job, "me".to_owned(), LineageChoice::Begin(LineageId(77)));
    let (_, claim) = claiming.propose(&[entry(5, manifest(3, 1))]).unwrap();
    assert_eq!(claim.lineage, LineageId(77));
}

#[test]
fn damaged_records_may_each_have_been_a_claim() {
    check_proposal(&[entry(4, manifest(3, 1)), damaged(5), damaged(6)], 7, 6, 0xfeed);
    check_proposal(&[damaged(6)], 7, 8, 5);
}

#[test]
fn a_foreign_and_a_newer_log_are_refused() {
    let foreign = claiming("bills").propose(&[entry(6, claim(3, 1))]).unwrap_err();
    assert!(matches!(foreign, Error::Foreign { .. }), "{foreign}");
    let newer = LogEntry { number: ObjectNumber(7), content: Content::Newer("version 9".to_owned()) };
    let error = claiming("orders").propose(&[entry(6, claim(3, 1)), newer]).unwrap_err();
    assert_eq!(error.code(), "E0431");
}

#[test]
fn a_listing_that_never_shows_what_is_there_is_not_believed() {
    let mut claiming = claiming("orders");
    for _ in 0..MAX_READS {
        claiming.propose(&[]).unwrap();
        assert!(matches!(claiming.after_create(Outcome::Taken), ClaimStep::ReadAgain));
    }
    assert!(matches!(claiming.propose(&[]), Err(Error::ListingStale { .. })));
}

#[test]
fn a_claim_of_unknown_outcome_is_created_again() {
    let mut claiming = claiming("orders");
    claiming.propose(&[]).unwrap();
    assert!(matches!(claiming.after_create(Outcome::Unknown), ClaimStep::CreateAgain));
    let ClaimStep::Own(ownership) = claiming.after_create(Outcome::Created) else { panic!("it is there") };
    assert_eq!(ownership.next_number(), Ok(ObjectNumber(1)));
}

/// A process that claims the job and then adds manifests.
enum Process {
    Claiming(Claiming),
    /// It proposed this and does not know yet.
    Proposed(Claiming, ObjectNumber, LogRecord),
    Owner(Ownership),
    Gone,
}

#[derive(Clone, Debug)]
struct Move {
    process: usize,
    /// Whether the answer to a creation arrives.
    answered: bool,
    /// Whether the newest record is damaged from now on.
    damages: bool,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = (0usize..4, prop::bool::weighted(0.8), prop::bool::weighted(0.1));
    prop::collection::vec(one.prop_map(|(process, answered, damages)| Move { process, answered, damages }), 0..120)
}

/// The log: by number, who wrote what, and whether it can still be read.
#[derive(Default)]
struct Log(BTreeMap<u64, (usize, LogRecord, bool)>);

impl Log {
    fn create(&mut self, number: ObjectNumber, by: usize, record: &LogRecord, answered: bool) -> Outcome {
        let there = self.0.entry(number.0).or_insert_with(|| (by, record.clone(), true));
        match (there.0 == by && there.1 == *record, answered) {
            (_, false) => Outcome::Unknown,
            (true, true) => Outcome::Created,
            (false, true) => Outcome::Taken,
        }
    }

    fn entries(&self) -> Vec<LogEntry> {
        let content = |readable: bool, record: &LogRecord| match readable {
            true => Content::Record(record.clone()),
            false => Content::Damaged("bit".to_owned()),
        };
        let entry = |(number, (_, record, readable)): (&u64, &(usize, LogRecord, bool))| LogEntry {
            number: ObjectNumber(*number),
            content: content(*readable, record),
        };
        self.0.iter().map(entry).collect()
    }
}

fn advance(process: Process, by: usize, log: &mut Log, answered: bool) -> Process {
    match process {
        Process::Claiming(mut claiming) => match claiming.propose(&log.entries()) {
            Ok((number, claim)) => Process::Proposed(claiming, number, LogRecord::Claim(claim)),
            Err(_) => Process::Gone,
        },
        Process::Proposed(mut claiming, number, record) => {
            match claiming.after_create(log.create(number, by, &record, answered)) {
                ClaimStep::Own(ownership) => Process::Owner(ownership),
                ClaimStep::CreateAgain => Process::Proposed(claiming, number, record),
                ClaimStep::ReadAgain => Process::Claiming(claiming),
            }
        }
        Process::Owner(mut ownership) => {
            let number = ownership.next_number().expect("it is not fenced yet");
            let record = manifest(ownership.generation().0, number.0);
            match ownership.after_create(log.create(number, by, &record, answered)) {
                OwnerStep::Listed | OwnerStep::CreateAgain => Process::Owner(ownership),
                OwnerStep::Fenced => {
                    assert!(ownership.next_number().is_err(), "a right that ended stays ended");
                    Process::Gone
                }
            }
        }
        Process::Gone => Process::Gone,
    }
}

proptest! {
    #[test]
    fn generations_rise_and_only_the_newest_claim_adds(moves in moves()) {
        let mut log = Log::default();
        let mut processes: Vec<Process> = (0..4).map(|process| {
            let lineage = LineageChoice::Continue(LineageId(process));
            Process::Claiming(Claiming::new(JobName::new("orders").unwrap(), format!("p{process}"), lineage))
        }).collect();
        for step in &moves {
            let process = std::mem::replace(&mut processes[step.process], Process::Gone);
            processes[step.process] = advance(process, step.process, &mut log, step.answered);
            if step.damages && let Some(mut newest) = log.0.last_entry() {
                newest.get_mut().2 = false;
            }
        }
        let mut owner = None;
        for (by, record, _) in log.0.values() {
            match record {
                LogRecord::Claim(claim) => {
                    prop_assert!(owner.is_none_or(|(_, generation)| generation < claim.generation), "claims rise");
                    owner = Some((*by, claim.generation));
                }
                LogRecord::Complete(manifest) => prop_assert_eq!(owner, Some((*by, manifest.generation))),
            }
        }
        prop_assert!(log.0.keys().copied().eq(0..log.0.len() as u64), "numbers rise by one");
    }
}
