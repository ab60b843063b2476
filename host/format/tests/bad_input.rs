//! Bad input ends as documented: one fault that says what and where, its row absent, its neighbours
//! untouched.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use format::{CsvFormat, Cut, CutKind, Decoder, FaultKind, Format, TimeUnit};
use model::{Cells, Column, FieldKind, OptionalColumn, Span, Values};

fn cut(path: &str, kind: CutKind, required: bool) -> Cut {
    Cut { path: path.to_owned(), kind, required }
}

fn field(path: &str, kind: FieldKind) -> Cut {
    cut(path, CutKind::Field(kind), true)
}

/// The fault of `value` between two good ones, which must not notice.
fn fault_of(format: &Format, cut: &Cut, good: &[u8], value: &[u8]) -> Option<(FaultKind, bool, String)> {
    let mut decoder = Decoder::new(format, std::slice::from_ref(cut)).unwrap();
    let decoded = decoder.decode(&Values::from([good, value, good].iter().collect::<Column>()));
    let column = &decoded.columns[0];
    assert_eq!(column.len(), 3);
    assert!(column.is_present(0) && column.is_present(2), "a neighbour suffers from {}", value.escape_ascii());
    assert!(decoded.faults.len() <= 1, "{:?}", decoded.faults);
    let fault = decoded.faults.into_iter().next()?;
    assert_eq!(fault.row, 1);
    assert!(!column.is_present(1), "the row of a fault has a cell");
    Some((fault.kind, fault.cut.is_none(), fault.message))
}

fn check_json(cut: &Cut, good: &str, value: &[u8], kind: FaultKind, whole: bool, says: &str) {
    let shown = value.escape_ascii();
    let fault = fault_of(&Format::Json, cut, good.as_bytes(), value);
    let Some((found, broken, message)) = fault else { panic!("{shown} is no fault") };
    assert_eq!((found, broken), (kind, whole), "{shown}: {message}");
    assert!(message.contains(says), "{shown}: {message}");
}

#[test]
fn a_broken_document_is_one_fault_of_its_row() {
    use FaultKind::{Bom, BrokenJson, EmptyValue, InvalidUtf8, NumberOutOfRange, TooDeep, TrailingBytes};
    let key = cut("/id", CutKind::Key, true);
    let deep = "[".repeat(128);
    let cases: [(&[u8], FaultKind, &str); 30] = [
        (b"", EmptyValue, "found 0 bytes"),
        (b" \r\n", EmptyValue, "found 3 bytes"),
        (b"\xef\xbb\xbf{\"id\":1}", Bom, "byte order mark at byte 0"),
        (b"{\"id\":1", BrokenJson, "found the end at byte 7"),
        (b"{\"id\":1,}", BrokenJson, "expected a member name in quotes or `}`, found `}` at byte 8"),
        (b"{\"id\":1 \"b\":2}", BrokenJson, "expected `,` or `}` after a member, found `\"b\":2}` at byte 8"),
        (b"{\"id\" 1}", BrokenJson, "expected `:` after a member name"),
        (b"{id:1}", BrokenJson, "expected a member name in quotes"),
        (b"{\"id\":1}}", TrailingBytes, "found `}` at byte 8"),
        (b"{\"id\":1} {\"id\":2}", TrailingBytes, "at byte 9"),
        (b"{\"id\":[1 2]}", BrokenJson, "expected `,` or `]` after an element"),
        (b"{\"id\":[1,]}", BrokenJson, "expected a JSON value, found `]}`"),
        (b"{\"id\":\"a\nb\"}", BrokenJson, "expected no control character in a string"),
        (b"{\"id\":\"a\\qb\"}", BrokenJson, "after a backslash"),
        (b"{\"id\":\"\\ud800\"}", BrokenJson, "surrogate pair"),
        (b"{\"id\":\"\\udc00\\ud800\"}", BrokenJson, "surrogate pair"),
        (b"{\"id\":\"abc", BrokenJson, "inside a string"),
        (b"{\"id\":01}", BrokenJson, "leading zeros"),
        (b"{\"id\":1.}", BrokenJson, "expected a number like"),
        (b"{\"id\":+1}", BrokenJson, "expected a JSON value, found `+1}`"),
        (b"{\"id\":1e400}", NumberOutOfRange, "expected a number that fits a 64-bit float, found `1e400}` at byte 6"),
        (b"{\"id\":1,\"other\":-1e400}", NumberOutOfRange, "64-bit float"),
        (b"{\"id\":\"\xff\"}", InvalidUtf8, "found `\\xff\"}` at byte 7"),
        (b"{\"id\":\"\xc3\"}", InvalidUtf8, "at byte 7"),
        (b"{\"id\":1,\"\xed\xa0\x80\":1}", InvalidUtf8, "at byte 9"),
        (deep.as_bytes(), TooDeep, "at most 127 levels"),
        (b"{\"id\":NaN}", BrokenJson, "expected a JSON value"),
        (b"{\"id\":tru}", BrokenJson, "expected a JSON value"),
        (b"{\"id\":'x'}", BrokenJson, "expected a JSON value"),
        (b"{\"id\":1}\0", TrailingBytes, "found `\\0` at byte 8"),
    ];
    for (value, kind, says) in cases {
        check_json(&key, r#"{"id":"k"}"#, value, kind, true, says);
    }
}

#[test]
fn a_cut_that_cannot_be_made_is_a_fault_of_that_cut() {
    use FaultKind::{MissingField, NotATime, NullKey, NumberOutOfRange, WrongType};
    let key = cut("/id", CutKind::Key, true);
    let integer = field("/n", FieldKind::Integer);
    let rfc3339 = cut("/t", CutKind::Time(TimeUnit::Rfc3339), true);
    let seconds = cut("/t", CutKind::Time(TimeUnit::S), true);
    let millis = cut("/t", CutKind::Time(TimeUnit::Ms), true);
    let time = r#"{"t":"2026-04-14T09:30:00Z"}"#;
    let cases: [(&Cut, &str, &str, FaultKind, &str); 22] = [
        (
            &key,
            r#"{"id":1}"#,
            r#"{"ID":1}"#,
            MissingField,
            "`/id`: expected a key: a string, a number or a boolean, found nothing there; the value begins `{\"ID\":1}`",
        ),
        (&key, r#"{"id":1}"#, "[1]", MissingField, "found nothing there"),
        (&key, r#"{"id":1}"#, r#"{"id":null}"#, NullKey, "found null at byte 6"),
        (&key, r#"{"id":1}"#, r#"{"id":{"a":1}}"#, WrongType, "found an object at byte 6: `{\"a\":1}`"),
        (&key, r#"{"id":1}"#, r#"{"id":[1]}"#, WrongType, "found an array at byte 6: `[1]`"),
        (
            &integer,
            r#"{"n":1}"#,
            r#"{"n":9223372036854775808}"#,
            NumberOutOfRange,
            "`/n`: expected an integer that fits 64 signed bits, found a number at byte 5: `9223372036854775808`",
        ),
        (&integer, r#"{"n":1}"#, r#"{"n":-9223372036854775809}"#, NumberOutOfRange, "`-9223372036854775809`"),
        (
            &integer,
            r#"{"n":1}"#,
            r#"{"n":1.5}"#,
            NumberOutOfRange,
            "found a number with a fraction or exponent at byte 5: `1.5`",
        ),
        (&integer, r#"{"n":1}"#, r#"{"n":1.0}"#, NumberOutOfRange, "`1.0`"),
        (&integer, r#"{"n":1}"#, r#"{"n":1e3}"#, NumberOutOfRange, "`1e3`"),
        (&integer, r#"{"n":1}"#, r#"{"n":-0}"#, NumberOutOfRange, "`-0`"),
        (&integer, r#"{"n":1}"#, r#"{"n":"1"}"#, WrongType, "found a string at byte 5: `\"1\"`"),
        (&integer, r#"{"n":1}"#, r#"{"n":null}"#, MissingField, "found null at byte 5"),
        (&field("/n", FieldKind::Text), r#"{"n":"a"}"#, r#"{"n":1}"#, WrongType, "expected a string, found a number"),
        (&field("/n", FieldKind::Float), r#"{"n":1}"#, r#"{"n":"1"}"#, WrongType, "expected a number, found a string"),
        (
            &field("/n", FieldKind::Boolean),
            r#"{"n":true}"#,
            r#"{"n":1}"#,
            WrongType,
            "expected true or false, found a number",
        ),
        (&field("/a/b", FieldKind::Integer), r#"{"a":{"b":1}}"#, r#"{"a":1}"#, MissingField, "found nothing there"),
        (
            &rfc3339,
            time,
            r#"{"t":"yesterday"}"#,
            NotATime,
            "expected a time like `2026-04-14T09:30:00.125Z`, found a string at byte 5: `\"yesterday\"`",
        ),
        (&rfc3339, time, r#"{"t":1700000000}"#, WrongType, "found a number"),
        (&seconds, r#"{"t":1}"#, r#"{"t":9223372036854776}"#, NumberOutOfRange, "expected a time in seconds"),
        (&seconds, r#"{"t":1}"#, r#"{"t":1.7e9}"#, NumberOutOfRange, "without exponent"),
        (&millis, r#"{"t":1}"#, r#"{"t":-9223372036854775808}"#, NumberOutOfRange, "milliseconds"),
    ];
    for (cut, good, value, kind, says) in cases {
        check_json(cut, good, value.as_bytes(), kind, false, says);
    }
}

#[test]
fn a_wrong_type_of_an_optional_field_is_a_fault_and_null_is_absence() {
    for (value, is_fault) in [(r#"{"n":"1"}"#, true), (r#"{"n":null}"#, false), ("{}", false), ("7", false)] {
        let cut = cut("/n", CutKind::Field(FieldKind::Integer), false);
        let fault = fault_of(&Format::Json, &cut, br#"{"n":1}"#, value.as_bytes());
        assert_eq!(fault.is_some(), is_fault, "{value}: {fault:?}");
    }
}

#[test]
fn a_required_json_field_takes_null_and_an_optional_one_is_absent() {
    for (required, present) in [(true, true), (false, false)] {
        let cut = cut("/j", CutKind::Field(FieldKind::Json), required);
        let mut decoder = Decoder::new(&Format::Json, &[cut]).unwrap();
        let decoded = decoder.decode(&Values::from([r#"{"j":null}"#].iter().collect::<Column>()));
        assert_eq!((decoded.columns[0].is_present(0), decoded.faults), (present, Vec::new()));
    }
}

#[test]
fn large_numbers_are_keys_as_they_are_written() {
    let written =
        ["9007199254740993", "18446744073709551616", "1.0", "1e3", "-0", "0.1000000000000000055511151231257827"];
    let values: Vec<String> = written.iter().map(|number| format!("{{\"id\":{number}}}")).collect();
    let mut decoder = Decoder::new(&Format::Json, &[cut("/id", CutKind::Key, true)]).unwrap();
    let decoded = decoder.decode(&Values::from(values.iter().collect::<Column>()));
    let Cells::Texts(keys) = &decoded.columns[0].cells else { panic!("keys are texts") };
    assert!(keys.iter().eq(written.iter().map(|number| number.as_bytes())));
}

#[test]
fn a_row_has_one_fault_per_cut_in_order() {
    let cuts = [field("/a", FieldKind::Integer), field("/b", FieldKind::Text), cut("/c", CutKind::Key, true)];
    let mut decoder = Decoder::new(&Format::Json, &cuts).unwrap();
    let values = [r#"{"a":"x","b":1,"c":null}"#, "{", r#"{"a":1,"b":"x","c":2}"#];
    let decoded = decoder.decode(&Values::from(values.iter().collect::<Column>()));
    let faults: Vec<_> = decoded.faults.iter().map(|fault| (fault.row, fault.cut, fault.kind.name())).collect();
    assert_eq!(
        faults,
        [(0, Some(0), "wrong-type"), (0, Some(1), "wrong-type"), (0, Some(2), "null-key"), (1, None, "broken-json")]
    );
    assert!(decoded.columns.iter().all(|column| column.len() == 3 && column.is_present(2) && !column.is_present(0)));
}

#[test]
fn a_sample_is_short_and_printable() {
    let long = format!("{{\"n\":\"{}\"}}", "é\\u0000\u{7f}".repeat(1000));
    let (_, _, message) =
        fault_of(&Format::Json, &field("/n", FieldKind::Integer), br#"{"n":1}"#, long.as_bytes()).unwrap();
    let sample = message.split(": `").last().unwrap();
    assert!(sample.ends_with("`…") && sample.chars().count() <= 42, "{sample}");
    assert!(sample.chars().all(|symbol| !symbol.is_control()), "{sample}");
}

#[test]
fn ten_megabytes_in_one_value_are_cut_like_any_other() {
    let long = format!("{{\"pad\":\"{}\",\"n\":7}}", "x".repeat(10 << 20));
    assert_eq!(fault_of(&Format::Json, &field("/n", FieldKind::Integer), br#"{"n":1}"#, long.as_bytes()), None);
}

#[test]
fn a_tombstone_is_at_fault_only_where_something_is_required() {
    let mut column = OptionalColumn::default();
    column.push(None);
    column.push(Some(br#"{"n":1}"#));
    let values = Values::from(column);
    for (required, faults) in [(true, 1), (false, 0)] {
        let cuts = [cut("/n", CutKind::Field(FieldKind::Integer), required)];
        let decoded = Decoder::new(&Format::Json, &cuts).unwrap().decode(&values);
        assert_eq!(decoded.faults.len(), faults);
        assert!(!decoded.columns[0].is_present(0) && decoded.columns[0].is_present(1));
    }
}

#[test]
fn a_character_cut_in_two_is_no_text_on_either_side() {
    let arena = "{\"n\":1}é{\"n\":2}".as_bytes().to_vec();
    let spans = [(0, 7), (0, 8), (8, 16), (9, 16)].map(|(start, end)| Span { start, end });
    let values = Values::new(Arc::new(arena), spans.to_vec());
    let cuts = [field("/n", FieldKind::Integer)];
    let decoded = Decoder::new(&Format::Json, &cuts).unwrap().decode(&values);
    let faults: Vec<_> = decoded.faults.iter().map(|fault| (fault.row, fault.kind)).collect();
    assert_eq!(faults, [(1, FaultKind::InvalidUtf8), (2, FaultKind::InvalidUtf8)]);
}

#[test]
fn bytes_between_values_are_nobodys_business() {
    let mut arena = b"{\"n\":1}".to_vec();
    arena.extend_from_slice(&[0xff; 100]);
    arena.extend_from_slice(b"{\"n\":2}");
    let spans = [(0, 7), (107, 114)].map(|(start, end)| Span { start, end });
    for spans in [spans.to_vec(), spans.repeat(50)] {
        let values = Values::new(Arc::new(arena.clone()), spans);
        let decoded = Decoder::new(&Format::Json, &[field("/n", FieldKind::Integer)]).unwrap().decode(&values);
        assert_eq!(decoded.faults, []);
    }
}

fn csv() -> Format {
    Format::Csv(CsvFormat { delimiter: b',', columns: vec!["id".into(), "n".into(), "at".into()] })
}

#[test]
fn csv_that_is_wrong_is_a_fault() {
    use FaultKind::{
        Bom, BrokenCsv, BrokenJson, EmptyValue, InvalidUtf8, MissingField, NotATime, NullKey, NumberOutOfRange,
        TrailingBytes, WrongCellCount, WrongType,
    };
    let key = cut("/id", CutKind::Key, true);
    let kind = |kind| field("/n", kind);
    let time = cut("/at", CutKind::Time(TimeUnit::Rfc3339), true);
    let good: &[u8] = b"k,1,2026-04-14T09:30:00Z";
    let cases: [(Cut, &[u8], FaultKind, bool, &str); 22] = [
        (key.clone(), b"", EmptyValue, true, "found 0 bytes"),
        (key.clone(), b"\r\n", EmptyValue, true, "found 2 bytes"),
        (key.clone(), b"\xef\xbb\xbfk,1,2", Bom, true, "byte order mark"),
        (key.clone(), b"k,1", WrongCellCount, true, "expected 3 cells, found 2; the record begins `k,1`"),
        (key.clone(), b"k,1,2,3,4,5,6,7,8", WrongCellCount, true, "expected 3 cells, found 9"),
        (key.clone(), b"k,\"1,2", BrokenCsv, true, "the first is at byte 2"),
        (key.clone(), b"k,1,2\nk,1,3", TrailingBytes, true, "found `k,1,3` at byte 6"),
        (key.clone(), b"\xff,1,2", InvalidUtf8, true, "at byte 0"),
        (key, b",1,2", NullKey, false, "`/id`: expected a key, found an empty cell: cell 1"),
        (kind(FieldKind::Text), b"k,,2", MissingField, false, "found an empty cell: cell 2"),
        (kind(FieldKind::Integer), b"k,x,2", WrongType, false, "found `x` in cell 2"),
        (kind(FieldKind::Integer), b"k, 1,2", WrongType, false, "found ` 1` in cell 2"),
        (kind(FieldKind::Integer), b"k,1.0,2", NumberOutOfRange, false, "`1.0`"),
        (kind(FieldKind::Integer), b"k,9223372036854775808,2", NumberOutOfRange, false, "64 signed bits"),
        (kind(FieldKind::Float), b"k,1e400,2", NumberOutOfRange, false, "`1e400`"),
        (kind(FieldKind::Float), b"k,inf,2", WrongType, false, "`inf`"),
        (kind(FieldKind::Float), b"k,NaN,2", WrongType, false, "`NaN`"),
        (kind(FieldKind::Float), b"k,1.5x,2", WrongType, false, "`1.5x`"),
        (kind(FieldKind::Boolean), b"k,yes,2", WrongType, false, "expected `true`, `false`, `1` or `0`, found `yes`"),
        (kind(FieldKind::Timestamp), b"k,2026-01-01,2", WrongType, false, "whole milliseconds"),
        (kind(FieldKind::Json), b"k,{\"a\":1,2", BrokenJson, false, "in cell 2"),
        (time, b"k,1,2026-04-14", NotATime, false, "`2026-04-14`"),
    ];
    for (cut, value, kind, whole, says) in cases {
        let good: &[u8] = match cut.kind {
            CutKind::Field(FieldKind::Json | FieldKind::Boolean) => b"k,1,2",
            _ => good,
        };
        let shown = value.escape_ascii();
        let Some((found, broken, message)) = fault_of(&csv(), &cut, good, value) else { panic!("{shown} is no fault") };
        assert_eq!((found, broken), (kind, whole), "{shown}: {message}");
        assert!(message.contains(says), "{shown}: {message}");
    }
}

#[test]
fn raw_values_are_keys_whatever_their_bytes_and_texts_where_they_are_utf8() {
    let key = cut("$value", CutKind::Key, true);
    let text = field("$value", FieldKind::Text);
    assert_eq!(fault_of(&Format::Raw, &key, b"a", b"\xff"), None);
    assert_eq!(fault_of(&Format::Raw, &key, b"a", b""), None);
    let (kind, whole, message) = fault_of(&Format::Raw, &text, b"a", b"ab\xff").unwrap();
    assert_eq!((kind, whole), (FaultKind::InvalidUtf8, false), "{message}");
}

#[test]
fn kinds_have_names_and_codes_of_their_own() {
    let mut names: Vec<_> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
    let mut codes: Vec<_> = FaultKind::ALL.iter().map(|kind| kind.code()).collect();
    names.sort_unstable();
    names.dedup();
    codes.dedup();
    assert_eq!((names.len(), codes.len()), (FaultKind::ALL.len(), FaultKind::ALL.len()));
    assert!(
        names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'8'))
    );
}

#[test]
fn one_long_value_makes_the_next_batch_reserve_no_more_than_it_holds() {
    const LONG: usize = 1 << 16;
    let one_column = || Format::Csv(CsvFormat { delimiter: b',', columns: vec!["a".into()] });
    let cases = [
        (Format::Raw, cut("$value", CutKind::Key, true), "LONG"),
        (Format::Raw, field("$value", FieldKind::Text), "LONG"),
        (Format::Json, cut("/a", CutKind::Key, true), r#"{"a":"LONG"}"#),
        (Format::Json, field("/a", FieldKind::Text), r#"{"a":"LONG"}"#),
        (Format::Json, field("/a", FieldKind::Json), r#"{"a":["LONG"]}"#),
        (one_column(), cut("/a", CutKind::Key, true), "LONG"),
        (one_column(), field("/a", FieldKind::Text), "LONG"),
    ];
    for (format, cut, written) in cases {
        let mut decoder = Decoder::new(&format, std::slice::from_ref(&cut)).unwrap();
        let mut room_bytes = |values: Column| {
            let decoded = decoder.decode(&Values::from(values));
            assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
            let cells = decoded.columns.into_iter().next().map(|column| column.cells);
            let Some(Cells::Texts(texts)) = cells else { panic!("texts were asked for") };
            texts.into_parts().0.capacity()
        };
        let long = written.replace("LONG", &"x".repeat(LONG));
        assert!(room_bytes([long].iter().collect()) >= LONG);
        let short: Column = vec![written.replace("LONG", "x"); 4096].iter().collect();
        let held_bytes = short.bytes().len();
        let room_bytes = room_bytes(short);
        assert!(room_bytes <= held_bytes, "{format:?} {cut:?}: room for {room_bytes} bytes of {held_bytes}");
    }
}
