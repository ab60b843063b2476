//! The tester's side: records in, what came out, what is kept.

use crate::bindings::types::Descriptor;
use crate::function::Operator;
use crate::glue;
use crate::testing::batch::Ready;
use crate::testing::engine::Engine;
use crate::testing::run::{BadRecord, Run};
use crate::testing::store::StateView;
use crate::testing::{Record, cut};
use crate::{Function, Result, Storable, Timer, Timestamp};

/// As many records as a batch holds where nothing else is said; see [`Harness::batch_size`].
const BATCH_SIZE: usize = 512;

/// A function under test, with the state it has gathered; see the [module](super).
pub struct Harness<F> {
    engine: Engine<F>,
    key_at: Option<String>,
    batch_size: usize,
}

impl<F: Function> Harness<F> {
    /// A function that has seen nothing.
    #[must_use]
    pub fn new<K>() -> Self
    where
        F: Operator<K>,
    {
        Self { engine: Engine::new(), key_at: None, batch_size: BATCH_SIZE }
    }

    /// With what the job file would say under `config`, as JSON.
    #[must_use]
    pub fn config(mut self, json: &str) -> Self {
        json.clone_into(&mut self.engine.task.config);
        self
    }

    /// Cuts the key of each record out of its JSON value, as `key: /id` in a job file does. A record
    /// with a key of its own keeps it.
    #[must_use]
    pub fn key_at(mut self, path: &str) -> Self {
        self.key_at = Some(path.to_owned());
        self
    }

    /// Forms batches of at most that many records; 512 where not said.
    ///
    /// # Panics
    /// When it is 0.
    #[must_use]
    pub fn batch_size(mut self, records: usize) -> Self {
        assert!(records > 0, "a batch has at least one record");
        self.batch_size = records;
        self
    }

    /// Throws the instance away after every batch.
    #[must_use]
    pub fn renew_instances(mut self) -> Self {
        self.engine.renew = true;
        self
    }

    /// Sets the host's clock for the batches that follow, in milliseconds since 1970.
    pub fn set_now(&mut self, millis: i64) {
        self.engine.clocks.now = Timestamp::from_millis(millis);
    }

    /// Sets the watermark for the batches that follow, in milliseconds since 1970.
    pub fn set_watermark(&mut self, millis: i64) {
        self.engine.clocks.watermark = Some(Timestamp::from_millis(millis));
    }

    /// Lets the watermark rise to `millis` since 1970, and the timers fire whose time has come.
    pub fn advance_watermark(&mut self, millis: i64) -> Run {
        self.set_watermark(millis);
        self.fire()
    }

    /// Lets the host's clock go on to `millis` since 1970, and the timers fire whose time has come.
    pub fn advance_clock(&mut self, millis: i64) -> Run {
        self.set_now(millis);
        self.fire()
    }

    /// Ends the input: every event-time timer fires.
    pub fn end_input(&mut self) -> Run {
        self.advance_watermark(Timestamp::END.millis())
    }

    /// The pending timers of a key, in the order of their times, those of event time first.
    #[must_use]
    pub fn timers(&self, key: impl AsRef<[u8]>) -> Vec<Timer> {
        self.engine.timers.of_key(key.as_ref())
    }

    fn fire(&mut self) -> Run {
        let mut run = self.empty_run();
        self.engine.fire(0, self.batch_size, &mut run);
        run
    }

    fn empty_run(&self) -> Run {
        let outputs = self.engine.descriptor.outputs.iter().map(|port| (port.name.clone(), Vec::new())).collect();
        Run { outputs, ..Run::default() }
    }

    /// Opens the function, as submitting a job does: to test what it refuses.
    ///
    /// ```
    /// # use tidegate::prelude::*;
    /// # #[derive(Config)]
    /// # struct Settings { limit: u32 }
    /// # #[tidegate::function]
    /// # struct Limited { #[config] settings: Settings }
    /// # impl Unkeyed for Limited {
    /// #     type In = Bytes;
    /// #     type Out = Forward;
    /// #     fn on_record(&mut self, _: &[u8], _: &mut Context<Self>) -> Result { let _ = self.settings.limit; Ok(()) }
    /// # }
    /// # use tidegate::testing::Harness;
    /// let error = Harness::<Limited>::new().config(r#"{"limit": "ten"}"#).open().unwrap_err();
    /// assert!(error.to_string().starts_with(r#"config.limit is "ten": expected a whole number"#));
    /// ```
    ///
    /// # Errors
    /// When the function refuses its configuration.
    pub fn open(&mut self) -> Result<()> {
        self.engine.open()
    }

    /// Handles records, in order.
    ///
    /// # Panics
    /// When the function refuses its configuration, or a record of a keyed function has no key.
    pub fn run(&mut self, records: impl IntoIterator<Item = Record>) -> Run {
        let mut run = self.empty_run();
        let mut fired = 0;
        let mut waiting: Vec<Ready> = Vec::new();
        for (index, record) in records.into_iter().enumerate() {
            let ready = self.keyed(record, index).and_then(|record| Ready::new(index, record, &self.engine.descriptor));
            match ready {
                Err(message) => run.bad_records.push(BadRecord { index, timer: None, message }),
                Ok(ready) => {
                    let other_input = waiting.first().is_some_and(|first| first.input != ready.input);
                    if other_input || waiting.len() == self.batch_size {
                        self.engine.turn(&std::mem::take(&mut waiting), &mut run);
                        fired += self.engine.fire(fired, self.batch_size, &mut run);
                    }
                    waiting.push(ready);
                }
            }
        }
        self.engine.turn(&waiting, &mut run);
        self.engine.fire(fired, self.batch_size, &mut run);
        run.bad_records.sort_by_key(BadRecord::index);
        run
    }

    /// Handles records in batches of 1, 7 and 512, each with and without throwing instances away, and
    /// checks that what comes out, what is bad and what is kept never differs.
    ///
    /// # Panics
    /// Where it differs: with the batch size and the first record sent that is not the same. Also as
    /// [`Harness::run`].
    pub fn run_every_way(&mut self, records: impl IntoIterator<Item = Record>) -> Run {
        let records: Vec<Record> = records.into_iter().collect();
        let mut first: Option<(Run, Self)> = None;
        for batch_size in [BATCH_SIZE, 7, 1] {
            for renew in [false, true] {
                let mut other = self.fork(batch_size, renew);
                let run = other.run(records.clone());
                match &first {
                    None => first = Some((run, other)),
                    Some((expected, kept)) => {
                        let way = format!("in batches of {batch_size}, instances renewed: {renew}");
                        check_same(expected, &run, &way);
                        assert!(kept.engine.store == other.engine.store, "the state differs {way}");
                        assert!(kept.engine.timers == other.engine.timers, "the timers differ {way}");
                    }
                }
            }
        }
        let (run, kept) = first.expect("there is a first way");
        self.engine.store = kept.engine.store;
        self.engine.timers = kept.engine.timers;
        self.engine.metrics = kept.engine.metrics;
        run
    }

    /// A state, for all keys.
    ///
    /// # Panics
    /// When the function has no state of that name.
    #[must_use]
    pub fn state(&self, name: &str) -> StateView<'_> {
        let known =
            || self.engine.descriptor.states.iter().map(|state| state.name.as_str()).collect::<Vec<_>>().join(", ");
        let state = self.engine.descriptor.states.iter().find(|state| state.name == name);
        StateView::new(
            &self.engine.store,
            state.unwrap_or_else(|| panic!("there is no state `{name}`: known are {}", known())),
        )
    }

    /// A counter as it stands, or the last value of a gauge; 0 where the function has not touched it.
    ///
    /// # Panics
    /// When the function has no metric of that name.
    #[must_use]
    pub fn metric(&self, name: &str) -> f64 {
        let known =
            || self.engine.descriptor.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ");
        let declared = self.engine.descriptor.metrics.iter().any(|metric| metric.name == name);
        assert!(declared, "there is no metric `{name}`: known are {}", known());
        self.engine.metrics.get(name).copied().unwrap_or(0.0)
    }

    /// What `migrate` makes of a value that an older version of a state wrote.
    ///
    /// # Panics
    /// When there is no such state, or it refuses.
    #[must_use]
    pub fn migrated<Old: Storable, New: Storable>(&self, state: &str, from_version: u32, old: &Old) -> New {
        let declared = self.engine.descriptor.states.iter().find(|declared| declared.name == state);
        let declared = declared.unwrap_or_else(|| panic!("there is no state `{state}`"));
        let mut encoded = Vec::new();
        old.encode(&mut encoded).unwrap_or_else(|error| panic!("{error}"));
        let values = std::iter::once(encoded).collect();
        let migrated = glue::migrate::<F>(declared.id, from_version, &values).unwrap_or_else(|error| panic!("{error}"));
        New::decode(migrated.get(0)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What the function says of itself.
    #[doc(hidden)]
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.engine.descriptor
    }

    /// The calls the function made to its host in the last batch.
    #[doc(hidden)]
    #[must_use]
    pub fn last_calls(&self) -> &[&'static str] {
        &self.engine.last_calls
    }

    /// The same function with the same state, to be run another way.
    fn fork(&self, batch_size: usize, renew: bool) -> Self {
        let mut engine = self.engine.fork();
        engine.renew = renew;
        Self { engine, key_at: self.key_at.clone(), batch_size }
    }

    /// The record with its key, where the function needs one.
    fn keyed(&mut self, mut record: Record, index: usize) -> Result<Record, String> {
        if self.engine.descriptor.assigns {
            return self.engine.assigned(record);
        }
        if self.engine.descriptor.keyed && record.key.is_none() {
            let path = self.key_at.as_deref().unwrap_or_else(|| {
                panic!("record {index} has no key: write `Record::…().key(…)` or `Harness::…().key_at(\"/id\")`")
            });
            record.key = Some(cut::key(record.value.as_deref(), path)?);
        }
        Ok(record)
    }
}

/// Panics at the first thing that differs.
fn check_same(expected: &Run, found: &Run, way: &str) {
    for (output, sent) in &expected.outputs {
        let other = found.output(output);
        let differs = sent.iter().zip(other).position(|(one, two)| one != two);
        if let Some(at) = differs {
            panic!("record {at} sent to `{output}` differs {way}:\n{:?}\n{:?}", sent.get(at), other.get(at));
        }
        assert!(sent.len() == other.len(), "{} records are sent to `{output}`, {} {way}", sent.len(), other.len());
    }
    assert!(
        expected.bad_records == found.bad_records,
        "the bad records differ {way}:\n{:?}\n{:?}",
        expected.bad_records,
        found.bad_records
    );
}
