//! What the machine can do at best: copying, finding lines, parsing, remembering.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use hashbrown::HashSet;
use serde::Deserialize;

use crate::input::{InputKind, ensure_input};
use crate::micro::Figure;
use crate::raw::each_line;

/// Bytes copied at a time: more than any cache, so that memory is measured.
const COPY_BYTES: usize = 256 << 20;

#[derive(Deserialize)]
struct Order<'a> {
    #[serde(borrow)]
    event_id: &'a str,
    customer: &'a str,
    ts: i64,
    amount: f64,
    currency: &'a str,
    note: &'a str,
}

/// CPU time of copying `bytes` bytes in memory, on one core.
pub(crate) fn memcpy_cpu_ns(bytes: u64) -> f64 {
    let figure = copy_figure("memcpy", COPY_BYTES as u64);
    figure.median() * bytes as f64
}

/// Copies a large buffer as `pieces` pieces.
fn copy_figure(name: &'static str, pieces: u64) -> Figure {
    let from = vec![1u8; COPY_BYTES];
    let mut to = vec![0u8; COPY_BYTES];
    Figure::per_item(name, pieces, || black_box(&mut to).copy_from_slice(black_box(&from)))
}

/// Figures that no engine can beat.
///
/// # Errors
/// When an input cannot be made or read.
pub(crate) fn raw_figures(directory: &Path, records: u64) -> anyhow::Result<Vec<Figure>> {
    let orders = ensure_input(directory, InputKind::Orders36, records)?;
    let lines = Figure::try_per_item("read lines, 170-byte JSON, per record", records, || {
        each_line(&orders.path, |line| {
            black_box(line);
            Ok(())
        })
    })?;
    let parse = Figure::try_per_item("read lines and serde_json struct, per record", records, || {
        each_line(&orders.path, |line| {
            let order: Order<'_> = serde_json::from_slice(line)?;
            let Order { event_id, customer, ts, amount, currency, note } = order;
            black_box((event_id, customer, ts, amount, currency, note));
            Ok(())
        })
    })?;
    let keys = keys_of(&fs::read(&orders.path)?)?;
    let remember = Figure::per_item("hashbrown check-and-insert, 36-byte keys, per record", records, || {
        let mut seen: HashSet<[u8; 36]> = HashSet::new();
        let new = keys.iter().filter(|key| seen.insert(**key)).count();
        black_box(new);
    });
    let copy = copy_figure("memcpy, per 100 bytes", COPY_BYTES as u64 / 100);
    Ok(vec![copy, lines, parse, remember])
}

fn keys_of(orders: &[u8]) -> anyhow::Result<Vec<[u8; 36]>> {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        event_id: &'a str,
    }
    let lines = orders.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_slice::<Id<'_>>(line)?.event_id.as_bytes().try_into()?)).collect()
}
