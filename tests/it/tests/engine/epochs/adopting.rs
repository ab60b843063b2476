//! A manifest that no running job made, put into the log of a job.

use contract::doubles::MemorySink;
use contract::{CheckpointStore, Creation, Error, Nonce, ObjectNumber, StoredObject};
use model::{Blame, Generation, JobName, LineageId, Retry};
use protocol::manifest::{LogRecord, Manifest, decode};
use runtime::adopt;

use super::support::{Draws, Width, World, counting, few_keys};

/// The newest record of a log, as a newer program wrote it.
struct Newer<'a>(&'a dyn CheckpointStore);

impl CheckpointStore for Newer<'_> {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        self.0.create(number, nonce, body)
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, Error> {
        self.0.list()
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        if self.list()?.last() == Some(&number) {
            return Err(Error::new(Blame::Config, Retry::No, "format version 9, expected at most 1").with_code("E0402"));
        }
        self.0.read(number)
    }

    fn remove(&self, number: ObjectNumber) -> Result<(), Error> {
        self.0.remove(number)
    }
}

fn newest(log: &dyn CheckpointStore) -> LogRecord {
    let number = *log.list().unwrap().last().unwrap();
    decode(&log.read(number).unwrap().unwrap().body).unwrap()
}

/// Adopts `manifest` in another lineage.
fn adopted(log: &dyn CheckpointStore, manifest: &Manifest) -> Result<Manifest, Error> {
    let job: &JobName = &manifest.job;
    let make = |generation: Generation| Ok(Manifest { generation, lineage: LineageId(7), ..manifest.clone() });
    adopt(log, &Draws::from(1_000), job, "a person", LineageId(7), make)
}

fn after_a_run() -> (World, Manifest) {
    let world = World::new();
    let sink = MemorySink::default().exactly_once();
    world.finish(&counting(&few_keys(1, 20), &sink, Width { sources: 1, counts: 1, sinks: 1 }));
    let LogRecord::Complete(manifest) = newest(world.log.as_ref()) else { panic!("a run ends with a manifest") };
    (world, *manifest)
}

#[test]
fn what_is_adopted_is_the_newest_record_of_a_newer_generation() {
    let (world, manifest) = after_a_run();
    world.log.lose_answers(2);
    let taken = adopted(world.log.as_ref(), &manifest).unwrap();
    assert!(taken.generation > manifest.generation);
    assert_eq!(newest(world.log.as_ref()), LogRecord::Complete(Box::new(taken)));
}

#[test]
fn the_log_of_a_newer_program_is_not_added_to() {
    let (world, manifest) = after_a_run();
    let before = world.log.list().unwrap();
    let error = adopted(&Newer(world.log.as_ref()), &manifest).unwrap_err();
    assert_eq!(error.code(), Some("E0431"), "{error}");
    assert_eq!(world.log.list().unwrap(), before);
}
