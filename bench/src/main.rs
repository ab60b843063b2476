//! Benchmarks: how fast the engine is, against what it could be.
//!
//! ```text
//! cargo xtask bench -- --quick --case dedup
//! ```
//!
//! # Words
//! - *case*: an input and the work done on it; *variant*: who does the work
//! - *guest*: the engine with a sandboxed function; *native*: the engine with the same function in Rust;
//!   *raw*: a bare loop without an engine
//! - *round*: every variant of a case once; odd rounds run backwards (A B B A), and a ratio is always
//!   taken within one round
//!
//! # Invariants
//! 1. A time counts only after the variant's output was found equal to the raw loop's: the same number of
//!    records, the same order-insensitive checksum.
//! 2. Every run is a process of its own, reads the same file from the page cache, and counts every
//!    thread's CPU time.
//! 3. No run is dropped, no best is picked: a figure is a median, with its range beside it.

mod args;
mod cases;
mod checkpoints;
mod engine;
mod entries;
mod epochs;
mod guests;
mod input;
mod measure;
mod micro;
mod native;
mod one_run;
mod raw;
mod report;
mod restarts;
mod room;
mod rounds;
mod stored;
mod suite;
mod tally;

use std::fs;
use std::io::{self, Write};

use anyhow::Context;
use clap::Parser;
use mimalloc::MiMalloc;

use args::Args;

/// The allocator of the shipped binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut out = io::stdout().lock();
    if let Some(spec) = &args.one_run {
        let result = one_run::here(&serde_json::from_str(spec).context("read what to run")?)?;
        serde_json::to_writer(&mut out, &result)?;
        return Ok(());
    }
    if args.list {
        for case in cases::CASES.iter().filter(|case| args.wants(case.name)) {
            writeln!(out, "{:<16} {}", case.name, case.title)?;
        }
        for (name, title) in cases::STATE_CASES.iter().filter(|(name, _)| args.wants(name)) {
            writeln!(out, "{name:<16} {title}")?;
        }
        return Ok(());
    }
    let report = suite::run(&args, &mut |line| {
        // A reader that went away does not stop a measurement.
        writeln!(out, "{line}").ok();
    })?;
    let path = args.directory.join("report.json");
    fs::write(&path, serde_json::to_vec_pretty(&report)?).with_context(|| format!("write {}", path.display()))?;
    writeln!(out, "report: {}", path.display())?;
    Ok(())
}
