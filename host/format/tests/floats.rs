//! Floats come out as the nearest float to what is written, so that what is encoded is read back the same.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

use format::{Cut, CutKind, Decoder, Encoder, Format};
use model::{Cells, Column, FieldColumn, FieldKind, FieldSpec, Values};
use proptest::prelude::*;

fn decode(document: &str) -> f64 {
    let cut = Cut { path: "/x".to_owned(), kind: CutKind::Field(FieldKind::Float), required: true };
    let mut decoder = Decoder::new(&Format::Json, &[cut]).expect("a good cut");
    let values: Column = [document.as_bytes()].iter().collect();
    let decoded = decoder.decode(&Values::from(values));
    assert!(decoded.faults.is_empty(), "{document}: {:?}", decoded.faults);
    match decoded.columns.first().map(|column| &column.cells) {
        Some(Cells::Floats(cells)) => cells[0],
        other => panic!("floats were asked for: {other:?}"),
    }
}

fn encode(value: f64) -> String {
    let field = FieldSpec { name: "x".to_owned(), path: "/x".to_owned(), kind: FieldKind::Float, required: true };
    let mut encoder = Encoder::new(&Format::Json, &[field]).expect("a good field");
    let column = FieldColumn { present: Vec::new(), cells: Cells::Floats(vec![value]) };
    let encoded = encoder.encode(&[column]).expect("a finite float");
    String::from_utf8(encoded.get(0).to_vec()).expect("JSON is UTF-8")
}

proptest! {
    #[test]
    fn every_finite_float_survives_encoding_and_decoding(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        prop_assert_eq!(decode(&encode(value)).to_bits(), value.to_bits());
    }

    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them(text in r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?") {
        prop_assume!(text.contains(['.', 'e', 'E']));
        let nearest: f64 = text.parse().expect("a number");
        prop_assert_eq!(decode(&format!("{{\"x\":{text}}}")).to_bits(), nearest.to_bits(), "{}", text);
    }
}

#[test]
fn the_largest_float_is_read_and_the_next_number_is_refused() {
    assert_eq!(decode("{\"x\":1.7976931348623157e308}"), f64::MAX);
    assert_eq!(decode("{\"x\":17976931348623157e292}"), f64::MAX);
    let cut = Cut { path: "/x".to_owned(), kind: CutKind::Field(FieldKind::Float), required: true };
    let mut decoder = Decoder::new(&Format::Json, &[cut]).expect("a good cut");
    let values: Column = ["{\"x\":1.7976931348623159e308}".as_bytes()].iter().collect();
    assert_eq!(decoder.decode(&Values::from(values)).faults.len(), 1);
}
