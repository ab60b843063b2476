use contract::doubles::ManualClock;
use model::{BatchLimits, Column, Epoch, EventTime, HostTime, Values};

use super::*;
use crate::control::Control;
use crate::epochs::link::EpochLink;
use crate::queue::{Sender, queue};
use crate::registry::Registry;

struct Bench {
    gate: Gate,
    senders: Vec<Sender<StreamElement>>,
    link: Arc<EpochLink>,
    context: Context,
}

impl Bench {
    fn new(inputs: u16) -> Self {
        let arrival: Arc<Signal> = Arc::default();
        let (senders, inlets): (Vec<_>, Vec<_>) = (0..inputs)
            .map(|input| {
                let (sender, receiver) = queue(1 << 20, Arc::clone(&arrival));
                (sender, Inlet { receiver, input: InputId(input) })
            })
            .unzip();
        let control = Arc::new(Control::new(Arc::new(ManualClock::new(HostTime(0))), 1, 0));
        let link = Arc::new(EpochLink::new(Epoch(0), HostTime(0), 0, std::sync::mpsc::sync_channel(8).0));
        let limits = BatchLimits::default();
        let context = Context::new(control, Arc::new(Registry::default()), limits, Some(Arc::clone(&link)), None);
        Self { gate: Gate::new(inlets, arrival), senders, link, context }
    }

    fn send(&self, input: usize, element: StreamElement) {
        self.senders[input].send(element, 0, &self.context.control).unwrap();
    }

    fn record(&self, input: usize, text: &str) {
        let values = Values::from([text].iter().collect::<Column>());
        self.send(input, StreamElement::Batch(RecordBatch { values, ..RecordBatch::default() }));
    }

    fn barrier(&self, input: usize, epoch: u64, watermark: i64) {
        let barrier = Barrier { epoch: Epoch(epoch), watermark: EventTime(watermark) };
        self.send(input, StreamElement::Barrier(barrier));
    }

    fn watermark(&self, input: usize, watermark: i64) {
        self.send(input, StreamElement::Watermark(EventTime(watermark)));
    }

    /// Everything that can be taken now, in words.
    fn taken(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            match self.gate.take(&self.context).unwrap() {
                Arrived::Batch(_, batch) => {
                    words
                        .extend(batch.values.iter().flatten().map(|value| String::from_utf8_lossy(value).into_owned()));
                }
                Arrived::Barrier(barrier, _) => words.push(format!("|{}@{}", barrier.epoch, barrier.watermark)),
                Arrived::Watermark(watermark) => words.push(format!("~{watermark}")),
                Arrived::Nothing => return words,
                Arrived::End => {
                    words.push("end".to_owned());
                    return words;
                }
                Arrived::Unexpected(what) => panic!("{what}"),
            }
        }
    }
}

#[test]
fn what_follows_a_barrier_waits_until_every_input_has_delivered_it() {
    let mut bench = Bench::new(2);
    bench.record(0, "a1");
    bench.barrier(0, 1, 7);
    bench.record(0, "a2");
    bench.record(1, "b1");
    assert_eq!(bench.taken(), ["a1", "b1"]);
    bench.record(1, "b2");
    assert_eq!(bench.taken(), ["b2"]);
    bench.barrier(1, 1, 5);
    bench.record(1, "b3");
    let taken = bench.taken();
    assert_eq!(taken[0], "|1@5");
    assert_eq!(taken.len(), 3);
}

#[test]
fn an_abort_lets_a_held_input_go_on_and_its_late_barrier_holds_nothing() {
    let mut bench = Bench::new(2);
    bench.barrier(0, 1, 0);
    bench.record(0, "a1");
    assert!(bench.taken().is_empty());
    bench.link.abort(Epoch(1));
    assert_eq!(bench.taken(), ["a1"]);
    bench.barrier(1, 1, 0);
    bench.record(1, "b1");
    bench.record(0, "a2");
    let mut taken = bench.taken();
    taken.sort();
    assert_eq!(taken, ["a2", "b1"]);
    bench.barrier(0, 2, 3);
    bench.barrier(1, 2, 4);
    assert_eq!(bench.taken(), ["|2@3"]);
}

#[test]
fn an_input_that_has_ended_is_waited_for_no_more() {
    let mut bench = Bench::new(3);
    bench.barrier(0, 1, 9);
    bench.send(1, StreamElement::EndOfInput);
    assert!(bench.taken().is_empty());
    bench.send(2, StreamElement::EndOfInput);
    bench.record(0, "a1");
    assert_eq!(bench.taken(), ["|1@9", "a1"]);
    bench.send(0, StreamElement::EndOfInput);
    assert_eq!(bench.taken(), ["end"]);
}

#[test]
fn the_watermark_is_the_least_of_the_inputs_and_what_ended_early_holds_it() {
    let mut bench = Bench::new(2);
    bench.watermark(0, 7);
    bench.record(0, "a1");
    assert_eq!(bench.taken(), ["a1"]);
    bench.watermark(1, 5);
    bench.record(1, "b1");
    assert_eq!(bench.taken(), ["~5", "b1"]);
    bench.watermark(1, 9);
    assert_eq!(bench.taken(), ["~7"]);
    bench.send(0, StreamElement::EndOfInput);
    bench.watermark(1, 11);
    assert!(bench.taken().is_empty(), "it was told to stop, and might have brought more");
    bench.send(1, StreamElement::EndOfInput);
    assert_eq!(bench.taken(), ["end"]);
}

#[test]
fn a_watermark_behind_a_barrier_is_of_the_next_epoch() {
    let mut bench = Bench::new(2);
    bench.watermark(1, 10);
    bench.barrier(0, 1, 0);
    bench.watermark(0, 10);
    bench.barrier(1, 1, 0);
    let taken = bench.taken();
    assert_eq!(taken, ["|1@0", "~10"]);
}

#[test]
fn barriers_that_fall_are_a_broken_promise() {
    let mut bench = Bench::new(1);
    bench.barrier(0, 2, 0);
    bench.barrier(0, 1, 0);
    assert_eq!(bench.taken_one(), "|2");
    assert!(bench.taken_one().contains("expected a higher one"));
}

impl Bench {
    fn taken_one(&mut self) -> String {
        match self.gate.take(&self.context).unwrap() {
            Arrived::Barrier(barrier, _) => format!("|{}", barrier.epoch),
            Arrived::Unexpected(what) => what,
            other => panic!("{other:?}"),
        }
    }
}
