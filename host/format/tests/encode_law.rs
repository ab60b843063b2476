//! Laws of encoding: what is written is read back as the same, by us, by `serde_json` and by `csv`.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use format::{CsvFormat, Cut, CutError, CutKind, Decoder, EncodeError, Encoder, Format};
use model::{Cells, Column, FieldColumn, FieldKind, FieldSpec, PointerError, Values};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

fn spec(name: &str, path: &str, kind: FieldKind, required: bool) -> FieldSpec {
    FieldSpec { name: name.to_owned(), path: path.to_owned(), kind, required }
}

/// A column from cells that may be absent, and how to append one.
fn column<T>(kind: FieldKind, cells: &[Option<T>], push: impl Fn(&mut Cells, &T)) -> FieldColumn {
    let mut column = FieldColumn::for_kind(kind);
    for cell in cells {
        match cell {
            None => column.push_absent(),
            Some(cell) => {
                push(&mut column.cells, cell);
                column.mark_present();
            }
        }
    }
    column
}

fn texts<T: AsRef<[u8]>>(kind: FieldKind, cells: &[Option<T>]) -> FieldColumn {
    column(kind, cells, |column, cell| match column {
        Cells::Texts(column) => column.push(cell.as_ref()),
        _ => unreachable!("texts were asked for"),
    })
}

fn integers(cells: &[Option<i64>]) -> FieldColumn {
    column(FieldKind::Integer, cells, |column, cell| match column {
        Cells::Integers(column) => column.push(*cell),
        _ => unreachable!("integers were asked for"),
    })
}

fn floats(cells: &[Option<f64>]) -> FieldColumn {
    column(FieldKind::Float, cells, |column, cell| match column {
        Cells::Floats(column) => column.push(*cell),
        _ => unreachable!("floats were asked for"),
    })
}

fn booleans(cells: &[Option<bool>]) -> FieldColumn {
    column(FieldKind::Boolean, cells, |column, cell| match column {
        Cells::Booleans(column) => column.push(u8::from(*cell)),
        _ => unreachable!("booleans were asked for"),
    })
}

/// A row of optional cells, one of each kind.
type Row = (Option<String>, Option<i64>, Option<f64>, Option<bool>, Option<i64>);

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "\\PC{0,8}",
        2 => "[a-z,;\"\r\n\t \u{0}-\u{1f}\\\\]{0,8}",
        1 => Just(String::new()),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e6..1e6, (-1000i32..1000).prop_map(f64::from), Just(-0.0), Just(f64::MIN_POSITIVE)]
        .prop_filter("finite", |float| float.is_finite())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let integer = prop_oneof![any::<i64>(), -9i64..9];
    vec(
        (option::of(text()), option::of(integer), option::of(finite()), any::<Option<bool>>(), any::<Option<i64>>()),
        1..20,
    )
}

fn specs() -> Vec<FieldSpec> {
    vec![
        spec("text", "/a~1b", FieldKind::Text, false),
        spec("integer", "/nested/deeper/n", FieldKind::Integer, false),
        spec("float", "/f", FieldKind::Float, false),
        spec("boolean", "/nested/b", FieldKind::Boolean, false),
        spec("time", "/nested/deeper/\"t\"", FieldKind::Timestamp, false),
    ]
}

fn columns(rows: &[Row]) -> Vec<FieldColumn> {
    let cells = |pick: fn(&Row) -> Option<i64>| rows.iter().map(pick).collect::<Vec<_>>();
    vec![
        texts(FieldKind::Text, &rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>()),
        integers(&cells(|row| row.1)),
        floats(&rows.iter().map(|row| row.2).collect::<Vec<_>>()),
        booleans(&rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        integers(&cells(|row| row.4)),
    ]
}

/// Cuts for the fields of `specs`.
fn cuts(specs: &[FieldSpec]) -> Vec<Cut> {
    let cut = |spec: &FieldSpec| Cut { path: spec.path.clone(), kind: CutKind::Field(spec.kind), required: false };
    specs.iter().map(cut).collect()
}

/// The object `serde_json` would make of a row: absent fields and empty objects left out.
fn object(row: &Row) -> Value {
    let mut value = json!({});
    if let Some(text) = &row.0 {
        value["a/b"] = json!(text);
    }
    if let Some(integer) = row.1 {
        value["nested"]["deeper"]["n"] = json!(integer);
    }
    if let Some(float) = row.2 {
        value["f"] = json!(float);
    }
    if let Some(boolean) = row.3 {
        value["nested"]["b"] = json!(boolean);
    }
    if let Some(time) = row.4 {
        value["nested"]["deeper"]["\"t\""] = json!(time);
    }
    value
}

fn same_cells(left: &FieldColumn, right: &FieldColumn) -> bool {
    let bits = |cells: &Cells| match cells {
        Cells::Floats(cells) => Cells::Integers(cells.iter().map(|float| float.to_bits().cast_signed()).collect()),
        other => other.clone(),
    };
    let rows = 0..left.len().max(right.len());
    rows.clone().all(|row| left.is_present(row) == right.is_present(row)) && bits(&left.cells) == bits(&right.cells)
}

/// Floats that `serde_json` reads as the neighbour of what it wrote; they are read so here too.
fn reads_itself(float: f64) -> bool {
    let written = serde_json::to_string(&float).unwrap();
    serde_json::from_str::<f64>(&written).unwrap().to_bits() == float.to_bits()
}

proptest! {
    #[test]
    fn json_is_what_serde_json_would_mean_and_is_read_back(rows in rows()) {
        let columns = columns(&rows);
        let encoded = Encoder::new(&Format::Json, &specs()).unwrap().encode(&columns).unwrap();
        prop_assert_eq!(encoded.len(), rows.len());
        let stable = rows.iter().all(|row| row.2.is_none_or(reads_itself));
        for (line, row) in encoded.iter().zip(&rows) {
            prop_assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
            let read: Value = serde_json::from_slice(line).unwrap();
            if row.2.is_none_or(reads_itself) {
                prop_assert_eq!(read, object(row));
            }
            if let Some(float) = row.2 {
                let written = serde_json::to_vec(&float).unwrap();
                prop_assert!(memchr::memmem::find(line, &[b"\"f\":", &written[..]].concat()).is_some());
            }
        }
        let decoded = Decoder::new(&Format::Json, &cuts(&specs())).unwrap().decode(&Values::from(encoded));
        prop_assert_eq!(&decoded.faults, &[]);
        if stable {
            prop_assert!(decoded.columns.iter().zip(&columns).all(|(read, written)| same_cells(read, written)));
        }
    }

    #[test]
    fn strings_are_written_as_serde_json_writes_them(text in "[\\PC\u{0}-\u{1f}\"\\\\/\u{7f}]{0,40}") {
        let column = texts(FieldKind::Text, &[Some(&text)]);
        let encoded = Encoder::new(&Format::Json, &[spec("t", "/t", FieldKind::Text, true)]).unwrap().encode(&[column]).unwrap();
        prop_assert_eq!(encoded.get(0), serde_json::to_vec(&json!({ "t": text })).unwrap());
    }

    #[test]
    fn csv_is_read_back_by_the_csv_crate_and_by_us(rows in rows(), delimiter in prop::sample::select(b",;|\t ".to_vec())) {
        let names = ["text", "n", "f", "b", "unused", "t"].map(str::to_owned).to_vec();
        let paths = ["/text", "/n", "/f", "/b", "/t"];
        let specs: Vec<FieldSpec> =
            specs().into_iter().zip(paths).map(|(spec, path)| FieldSpec { path: path.to_owned(), ..spec }).collect();
        let format = Format::Csv(CsvFormat { delimiter, columns: names.clone() });
        let mut encoder = Encoder::new(&format, &specs).unwrap();
        let columns = columns(&rows);
        let encoded = encoder.encode(&columns).unwrap();

        let delimiters = char::from(delimiter).to_string();
        let mut file = names.join(&delimiters).into_bytes();
        for record in encoded.iter() {
            file.push(b'\n');
            file.extend_from_slice(record);
        }
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(&file[..]);
        prop_assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), names);
        let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(records.len(), rows.len());
        for (record, row) in records.iter().zip(&rows) {
            prop_assert_eq!(&record[0], row.0.as_deref().unwrap_or_default());
            prop_assert_eq!(record[1].parse().ok(), row.1);
            prop_assert_eq!(record[2].parse::<f64>().ok().map(f64::to_bits), row.2.map(f64::to_bits));
            prop_assert_eq!(record[3].parse().ok(), row.3);
            prop_assert_eq!(&record[4], "");
            prop_assert_eq!(record[5].parse().ok(), row.4);
        }

        let decoded = Decoder::new(&format, &cuts(&specs)).unwrap().decode(&Values::from(encoded));
        prop_assert_eq!(&decoded.faults, &[]);
        let written = columns.iter().zip(&decoded.columns).skip(1);
        prop_assert!(written.clone().all(|(written, read)| same_cells(read, written)));
        for (row, expected) in rows.iter().enumerate() {
            let Cells::Texts(cells) = &decoded.columns[0].cells else { panic!("texts") };
            prop_assert_eq!(cells.get(row), expected.0.as_deref().unwrap_or_default().as_bytes());
            prop_assert_eq!(decoded.columns[0].is_present(row), expected.0.as_ref().is_some_and(|text| !text.is_empty()));
        }
    }
}

#[test]
fn fields_stand_in_declared_order_and_nested_ones_together() {
    let specs = [
        spec("a", "/z", FieldKind::Integer, true),
        spec("b", "/o/p", FieldKind::Text, false),
        spec("c", "/a", FieldKind::Json, false),
        spec("d", "/o/q/r", FieldKind::Boolean, false),
    ];
    let columns = [
        integers(&[Some(1), Some(2), Some(3)]),
        texts(FieldKind::Text, &[Some("x"), None, None]),
        texts(FieldKind::Json, &[Some("[1,\r\n {\"k\": null}]"), None, Some("\"s\"")]),
        booleans(&[Some(true), None, Some(false)]),
    ];
    let encoded = Encoder::new(&Format::Json, &specs).unwrap().encode(&columns).unwrap();
    let lines: Vec<_> = encoded.iter().map(|line| std::str::from_utf8(line).unwrap()).collect();
    assert_eq!(
        lines,
        [
            r#"{"z":1,"o":{"p":"x","q":{"r":true}},"a":[1,   {"k": null}]}"#,
            r#"{"z":2}"#,
            r#"{"z":3,"o":{"q":{"r":false}},"a":"s"}"#,
        ]
    );
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_row_and_field() {
    let check = |kind, required, column: FieldColumn, says: &str| {
        for format in [Format::Json, Format::Csv(CsvFormat { delimiter: b',', columns: vec![] })] {
            let mut encoder = Encoder::new(&format, &[spec("x", "/x", kind, required)]).unwrap();
            let error = encoder.encode(std::slice::from_ref(&column)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.code().starts_with("E072"));
        }
    };
    check(FieldKind::Integer, true, integers(&[Some(1), None]), "row 1: field `x` is absent");
    check(
        FieldKind::Float,
        true,
        floats(&[Some(1.0), Some(f64::NAN)]),
        "row 1: field `x` is NaN: expected a finite number",
    );
    check(FieldKind::Float, true, floats(&[Some(f64::NEG_INFINITY)]), "row 0: field `x` is -inf");
    check(
        FieldKind::Text,
        true,
        texts(FieldKind::Text, &[Some(&b"ok"[..]), Some(b"\xff")]),
        "row 1: field `x` is not UTF-8: `\\xff`",
    );
    check(
        FieldKind::Text,
        true,
        texts(FieldKind::Text, &[Some(&b"\xc3"[..]), Some(b"\xa9")]),
        "row 0: field `x` is not UTF-8",
    );
    check(
        FieldKind::Json,
        true,
        texts(FieldKind::Json, &[Some("{\"a\":1,}")]),
        "row 0: field `x` is not JSON: expected a member name",
    );
    check(FieldKind::Json, true, texts(FieldKind::Json, &[Some("")]), "found 0 bytes of white space");
    check(FieldKind::Json, true, integers(&[Some(1)]), "field `x` has integers: expected cells for the kind json");
}

#[test]
fn a_json_field_may_not_make_the_document_too_deep() {
    let specs = [spec("j", "/a/b", FieldKind::Json, true)];
    let nested = |depth: usize| texts(FieldKind::Json, &[Some(format!("{}{}", "[".repeat(depth), "]".repeat(depth)))]);
    let mut encoder = Encoder::new(&Format::Json, &specs).unwrap();
    let encoded = encoder.encode(&[nested(125)]).unwrap();
    assert!(serde_json::from_slice::<Value>(encoded.get(0)).is_ok());
    assert!(matches!(encoder.encode(&[nested(126)]), Err(EncodeError::NotJson { row: 0, .. })));
}

#[test]
fn columns_that_do_not_fit_the_fields_are_refused() {
    let mut encoder = Encoder::new(
        &Format::Json,
        &[spec("a", "/a", FieldKind::Integer, false), spec("b", "/b", FieldKind::Integer, false)],
    )
    .unwrap();
    let error = encoder.encode(&[integers(&[Some(1)])]).unwrap_err();
    assert_eq!(error.to_string(), "1 columns: expected 2, one per field");
    let error = encoder.encode(&[integers(&[Some(1)]), integers(&[])]).unwrap_err();
    assert_eq!(error.to_string(), "field `b` has 0 rows: expected 1, as the first field has");
}

#[test]
fn paths_that_make_no_sense_are_refused_when_the_encoder_is_made() {
    let refused = |format: &Format, paths: &[&str]| {
        let specs: Vec<_> = paths.iter().map(|path| spec(path, path, FieldKind::Integer, false)).collect();
        Encoder::new(format, &specs).unwrap_err()
    };
    let csv = |delimiter, columns: &[&str]| {
        Format::Csv(CsvFormat { delimiter, columns: columns.iter().map(|&name| name.to_owned()).collect() })
    };
    assert!(matches!(refused(&Format::Json, &["/a", "/a"]), CutError::PathsCollide { other, .. } if other == "/a"));
    assert!(matches!(refused(&Format::Json, &["/a/b", "/a"]), CutError::PathsCollide { other, .. } if other == "/a/b"));
    assert!(matches!(refused(&Format::Json, &["/a", "/a/b"]), CutError::PathsCollide { other, .. } if other == "/a"));
    assert!(matches!(refused(&Format::Json, &["a"]), CutError::NotAPointer { .. }));
    assert!(matches!(refused(&Format::Raw, &["/a"]), CutError::RawHasNoFields { .. }));
    assert!(matches!(refused(&csv(b',', &["a"]), &["/b"]), CutError::NoSuchColumn { .. }));
    assert!(matches!(refused(&csv(b',', &["a", "a"]), &["/a"]), CutError::AmbiguousColumn { .. }));
    assert!(matches!(refused(&csv(b',', &["a"]), &["/a", "/a"]), CutError::PathsCollide { .. }));
    assert!(matches!(refused(&csv(b',', &[]), &["/a", "/a"]), CutError::PathsCollide { .. }));
    assert!(matches!(refused(&csv(b',', &["a"]), &["/a/b"]), CutError::NestedInCsv { found: 2, .. }));
    assert!(matches!(refused(&csv(b'"', &["a"]), &["/a"]), CutError::Delimiter { delimiter: '"' }));
    assert!(matches!(refused(&csv(b'-', &["a"]), &["/a"]), CutError::Delimiter { delimiter: '-' }));
    assert!(matches!(refused(&Format::Json, &["/"]), CutError::NotAPointer { why: PointerError::NoName, .. }));
}

#[test]
fn an_encoded_batch_without_rows_is_empty() {
    let encoded = Encoder::new(&Format::Json, &specs()).unwrap().encode(&columns(&[])).unwrap();
    assert_eq!(encoded, Column::default());
}
