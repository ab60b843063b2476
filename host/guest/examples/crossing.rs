//! What a crossing costs: `cargo run -p guest --example crossing [SECONDS_PER_CASE]`.
//!
//! Prints ns per record for guests that forward (`echo`, with and without the value copied in) and that
//! keep the first record of each key (`dedup`), by batch size, with fuel counted and not, and what an
//! instance costs. Each figure is the median of many batches; fuel on and off are interleaved.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measuring program"
)]

#[path = "../tests/behaviour/kit.rs"]
mod kit;

use std::time::{Duration, Instant};

use contract::doubles::ScriptedState;
use contract::{FunctionFactory, Turn, UserFunction};
use guest::{Compiler, GuestFactory, GuestFunction, Limits, Module, Sandbox, SandboxOptions};
use std::sync::Arc;

const BATCH_ROWS: [usize; 4] = [1, 64, 1024, 4096];
const VALUE_BYTES: usize = 170;

/// A turn of `rows` records of 170 bytes, each with a key of 36 bytes, a fifth of them repeated.
fn turn_of(rows: usize, keyed: bool) -> Turn {
    let value = "x".repeat(VALUE_BYTES);
    let values: Vec<&str> = vec![&value; rows];
    let keys: Vec<String> = (0..rows).map(|row| format!("{:036}", row - row % 5 % 2)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    if keyed { kit::keyed_turn(&values, &keys, Box::new(ScriptedState::empty())) } else { kit::turn(&values) }
}

/// Runs the turn for a while; ns of each run.
fn measure(function: &mut GuestFunction, turn: &mut Turn, time: Duration, into: &mut Vec<f64>) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        let start = Instant::now();
        function.process(turn).expect("the guest is honest");
        into.push(start.elapsed().as_secs_f64() * 1e9);
        turn.staged.clear();
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

fn open(module: &Arc<Module>) -> GuestFunction {
    let factory = GuestFactory::new(Arc::clone(module), Limits::default()).expect("the limits can be kept");
    factory.open(&kit::task("{}")).expect("it opens")
}

fn crossings(name: &str, sandboxes: &[Sandbox; 2], seconds: f64) {
    let modules = sandboxes.each_ref().map(|sandbox| sandbox.load(&kit::component(name)).expect("it loads"));
    for rows in BATCH_ROWS {
        let keyed = modules[0].descriptor().keyed;
        let mut functions = modules.each_ref().map(open);
        let mut samples = [Vec::new(), Vec::new()];
        let mut turn = turn_of(rows, keyed);
        let slice = Duration::from_secs_f64(seconds / 20.0);
        for round in 0..20 {
            for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                measure(&mut functions[which], &mut turn, slice, &mut samples[which]);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
        let per_record = samples.map(|samples| median(samples) / rows as f64);
        let [on, off] = per_record;
        println!("{name:>8} {rows:>6} {on:>12.1} {off:>12.1} {:>8.2}", on / off);
    }
}

fn instances(sandbox: &Sandbox, name: &str) {
    let module = sandbox.load(&kit::component(name)).expect("it loads");
    let factory = GuestFactory::new(module, Limits::default()).expect("the limits can be kept");
    let mut samples = Vec::new();
    for _ in 0..2000 {
        let start = Instant::now();
        let function = factory.instantiate(&kit::task("{}")).expect("it opens");
        samples.push(start.elapsed().as_secs_f64() * 1e6);
        drop(function);
    }
    println!("instance with open, `{name}`: {:.1} µs", median(samples));
    let mut function = factory.open(&kit::task("{}")).expect("it opens");
    let mut turn = turn_of(64, factory.descriptor().keyed);
    let mut samples = Vec::new();
    for _ in 0..2000 {
        function.process(&mut turn).expect("the guest is honest");
        turn.staged.clear();
        let start = Instant::now();
        function.renew().expect("it renews");
        samples.push(start.elapsed().as_secs_f64() * 1e6);
    }
    println!("renew after a batch of 64, `{name}`: {:.1} µs", median(samples));
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let sandboxes = [true, false].map(|fuel| {
        let options = SandboxOptions { fuel, ..SandboxOptions::default() };
        Sandbox::new(&options, Compiler::in_process()).expect("there is address space")
    });
    println!("   guest   rows  fuel ns/rec  none ns/rec    ratio");
    crossings("echo", &sandboxes, seconds);
    crossings("echo_keys", &sandboxes, seconds);
    crossings("dedup", &sandboxes, seconds);
    instances(&sandboxes[0], "echo");
    instances(&sandboxes[0], "dedup");
}
