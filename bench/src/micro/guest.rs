//! What the sandbox costs: a crossing, a column, an instance, a trap, a compilation.

use std::hint::black_box;
use std::path::Path;

use anyhow::ensure;
use contract::{FunctionFactory, InputBatch, ProcessError, Task, Turn, UserFunction};
use guest::{Compiler, Sandbox, SandboxOptions};
use model::{Column, EventTime, JobName, OperatorUid, Parallelism, RecordBatch, SubtaskIndex, Values};

use crate::engine::guest_factory;
use crate::guests::component_path;
use crate::micro::Figure;

/// Calls in one measurement of a short operation.
const CALLS: u64 = 2_000;
/// Rows of a full batch.
const ROWS: usize = 4096;
/// Bytes of a row.
const ROW_BYTES: usize = 100;

/// Figures of the sandbox, with the components in `directory`.
///
/// # Errors
/// When a component does not load, or a function fails where it must not.
pub(crate) fn guest_figures(directory: &Path) -> anyhow::Result<Vec<Figure>> {
    let dedup = std::fs::read(component_path(directory, "dedup"))?;
    let compile = Figure::try_per_item("compile a component (dedup)", 1, || {
        let sandbox = Sandbox::new(&SandboxOptions::default(), Compiler::in_process())?;
        black_box(sandbox.load(&dedup)?);
        Ok(())
    })?;
    let mut figures = vec![compile, instance(directory)?];
    for fuel in [true, false] {
        figures.extend(crossings(directory, fuel)?);
    }
    figures.push(trap(directory)?);
    Ok(figures)
}

fn task() -> anyhow::Result<Task> {
    Ok(Task {
        job: JobName::new("bench")?,
        operator: OperatorUid::new("function")?,
        subtask: SubtaskIndex(0),
        parallelism: Parallelism(1),
        config: "{}".to_owned(),
    })
}

fn factory(directory: &Path, name: &str, fuel: bool) -> anyhow::Result<std::sync::Arc<dyn FunctionFactory>> {
    guest_factory(&component_path(directory, name), fuel, &directory.join("compiled"))
}

/// The target for a new instance, `open` included: 50 µs.
const INSTANCE_NS: f64 = 50_000.0;

fn instance(directory: &Path) -> anyhow::Result<Figure> {
    let (factory, task) = (factory(directory, "dedup", true)?, task()?);
    let figure = Figure::try_per_item("new instance, open included (dedup)", CALLS, || {
        for _ in 0..CALLS {
            black_box(factory.instantiate(&task)?);
        }
        Ok(())
    })?;
    Ok(figure.at_most(INSTANCE_NS))
}

fn turn(rows: usize) -> Turn {
    let row = [b'x'; ROW_BYTES];
    let values: Column = (0..rows).map(|_| row).collect();
    let records =
        RecordBatch { values: Values::from(values), timestamps: vec![EventTime(0); rows], ..RecordBatch::default() };
    Turn { batch: InputBatch { records, ..InputBatch::default() }, ..Turn::default() }
}

/// Calls a function `calls` times with a batch of `rows` rows; the time per `items`.
fn calls(
    directory: &Path,
    (name, fuel): (&str, bool),
    title: &'static str,
    (calls, rows): (u64, usize),
    items: u64,
) -> anyhow::Result<Figure> {
    let mut function = factory(directory, name, fuel)?.instantiate(&task()?)?;
    let mut turn = turn(rows);
    Figure::try_per_item(title, items, || {
        for _ in 0..calls {
            turn.staged.clear();
            process(&mut *function, &mut turn)?;
        }
        Ok(())
    })
}

fn process(function: &mut dyn UserFunction, turn: &mut Turn) -> anyhow::Result<()> {
    function.process(turn).map_err(|error| match error {
        ProcessError::Function(failure) => anyhow::anyhow!("{failure}"),
        ProcessError::Host(error) => error.into(),
    })
}

fn crossings(directory: &Path, fuel: bool) -> anyhow::Result<Vec<Figure>> {
    let batches = CALLS / 20;
    let records = batches * ROWS as u64;
    let title = |with: &'static str, without: &'static str| if fuel { with } else { without };
    Ok(vec![
        calls(
            directory,
            ("pass", fuel),
            title("crossing, a batch of 1 row (pass)", "crossing, a batch of 1 row, fuel off"),
            (CALLS, 1),
            CALLS,
        )?,
        calls(
            directory,
            ("pass", fuel),
            title("forward, per record (pass, 4096 rows)", "forward, per record, fuel off"),
            (batches, ROWS),
            records,
        )?,
        calls(
            directory,
            ("filter-binary", fuel),
            title("100-byte values in, per record (filter)", "100-byte values in, per record, fuel off"),
            (batches, ROWS),
            records,
        )?,
        calls(
            directory,
            ("map-binary", fuel),
            title("100-byte values in and out, per record (map)", "100-byte values in and out, per record, fuel off"),
            (batches, ROWS),
            records,
        )?,
    ])
}

fn trap(directory: &Path) -> anyhow::Result<Figure> {
    let mut function = factory(directory, "trap", true)?.instantiate(&task()?)?;
    let mut turn = turn(1);
    let traps = CALLS / 10;
    Figure::try_per_item("trap and new instance", traps, || {
        for _ in 0..traps {
            turn.staged.clear();
            let trapped = matches!(function.process(&mut turn), Err(ProcessError::Function(_)));
            ensure!(trapped, "the function did not trap");
            function.renew()?;
        }
        Ok(())
    })
}
