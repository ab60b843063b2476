use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use model::{Delivery, Epoch, JobName, LineageId, ObjectNumber, OperatorUid, StagedOutput};

use crate::key_group::ALGORITHM;
use crate::manifest::samples::{bare, claim, full, object, range, uid};
use crate::manifest::{
    CheckpointKind, LogRecord, Manifest, OperatorState, Part, PartKind, PendingEpoch, Rewound, SinkState, SourceState,
};
use crate::ownership::{Content, LogEntry};

use super::{Job, Ledgers, Permissions, Recovery, Refusal, Resume, Role, choose};

fn uids(names: &[&str]) -> BTreeSet<OperatorUid> {
    names.iter().map(|name| uid(name)).collect()
}

fn job() -> Job {
    Job {
        name: JobName::new("orders").unwrap(),
        key_groups: 128,
        key_hash: ALGORITHM.to_owned(),
        sources: uids(&["orders"]),
        operators: uids(&["dedup"]),
        sinks: uids(&["clean", "dead-letters"]),
        publishing: uids(&["clean", "dead-letters"]),
    }
}

fn pending(epoch: u64) -> PendingEpoch {
    PendingEpoch { epoch: Epoch(epoch), staged: vec![StagedOutput { slot: 0, records: 1, bytes: 1, body: vec![] }] }
}

/// A manifest whose sink `clean` has published up to `published` and lists the epochs after it.
fn manifest(epoch: u64, published: u64) -> Manifest {
    let sink = SinkState {
        delivery: Delivery::ExactlyOnce,
        published: (published > 0).then_some(Epoch(published)),
        pending: (published + 1..=epoch).map(pending).collect(),
    };
    Manifest { sinks: BTreeMap::from([(uid("clean"), sink)]), ..bare(1, epoch) }
}

fn complete(manifest: Manifest) -> Content {
    Content::Record(LogRecord::Complete(Box::new(manifest)))
}

fn damaged() -> Content {
    Content::Damaged("checksum".to_owned())
}

fn log(contents: impl IntoIterator<Item = Content>) -> Vec<LogEntry> {
    let numbers = (0..).map(ObjectNumber);
    numbers.zip(contents).map(|(number, content)| LogEntry { number, content }).collect()
}

fn ledger(published: u64) -> Ledgers {
    Ledgers::from([(uid("clean"), (published > 0).then_some(Epoch(published)))])
}

fn resume(contents: impl IntoIterator<Item = Content>, published: u64) -> Resume {
    match choose(&log(contents), &job(), &ledger(published), &Permissions::default()).unwrap() {
        Recovery::Resume(resume) => *resume,
        Recovery::Begin => panic!("there is a manifest"),
    }
}

fn refusal(contents: impl IntoIterator<Item = Content>, published: u64) -> Refusal {
    choose(&log(contents), &job(), &ledger(published), &Permissions::default()).unwrap_err()
}

fn epochs(resume: &Resume) -> Vec<u64> {
    resume.publish_first.get(&uid("clean")).into_iter().flatten().map(|pending| pending.epoch.0).collect()
}

#[test]
fn a_job_without_a_complete_checkpoint_begins() {
    for contents in [vec![], vec![Content::Record(claim(1, 7))]] {
        let recovery = choose(&log(contents), &job(), &ledger(0), &Permissions::default());
        assert_eq!(recovery, Ok(Recovery::Begin));
    }
}

#[test]
fn the_newest_manifest_is_gone_on_from() {
    let first = Content::Record(claim(1, 0xfeed));
    let claimed = Content::Record(claim(2, 0xfeed));
    let resume = resume([first, complete(manifest(1, 0)), complete(manifest(2, 1)), claimed], 2);
    assert_eq!((resume.manifest.epoch, resume.number, resume.first_epoch()), (Epoch(2), ObjectNumber(2), Epoch(3)));
    assert_eq!((resume.lineage, resume.rewound, resume.was_finished), (LineageId(0xfeed), None, false));
    assert_eq!(epochs(&resume), [0u64; 0], "the target knows epoch 2 already");
}

#[test]
fn what_is_listed_and_not_known_to_the_target_is_published_first() {
    assert_eq!(epochs(&resume([complete(manifest(9, 5))], 7)), [8, 9]);
    assert_eq!(epochs(&resume([complete(manifest(9, 0))], 0)), (1..=9).collect::<Vec<_>>());
}

#[test]
fn a_job_that_had_ended_goes_on_with_what_was_added() {
    let last = Manifest { kind: CheckpointKind::Final, ..manifest(4, 3) };
    assert!(resume([complete(last)], 4).was_finished);
}

#[test]
fn a_damaged_newest_record_is_passed_over_where_nothing_beyond_was_visible() {
    let resume = resume([complete(manifest(3, 2)), damaged(), damaged()], 3);
    assert_eq!(resume.manifest.epoch, Epoch(3));
    assert_eq!(resume.passed_over, [ObjectNumber(1), ObjectNumber(2)]);
}

#[test]
fn a_damaged_record_below_the_newest_manifest_is_of_no_concern() {
    let resume = resume([complete(manifest(2, 1)), damaged(), complete(manifest(4, 3))], 4);
    assert_eq!((resume.manifest.epoch, resume.passed_over), (Epoch(4), vec![]));
}

#[test]
fn a_damaged_newest_manifest_that_was_published_is_the_users_choice() {
    let contents = || [complete(manifest(3, 2)), damaged()];
    let refusal = refusal(contents(), 4);
    assert_eq!(refusal.code(), "E0437");
    assert_eq!(
        refusal.to_string(),
        "sink `clean` has published epoch 4: the newest manifest that can be read is of epoch 3, \
         records that cannot be read: 1"
    );
    let permissions = Permissions { rewind: Some(LineageId(99)), ..Permissions::default() };
    let recovery = choose(&log(contents()), &job(), &ledger(4), &permissions).unwrap();
    let Recovery::Resume(resume) = recovery else { panic!("there is a manifest") };
    assert_eq!(resume.lineage, LineageId(99));
    assert_eq!(resume.rewound, Some(Rewound { lineage: LineageId(0xfeed), epoch: Epoch(3) }));
}

#[test]
fn a_log_that_lost_its_end_without_a_trace_is_refused_too() {
    assert!(matches!(refusal([complete(manifest(3, 2))], 4), Refusal::LedgerAhead { .. }));
    assert!(matches!(refusal([], 4), Refusal::LedgerAhead { newest: None, .. }));
}

#[test]
fn records_of_which_none_can_be_read_are_no_empty_log() {
    assert!(matches!(refusal([damaged()], 0), Refusal::NothingReadable { .. }));
}

#[test]
fn a_newer_record_is_never_passed_over() {
    let newer = Content::Newer("version 9".to_owned());
    assert_eq!(refusal([complete(manifest(3, 2)), newer], 3).code(), "E0431");
}

#[test]
fn a_target_that_forgot_what_was_published_is_refused_unless_it_is_meant() {
    let contents = || [complete(manifest(5, 4))];
    for found in [0, 3] {
        assert!(matches!(refusal(contents(), found), Refusal::LedgerBehind { .. }), "{found}");
    }
    let permissions = Permissions { ledger_behind: true, ..Permissions::default() };
    assert!(choose(&log(contents()), &job(), &ledger(0), &permissions).is_ok());
}

#[test]
fn another_job_key_group_count_or_key_hash_is_refused() {
    let check = |job: Job, code: &str| {
        let refusal = choose(&log([complete(manifest(1, 0))]), &job, &ledger(0), &Permissions::default()).unwrap_err();
        assert_eq!(refusal.code(), code, "{refusal}");
    };
    check(Job { name: JobName::new("bills").unwrap(), ..job() }, "E0430");
    check(Job { key_groups: 64, ..job() }, "E0434");
    check(Job { key_hash: "murmur2/1".to_owned(), ..job() }, "E0435");
}

#[test]
fn what_a_removed_operator_keeps_is_dropped_only_when_it_is_named() {
    let full = || [complete(Manifest { rewound: None, ..full() })];
    let check = |job: &Job, removed: &str, expected: Role| {
        let refusal = choose(&log(full()), job, &ledger(6), &Permissions::default()).unwrap_err();
        assert!(matches!(refusal, Refusal::Removed { role, .. } if role == expected), "{refusal}");
        let permissions = Permissions { drop: uids(&[removed]), ..Permissions::default() };
        assert!(choose(&log(full()), job, &ledger(6), &permissions).is_ok());
    };
    check(&Job { sources: uids(&["other"]), ..job() }, "orders", Role::Source);
    check(&Job { operators: uids(&["other"]), ..job() }, "dedup", Role::Function);
    check(&Job { sinks: uids(&["other"]), ..job() }, "clean", Role::Sink);
}

#[test]
fn output_that_waits_is_not_left_with_a_sink_that_publishes_no_more() {
    let plain = Job { publishing: uids(&[]), ..job() };
    let contents = || log([complete(manifest(5, 3))]);
    let refusal = choose(&contents(), &plain, &Ledgers::new(), &Permissions::default()).unwrap_err();
    assert_eq!((refusal.code(), refusal.to_string().contains("`clean`")), ("E0436", true), "{refusal}");
    let permissions = Permissions { drop: uids(&["clean"]), ..Permissions::default() };
    let Ok(Recovery::Resume(resume)) = choose(&contents(), &plain, &Ledgers::new(), &permissions) else {
        panic!("it may be dropped")
    };
    assert!(resume.publish_first.is_empty());
    let published = log([complete(manifest(5, 5))]);
    assert!(choose(&published, &plain, &Ledgers::new(), &Permissions::default()).is_ok());
}

#[test]
fn operators_that_keep_nothing_may_come_and_go() {
    let mut empty = manifest(5, 5);
    empty.operators.insert(uid("gone"), OperatorState::default());
    let without = Job { sinks: uids(&[]), ..job() };
    assert!(choose(&log([complete(empty.clone())]), &without, &Ledgers::new(), &Permissions::default()).is_ok());
    let part = Part { key_groups: range(0, 1), kind: PartKind::Image, epoch: Epoch(1), objects: vec![object("o", 1)] };
    empty.operators.insert(uid("gone"), OperatorState { parts: vec![part], ..OperatorState::default() });
    empty.sources.insert(uid("orders"), SourceState::default());
    let refusal = choose(&log([complete(empty)]), &without, &Ledgers::new(), &Permissions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Removed { role: Role::Function, .. }));
}

#[derive(Clone, Debug)]
enum Kind {
    Claim,
    Manifest { published: u64 },
    Damaged,
}

/// A log as owners write it: epochs rise, what a manifest knows to be published lies below its epoch.
fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let kind = prop_oneof![
        1 => Just(Kind::Claim),
        4 => (0u64..30).prop_map(|published| Kind::Manifest { published }),
        1 => Just(Kind::Damaged),
    ];
    prop::collection::vec(kind, 0..20)
}

proptest! {
    #[test]
    fn nothing_visible_is_forgotten_and_nothing_listed_is_left_unpublished(kinds in kinds(), published in 0u64..25) {
        let mut epoch = 0;
        let contents = kinds.iter().map(|kind| match kind {
            Kind::Claim => Content::Record(claim(1, 0xfeed)),
            Kind::Damaged => {
                epoch += 1;
                damaged()
            }
            Kind::Manifest { published } => {
                epoch += 1;
                complete(manifest(epoch, *published % epoch))
            }
        });
        let entries = log(contents.collect::<Vec<_>>());
        match choose(&entries, &job(), &ledger(published), &Permissions::default()) {
            Ok(Recovery::Begin) => prop_assert!(published == 0 && kinds.iter().all(|kind| matches!(kind, Kind::Claim))),
            Ok(Recovery::Resume(resume)) => {
                prop_assert!(published <= resume.manifest.epoch.0, "output that was visible would be made again");
                let known = resume.manifest.sinks[&uid("clean")].published.map_or(0, |epoch| epoch.0);
                prop_assert!(known <= published);
                let expected: Vec<u64> = (published + 1..=resume.manifest.epoch.0).collect();
                prop_assert_eq!(epochs(&resume), expected);
                let newer = &entries[usize::try_from(resume.number.0).unwrap() + 1..];
                prop_assert!(newer.iter().all(|entry| {
                    !matches!(&entry.content, Content::Record(LogRecord::Complete(_)))
                }), "a newer manifest could be read");
            }
            Err(Refusal::LedgerAhead { newest, .. }) => {
                prop_assert!(Some(Epoch(published)) > newest);
            }
            Err(Refusal::LedgerBehind { published: known, .. }) => prop_assert!(known > Epoch(published)),
            Err(Refusal::NothingReadable { .. }) => prop_assert!(published == 0),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
