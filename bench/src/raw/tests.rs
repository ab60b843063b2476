use std::io::Write;

use super::{each_line, run};
use crate::cases::Work;
use crate::tally::{Out, Summing, Tally};

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    file
}

fn check(work: Work, input: &[u8], expected: &[&str]) {
    let found = run(work, file(input).path(), &mut Summing::default()).unwrap();
    let mut sum = Tally::default();
    expected.iter().for_each(|record| sum.sum(record.as_bytes()));
    assert_eq!(found, sum);
}

const ORDERS: &[u8] =
    br#"{"event_id":"0123456789abcdef","customer":"c","ts":1,"amount":499.5,"currency":"EUR","note":""}
{"event_id":"fedcba9876543210","customer":"c","ts":2,"amount":500.25,"currency":"EUR","note":""}
{"event_id":"0123456789abcdef","customer":"c","ts":1,"amount":499.5,"currency":"EUR","note":""}
"#;

#[test]
fn lines_may_cross_the_buffer_and_the_last_needs_no_line_feed() {
    let long = "x".repeat(100_000);
    let text = format!("{long}\n{long}\n{long}\n{long}\nlast");
    let mut lengths = Vec::new();
    each_line(file(text.as_bytes()).path(), |line| {
        lengths.push(line.len());
        Ok(())
    })
    .unwrap();
    assert_eq!(lengths, [100_000, 100_000, 100_000, 100_000, 4]);
}

#[test]
fn a_filter_keeps_lines_that_end_in_a_letter() {
    check(Work::FilterBinary, b"ab\na1\n\nc\n", &["ab", "c"]);
}

#[test]
fn a_map_writes_the_first_bytes_in_capitals() {
    check(Work::MapBinary, b"abcdefghijklmnopqrst\n", &["ABCDEFGHIJKLMNOPqrst"]);
}

#[test]
fn a_filter_on_json_keeps_large_amounts() {
    check(Work::FilterJson, ORDERS, &[ORDERS_SECOND]);
}

const ORDERS_SECOND: &str =
    r#"{"event_id":"fedcba9876543210","customer":"c","ts":2,"amount":500.25,"currency":"EUR","note":""}"#;

#[test]
fn a_map_on_json_writes_two_fields() {
    let first = r#"{"event_id":"0123456789abcdef","amount":499.5}"#;
    let second = r#"{"event_id":"fedcba9876543210","amount":500.25}"#;
    check(Work::MapJson, ORDERS, &[first, second, first]);
}

#[test]
fn dedup_keeps_the_first_of_each_id() {
    let lines: Vec<&str> = std::str::from_utf8(ORDERS).unwrap().lines().take(2).collect();
    check(Work::Dedup, ORDERS, &lines);
}

#[test]
fn words_are_counted_as_they_come() {
    let expected = [r#"{"word":"a","count":1}"#, r#"{"word":"b","count":1}"#, r#"{"word":"a","count":2}"#];
    check(Work::Words, b"a b\na\n", &expected);
}

#[test]
fn the_checksum_does_not_depend_on_the_order() {
    let (mut forward, mut backward) = (Summing::default(), Summing::default());
    for record in ["a", "b", "c"] {
        forward.put(record.as_bytes()).unwrap();
    }
    for record in ["c", "b", "a"] {
        backward.put(record.as_bytes()).unwrap();
    }
    assert_eq!(forward.finish().unwrap(), backward.finish().unwrap());
}
