//! How long a cut takes, against parsing a struct with `serde_json`:
//! `cargo run --release -p format --example cut_speed [ROUNDS] [NAME]`,
//! where NAME is the beginning of the one line to measure.
//!
//! Records of about 170 bytes, a key and three fields, batches of 4096. Both sides check the whole record
//! and are interleaved; the median of the rounds is printed.
#![expect(clippy::print_stdout, reason = "it is its purpose")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use format::{Cut, CutKind, Decoder, Format};
use model::{Cells, FieldKind, Span, Values};
use serde::Deserialize;

const ROWS: usize = 4096;
const BATCHES: usize = 5;

/// What is cut out, as `serde_json` reads it.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    event_id: std::borrow::Cow<'a, str>,
    ts: i64,
    amount: f64,
    #[serde(borrow)]
    country: std::borrow::Cow<'a, str>,
}

/// A whole record, as `serde_json` reads it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "read to be thrown away")]
struct WholeEvent {
    event_id: String,
    ts: i64,
    user: String,
    r#type: String,
    amount: f64,
    currency: String,
    country: String,
    session: String,
}

/// A name, and what runs over a batch.
type Side<'a> = (&'a str, &'a mut dyn FnMut(&Values));

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(101);
    let only = std::env::args().nth(2).unwrap_or_default();
    let batches: Vec<Values> = (0..BATCHES).map(batch).collect();
    let bytes: usize = batches.iter().map(Values::total_bytes).sum();
    println!("{} records of {} bytes", ROWS * BATCHES, bytes / (ROWS * BATCHES));
    let mut decoder = Decoder::new(&Format::Json, &cuts()).expect("the cuts are right");
    let mut three = Decoder::new(&Format::Json, cuts().get(1..).expect("four cuts")).expect("the cuts are right");
    let mut none = Decoder::new(&Format::Json, &[]).expect("no cuts are right");
    let mut sides: [Side<'_>; 6] = [
        ("cut a key and three fields", &mut |values| cut(&mut decoder, values)),
        ("cut three fields", &mut |values| cut(&mut three, values)),
        ("check only", &mut |values| cut(&mut none, values)),
        ("UTF-8 of the batch alone", &mut |values| {
            black_box(simdutf8::basic::from_utf8(values.arena()).is_ok());
        }),
        ("serde_json, struct of four borrowed", &mut |values| {
            each(values, |bytes| {
                let event: Event<'_> = serde_json::from_slice(bytes).expect("generated records are right");
                black_box((event.event_id.len(), event.ts, event.amount, event.country.len()));
            })
        }),
        ("serde_json, whole struct owned", &mut |values| {
            each(values, |bytes| {
                black_box(serde_json::from_slice::<WholeEvent>(bytes).expect("generated records are right"));
            })
        }),
    ];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for ((_, run), times) in sides.iter_mut().zip(&mut times).filter(|((name, _), _)| name.starts_with(&only)) {
            let start = Instant::now();
            batches.iter().for_each(&mut *run);
            times.push(start.elapsed().as_secs_f64() * 1e9 / (ROWS * BATCHES) as f64);
        }
    }
    for ((name, _), times) in sides.iter().zip(&mut times).filter(|(_, times)| !times.is_empty()) {
        times.sort_by(f64::total_cmp);
        let (least, median) = (times.first().unwrap_or(&0.0), times.get(times.len() / 2).unwrap_or(&0.0));
        println!("{name:40} {median:6.1} ns per record (least {least:.1})");
    }
}

fn cut(decoder: &mut Decoder, values: &Values) {
    let decoded = decoder.decode(values);
    assert!(decoded.faults.is_empty(), "generated records are right");
    for column in &decoded.columns {
        if let Cells::Texts(cells) = &column.cells {
            black_box(cells.bytes().len());
        }
    }
    black_box(decoded);
}

fn each(values: &Values, mut parse: impl FnMut(&[u8])) {
    values.iter().flatten().for_each(&mut parse);
}

fn cuts() -> Vec<Cut> {
    let cut = |path: &str, kind| Cut { path: path.to_owned(), kind, required: true };
    vec![
        cut("/event_id", CutKind::Key),
        cut("/ts", CutKind::Field(FieldKind::Timestamp)),
        cut("/amount", CutKind::Field(FieldKind::Float)),
        cut("/country", CutKind::Field(FieldKind::Text)),
    ]
}

/// Records of one shape with varying values, one after the other in lines.
fn batch(number: usize) -> Values {
    const COUNTRIES: [&str; 4] = ["DE", "FR", "GB", "NL"];
    const TYPES: [&str; 3] = ["purchase", "refund", "view"];
    let mut arena = String::new();
    let mut spans = Vec::new();
    let mut random = number as u64 + 1;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 16
    };
    for row in 0..ROWS {
        let start = arena.len();
        let (a, b, c) = (next(), next(), next());
        arena += &format!(
            "{{\"event_id\":\"{:08x}-{:04x}-{:012x}\",\"ts\":{},\"user\":\"user-{}\",\"type\":\"{}\",\"amount\":{}.{:02},\"currency\":\"EUR\",\"country\":\"{}\",\"session\":\"{:012x}\"}}",
            a as u32,
            b as u16,
            c & 0xffff_ffff_ffff,
            1_700_000_000_000 + row as u64 * 37,
            b % 100_000,
            TYPES.get((a % 3) as usize).unwrap_or(&""),
            c % 1000,
            b % 100,
            COUNTRIES.get((b % 4) as usize).unwrap_or(&""),
            next() & 0xffff_ffff_ffff,
        );
        let span = |at: usize| u32::try_from(at).expect("a batch is small");
        spans.push(Span { start: span(start), end: span(arena.len()) });
        arena.push('\n');
    }
    Values::new(Arc::new(arena.into_bytes()), spans)
}
