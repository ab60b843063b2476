use std::collections::HashSet;

use super::{BINARY_BYTES, InputKind, ORDER_BYTES, ensure_input, write_record};

fn record(kind: InputKind, number: u64) -> Vec<u8> {
    let mut line = Vec::new();
    write_record(&mut line, kind, number);
    line
}

#[test]
fn every_order_is_json_of_the_length_promised() {
    for kind in [InputKind::Orders16, InputKind::Orders36] {
        for number in 0..2_000 {
            let line = record(kind, number);
            assert_eq!(line.len(), ORDER_BYTES);
            let order: serde_json::Value = serde_json::from_slice(&line).unwrap();
            let id_bytes = if kind == InputKind::Orders16 { 16 } else { 36 };
            assert_eq!(order["event_id"].as_str().unwrap().len(), id_bytes);
        }
    }
}

#[test]
fn about_one_order_in_five_repeats_an_earlier_one() {
    let lines: HashSet<Vec<u8>> = (0..10_000).map(|number| record(InputKind::Orders36, number)).collect();
    let repeats = 10_000 - lines.len();
    assert!((1_700..2_300).contains(&repeats), "{repeats} repeats");
}

#[test]
fn binary_records_are_lines_of_the_length_promised() {
    let line = record(InputKind::Binary, 7);
    assert_eq!(line.len(), BINARY_BYTES);
    assert!(!line.contains(&b'\n'));
}

#[test]
fn a_kept_input_that_was_changed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let made = ensure_input(directory.path(), InputKind::Words, 100).unwrap();
    assert_eq!(ensure_input(directory.path(), InputKind::Words, 100).unwrap(), made);
    std::fs::write(&made.path, b"other\n").unwrap();
    let refusal = ensure_input(directory.path(), InputKind::Words, 100).unwrap_err();
    assert!(refusal.to_string().contains("is not what was written"), "{refusal}");
}
