use std::collections::btree_map::Entry as Place;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use model::{Delivery, Epoch, Generation, HostTime, LineageId, ListedObject, ObjectNumber, StagedOutput, SubtaskIndex};

use crate::manifest::samples::{bare, claim, object, range, uid};
use crate::manifest::{LogRecord, Manifest, OperatorState, Part, PartKind, PendingEpoch, SinkState};
use crate::ownership::{ClaimStep, Claiming, Content, LineageChoice, LogEntry, Outcome, OwnerStep, Ownership};

use super::{Garbage, MOST_CLAIMS, ObjectName, Rules, Stored, garbage, listed_output};

const NOW: HostTime = HostTime(1_000_000);
const AGE: Duration = Duration::from_secs(100);

fn rules(retain: u32, generation: u64) -> Rules {
    Rules { retain, orphan_age: AGE, generation: Generation(generation), now: NOW }
}

fn name(generation: u64, number: u32) -> String {
    let name = ObjectName {
        folder: "state".to_owned(),
        generation: Generation(generation),
        epoch: Epoch(7),
        operator: uid("dedup-all"),
        subtask: SubtaskIndex(2),
        number,
    };
    name.to_string()
}

fn manifest(epoch: u64, objects: &[&String]) -> Content {
    let parts = objects.iter().map(|name| Part {
        key_groups: range(0, 1),
        kind: PartKind::Delta,
        epoch: Epoch(epoch),
        objects: vec![object(name, 1)],
    });
    let operator = OperatorState { parts: parts.collect(), ..OperatorState::default() };
    let manifest = Manifest { operators: BTreeMap::from([(uid("dedup-all"), operator)]), ..bare(1, epoch) };
    Content::Record(LogRecord::Complete(Box::new(manifest)))
}

fn log(contents: impl IntoIterator<Item = Content>) -> Vec<LogEntry> {
    contents.into_iter().zip(10..).map(|(content, number)| LogEntry { number: ObjectNumber(number), content }).collect()
}

fn old(name: &str) -> ListedObject {
    ListedObject { name: name.to_owned(), length_bytes: 1, modified: HostTime(0) }
}

fn check(entries: &[LogEntry], objects: &[ListedObject], rules: &Rules, records: &[u64], gone: &[&str]) {
    let in_use = BTreeSet::new();
    let garbage = garbage(&Stored { entries, objects, in_use: &in_use }, rules);
    let records: Vec<_> = records.iter().copied().map(ObjectNumber).collect();
    assert_eq!(garbage, Garbage { records, objects: gone.iter().map(ToString::to_string).collect() });
}

#[test]
fn the_newest_manifests_and_what_they_list_stay() {
    let (a, b, c) = (name(5, 1), name(5, 2), name(5, 3));
    let claimed = Content::Record(claim(1, 1));
    let contents = [claimed, manifest(1, &[&a]), manifest(2, &[&b]), manifest(3, &[&c])];
    let objects = [old(&a), old(&b), old(&c)];
    check(&log(contents.clone()), &objects, &rules(2, 5), &[11], &[&a]);
    check(&log(contents.clone()), &objects, &rules(3, 5), &[], &[]);
    check(&log(contents), &objects, &rules(0, 5), &[11, 12], &[&a, &b]);
}

#[test]
fn what_an_old_manifest_shares_with_a_retained_one_stays() {
    let (a, b) = (name(1, 1), name(1, 2));
    let contents = [manifest(1, &[&a, &b]), manifest(2, &[&a])];
    check(&log(contents), &[old(&a), old(&b)], &rules(1, 5), &[10], &[&b]);
}

#[test]
fn an_orphan_goes_when_it_is_old_and_of_an_older_generation() {
    let (older, ours, newer) = (name(4, 1), name(5, 1), name(6, 1));
    let young = ListedObject { modified: HostTime(NOW.0 - 100_000), ..old(&name(4, 2)) };
    let future = ListedObject { modified: HostTime(i64::MAX), ..old(&name(4, 3)) };
    let foreign = [old("state/readme.txt"), old("notes"), old("state/04-7-dedup-all-2-1")];
    let objects: Vec<_> = [old(&older), old(&ours), old(&newer), young, future].into_iter().chain(foreign).collect();
    check(&log([manifest(1, &[])]), &objects, &rules(1, 5), &[], &[&older]);
}

#[test]
fn nothing_goes_of_a_job_without_a_manifest() {
    check(&log([Content::Record(claim(1, 1))]), &[old(&name(1, 1))], &rules(1, 5), &[], &[]);
    check(&[], &[old(&name(1, 1))], &rules(1, 5), &[], &[]);
}

#[test]
fn no_object_goes_while_a_record_cannot_be_read() {
    let damaged = Content::Damaged("checksum".to_owned());
    let (a, b) = (name(1, 1), name(1, 2));
    let contents = [manifest(1, &[&a]), manifest(2, &[&b]), damaged.clone()];
    check(&log(contents), &[old(&a), old(&b)], &rules(1, 5), &[10], &[]);
    let contents = [damaged, manifest(1, &[&a]), manifest(2, &[&b])];
    check(&log(contents), &[old(&a), old(&b)], &rules(1, 5), &[11], &[&a]);
}

#[test]
fn claims_stay_up_to_their_bound() {
    let claims = (0..MOST_CLAIMS as u64 + 3).map(|generation| Content::Record(claim(generation, 1)));
    let contents = claims.chain([manifest(1, &[]), manifest(2, &[])]);
    let entries = log(contents);
    let first_manifest = 10 + MOST_CLAIMS as u64 + 3;
    check(&entries, &[], &rules(1, 5), &[10, 11, 12, first_manifest], &[]);
}

/// A log whose numbers are created once, and nothing else: who finds a number free has it, wherever it lies.
#[derive(Default)]
struct BareLog(BTreeMap<ObjectNumber, Content>);

impl BareLog {
    fn create(&mut self, number: ObjectNumber, content: Content) -> Outcome {
        match self.0.entry(number) {
            Place::Vacant(free) => {
                free.insert(content);
                Outcome::Created
            }
            Place::Occupied(_) => Outcome::Taken,
        }
    }

    fn entries(&self) -> Vec<LogEntry> {
        self.0.iter().map(|(number, content)| LogEntry { number: *number, content: content.clone() }).collect()
    }

    fn own(&mut self) -> Ownership {
        let mut claiming = Claiming::new(bare(1, 1).job, "host".to_owned(), LineageChoice::Continue(LineageId(1)));
        let (number, claim) = claiming.propose(&self.entries()).unwrap();
        let outcome = self.create(number, Content::Record(LogRecord::Claim(claim)));
        match claiming.after_create(outcome) {
            ClaimStep::Own(ownership) => ownership,
            other => panic!("{other:?}"),
        }
    }
}

/// What happens to a job.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// The owner completes checkpoints and removes what may go.
    Checkpoints(u8),
    /// Somebody else takes the job; the owner before sleeps.
    Overtaken,
    /// One of those that sleep wakes up, and creates its next manifest.
    Wakes(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (1u8..6).prop_map(Happens::Checkpoints),
        Just(Happens::Overtaken),
        any::<usize>().prop_map(Happens::Wakes),
    ]
}

/// Plays it; returns how many manifests of overtaken owners came into the log.
fn phantoms(story: &[Happens], trim: impl Fn(&[LogEntry]) -> Vec<ObjectNumber>) -> usize {
    let mut log = BareLog::default();
    let mut owner = log.own();
    let (mut asleep, mut phantoms, mut epoch) = (Vec::new(), 0, 0);
    for happens in story {
        match happens {
            Happens::Checkpoints(count) => {
                for _ in 0..*count {
                    epoch += 1;
                    let outcome = log.create(owner.next_number().unwrap(), manifest(epoch, &[]));
                    assert_eq!(owner.after_create(outcome), OwnerStep::Listed);
                }
                for number in trim(&log.entries()) {
                    log.0.remove(&number);
                }
            }
            Happens::Overtaken => asleep.push(std::mem::replace(&mut owner, log.own())),
            Happens::Wakes(_) if asleep.is_empty() => {}
            Happens::Wakes(which) => {
                let mut zombie = asleep.swap_remove(which % asleep.len());
                let outcome = log.create(zombie.next_number().unwrap(), manifest(1000, &[]));
                phantoms += usize::from(zombie.after_create(outcome) == OwnerStep::Listed);
            }
        }
    }
    phantoms
}

fn trim(entries: &[LogEntry]) -> Vec<ObjectNumber> {
    let in_use = BTreeSet::new();
    garbage(&Stored { entries, objects: &[], in_use: &in_use }, &rules(2, u64::MAX)).records
}

proptest! {
    #[test]
    fn an_owner_that_was_overtaken_finds_its_next_number_taken_however_much_was_removed(
        story in prop::collection::vec(happens(), 0..60),
    ) {
        prop_assert_eq!(phantoms(&story, trim), 0);
    }
}

#[test]
fn removing_the_claim_that_overtook_somebody_lets_a_manifest_of_theirs_in() {
    let story = [Happens::Checkpoints(1), Happens::Overtaken, Happens::Checkpoints(5), Happens::Wakes(0)];
    assert_eq!(phantoms(&story, trim), 0);
    // As if nobody were asleep: everything below the two newest manifests.
    let too_much = |entries: &[LogEntry]| {
        let numbers: Vec<ObjectNumber> = entries.iter().map(|entry| entry.number).collect();
        numbers[..numbers.len().saturating_sub(2)].to_vec()
    };
    assert_eq!(phantoms(&story, too_much), 1, "this is seen");
}

#[test]
fn listed_output_names_each_staged_output_once() {
    let staged = |body: u8| StagedOutput { slot: 0, records: 1, bytes: 1, body: vec![body] };
    let with = |epoch: u64, bodies: &[u8]| {
        let pending = vec![PendingEpoch { epoch: Epoch(epoch), staged: bodies.iter().copied().map(staged).collect() }];
        let sink = SinkState { delivery: Delivery::ExactlyOnce, published: None, pending };
        let manifest = Manifest { sinks: BTreeMap::from([(uid("clean"), sink)]), ..bare(1, epoch) };
        Content::Record(LogRecord::Complete(Box::new(manifest)))
    };
    let listed = listed_output(&log([with(1, &[1, 2]), with(2, &[2, 3])]));
    assert_eq!(listed, BTreeMap::from([(uid("clean"), vec![staged(1), staged(2), staged(3)])]));
}

#[derive(Clone, Debug)]
enum Entry {
    Claim,
    Damaged,
    Manifest(BTreeSet<u32>),
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = prop_oneof![
        1 => Just(Entry::Claim),
        1 => Just(Entry::Damaged),
        8 => prop::collection::btree_set(0u32..12, 0..6).prop_map(Entry::Manifest),
    ];
    prop::collection::vec(entry, 0..12)
}

proptest! {
    #[test]
    fn nothing_reachable_goes_and_nothing_useless_stays(
        entries in entries(),
        stored in prop::collection::btree_map(0u32..16, (0i64..1_100_000, 1u64..8), 0..16),
        in_use in prop::collection::btree_set(0u32..16, 0..4),
        retain in 1u32..5,
    ) {
        let generation = |number: u32| stored.get(&number).map_or(1, |(_, generation)| *generation);
        let named = |number: u32| name(generation(number), number);
        let contents = entries.iter().zip(1..).map(|(entry, epoch)| match entry {
            Entry::Claim => Content::Record(claim(1, 1)),
            Entry::Damaged => Content::Damaged("bit".to_owned()),
            Entry::Manifest(objects) => {
                let names: Vec<String> = objects.iter().map(|number| named(*number)).collect();
                manifest(epoch, &names.iter().collect::<Vec<_>>())
            }
        });
        let log = log(contents.collect::<Vec<_>>());
        let objects: Vec<_> = stored.iter().map(|(number, (modified, _))| {
            ListedObject { modified: HostTime(*modified), ..old(&named(*number)) }
        }).collect();
        let in_use: BTreeSet<String> = in_use.into_iter().map(named).collect();
        let rules = rules(retain, 5);
        let first = garbage(&Stored { entries: &log, objects: &objects, in_use: &in_use }, &rules);

        let manifests: Vec<(u64, &BTreeSet<u32>)> = entries.iter().zip(10..).filter_map(|(entry, number)| match entry {
            Entry::Manifest(objects) => Some((number, objects)),
            Entry::Claim | Entry::Damaged => None,
        }).collect();
        let retained = &manifests[manifests.len().saturating_sub(retain as usize)..];
        let reachable: BTreeSet<String> =
            retained.iter().flat_map(|(_, objects)| objects.iter().copied().map(named)).collect();
        for name in &first.objects {
            prop_assert!(!reachable.contains(name) && !in_use.contains(name), "{name} is needed");
        }
        for number in &first.records {
            prop_assert!(retained.first().is_some_and(|(oldest, _)| number.0 < *oldest), "{number} is needed");
        }
        prop_assert!(log.last().is_none_or(|newest| !first.records.contains(&newest.number)));

        // What is left when all of it went: nothing of it is garbage, and all that is old is of use.
        let left_log: Vec<_> = log.iter().filter(|entry| !first.records.contains(&entry.number)).cloned().collect();
        let left: Vec<_> = objects.iter().filter(|object| !first.objects.contains(&object.name)).cloned().collect();
        let second = garbage(&Stored { entries: &left_log, objects: &left, in_use: &in_use }, &rules);
        prop_assert_eq!(second, Garbage::default());
        let counts = |entry: &&LogEntry| retained.first().is_some_and(|(oldest, _)| entry.number.0 >= *oldest);
        let is_whole = left_log.iter().filter(counts).all(|entry| matches!(entry.content, Content::Record(_)));
        if is_whole && !retained.is_empty() {
            for object in &left {
                let parsed = ObjectName::parse(&object.name).unwrap();
                let is_old = NOW.0 - object.modified.0 > 100_000 && parsed.generation < Generation(5);
                prop_assert!(!is_old || reachable.contains(&object.name) || in_use.contains(&object.name));
            }
        }
    }

    #[test]
    fn a_name_is_parsed_as_it_was_made(
        (folder, operator) in ("[a-z]{1,8}", "[a-z][a-z0-9-]{0,30}"),
        (generation, epoch, subtask, number) in any::<(u64, u64, u32, u32)>(),
    ) {
        let name = ObjectName {
            folder,
            generation: Generation(generation),
            epoch: Epoch(epoch),
            operator: uid(&operator),
            subtask: SubtaskIndex(subtask),
            number,
        };
        prop_assert_eq!(ObjectName::parse(&name.to_string()), Some(name));
    }

    #[test]
    fn no_name_panics(text in "[-a-z0-9/.]{0,40}") {
        if let Some(name) = ObjectName::parse(&text) {
            prop_assert_eq!(name.to_string(), text);
        }
    }
}
