//! Kills, faults and rescales in any order that a seed gives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::doubles::{Fault, MemorySink, StoreCall};

use super::support::{LONG, Tap, Width, World, assert_counted, counting, few_keys};
use crate::support::Job;
use crate::timers::support::{assert_sessions, sessions_job, visits};

/// What is put through it.
#[derive(Clone, Copy)]
struct Subject {
    tap: fn(u32, u64) -> Tap,
    job: fn(&Tap, &MemorySink, Width) -> Job,
    check: fn(&Tap, Vec<String>),
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn width(&mut self) -> Width {
        let counts = u32::try_from(1 + self.below(5)).unwrap();
        Width { sources: u32::try_from(1 + self.below(3)).unwrap(), counts, sinks: counts }
    }
}

fn arrange(dice: &mut Dice, world: &World, sink: &MemorySink) {
    let times = u32::try_from(1 + dice.below(2)).unwrap();
    match dice.below(7) {
        0 => world.log.inject(StoreCall::Create, Fault::AnswerLost, times),
        1 => world.log.inject(StoreCall::Create, Fault::NoAnswer, times),
        2 => world.objects.inject(StoreCall::Put, Fault::AnswerLost, times),
        3 => world.objects.inject(StoreCall::Put, Fault::NoAnswer, times),
        4 => sink.lose_answers(1),
        5 => sink.fail_to_publish(1, "the target is away"),
        _ => {}
    }
}

/// One life of the job: some input, some checkpoints, and an end that is sudden.
fn live(subject: Subject, dice: &mut Dice, world: &World, sink: &MemorySink, tap: &Tap, open: &mut u64) {
    let handle = world.start(&(subject.job)(tap, sink, dice.width()));
    for _ in 0..1 + dice.below(3) {
        *open += dice.below(150);
        tap.open_to(*open);
        arrange(dice, world, sink);
        match dice.below(3) {
            0 => drop(handle.checkpoint(Duration::from_millis(dice.below(30)))),
            1 => drop(handle.checkpoint(LONG)),
            _ => {}
        }
    }
    handle.abandon();
}

fn run(subject: Subject, seed: u64) {
    let mut dice = Dice(seed);
    let (mut world, sink) = (World::new(), MemorySink::default().exactly_once());
    world.options.timeout = LONG * 1_000;
    let tap = (subject.tap)(4, 2_500).opened_to(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Time passes much faster than outside, so that what waits for it waits little.
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                world.clock.advance(Duration::from_millis(20));
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        let mut open = 0;
        for _ in 0..12 {
            live(subject, &mut dice, &world, &sink, &tap, &mut open);
        }
        tap.open_to(u64::MAX);
        let last = world.start(&(subject.job)(&tap, &sink, dice.width())).wait();
        is_over.store(true, Ordering::SeqCst);
        last.unwrap_or_else(|failure| panic!("seed {seed}: the job failed: {failure}"));
    });
    (subject.check)(&tap, sink.texts());
}

/// How many seeds are tried: `TIDEGATE_SEEDS`, or few.
fn seeds() -> u64 {
    std::env::var("TIDEGATE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn check(subject: Subject) {
    for seed in 1..=seeds() {
        let ran = std::panic::catch_unwind(|| run(subject, seed));
        ran.unwrap_or_else(|_| panic!("see above: the seed is {seed}"));
    }
}

#[test]
fn kills_faults_and_rescales_in_any_order_lose_and_double_nothing() {
    check(Subject { tap: few_keys, job: counting, check: |tap, texts| assert_counted(tap, &texts) });
}

#[test]
fn kills_faults_and_rescales_in_any_order_lose_and_double_no_timer() {
    check(Subject { tap: visits, job: sessions_job, check: assert_sessions });
}
