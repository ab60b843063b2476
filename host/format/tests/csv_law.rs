//! Laws of CSV decoding: cells are those of the `csv` crate.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use format::{CsvFormat, Cut, CutError, CutKind, Decoder, FaultKind, Format};
use model::{Cells, Column, FieldKind, PointerError, Values};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["a", "b/c", "d~e"];

fn cut(path: &str, kind: CutKind) -> Cut {
    Cut { path: path.to_owned(), kind, required: false }
}

fn text_cuts() -> Vec<Cut> {
    ["/a", "/b~1c", "/d~0e"].map(|path| cut(path, CutKind::Field(FieldKind::Text))).to_vec()
}

fn format(delimiter: u8) -> Format {
    Format::Csv(CsvFormat { delimiter, columns: NAMES.map(str::to_owned).to_vec() })
}

fn text_at(decoded: &format::Decoded, cut: usize, row: usize) -> String {
    let Cells::Texts(cells) = &decoded.columns[cut].cells else { panic!("texts were asked for") };
    String::from_utf8(cells.get(row).to_vec()).unwrap()
}

proptest! {
    #[test]
    fn written_records_are_read_back(cells in prop::array::uniform3("[\\PC\r\n\",;]{0,10}"), delimiter in prop::sample::select(b",;\t".to_vec())) {
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        writer.write_record(&cells).unwrap();
        let written = writer.into_inner().unwrap();
        let line = written.strip_suffix(b"\n").unwrap();
        let decoded = Decoder::new(&format(delimiter), &text_cuts()).unwrap().decode(&Values::from([line, &written].iter().collect::<Column>()));
        if line.starts_with("\u{feff}".as_bytes()) {
            prop_assert!(decoded.faults.iter().all(|fault| fault.kind == FaultKind::Bom));
            return Ok(());
        }
        prop_assert_eq!(&decoded.faults, &[]);
        for row in 0..2 {
            for (index, cell) in cells.iter().enumerate() {
                prop_assert_eq!(&text_at(&decoded, index, row), cell);
                prop_assert_eq!(decoded.columns[index].is_present(row), !cell.is_empty());
            }
        }
    }

    #[test]
    fn any_text_has_the_cells_the_csv_crate_finds(value in "[ab,\" \r\n]{1,14}") {
        let decoded = Decoder::new(&format(b','), &text_cuts()).unwrap().decode(&Values::from([&value].iter().collect::<Column>()));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(value.as_bytes());
        let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        match (decoded.faults.first().map(|fault| fault.kind), records.as_slice()) {
            (None, [record]) => {
                prop_assert_eq!(record.len(), 3);
                for (index, cell) in record.iter().enumerate() {
                    prop_assert_eq!(text_at(&decoded, index, 0), cell);
                }
            }
            (Some(FaultKind::EmptyValue), []) => {}
            (Some(FaultKind::TrailingBytes), [_, _, ..]) => {}
            (Some(FaultKind::WrongCellCount), [record]) => prop_assert!(record.len() != 3),
            // The csv crate closes an open quote at the end of its input without a word.
            (Some(FaultKind::BrokenCsv), [_]) => prop_assert!(value.contains('"')),
            (fault, records) => prop_assert!(false, "{:?}: {:?} but {:?}", value, fault, records),
        }
    }
}

#[test]
fn cells_become_typed_fields() {
    let columns = ["i", "f", "b", "t", "j", "k"].map(str::to_owned).to_vec();
    let format = Format::Csv(CsvFormat { delimiter: b'|', columns });
    let field = |path: &str, kind| cut(path, CutKind::Field(kind));
    let cuts = [
        field("/i", FieldKind::Integer),
        field("/f", FieldKind::Float),
        field("/b", FieldKind::Boolean),
        field("/t", FieldKind::Timestamp),
        field("/j", FieldKind::Json),
        cut("/k", CutKind::Key),
        cut("$value", CutKind::Key),
    ];
    let values = ["-007|1.5e3|TRUE|12|{\"\"a\"\":1}|x", "+9|.5|0|-1|\"[1, \"\"b\"\"]\"|y", "||||\"\"|z"];
    let mut decoder = Decoder::new(&format, &cuts).unwrap();
    let decoded = decoder.decode(&Values::from(values.iter().collect::<Column>()));
    let broken: Vec<_> = decoded.faults.iter().map(|fault| (fault.row, fault.cut, fault.kind)).collect();
    assert_eq!(broken, [(0, Some(4), FaultKind::BrokenJson)], "quotes inside an unquoted cell stand as they are");
    assert_eq!(decoded.columns[0].cells, Cells::Integers(vec![-7, 9, 0]));
    assert_eq!(decoded.columns[1].cells, Cells::Floats(vec![1500.0, 0.5, 0.0]));
    assert_eq!(decoded.columns[2].cells, Cells::Booleans(vec![1, 0, 0]));
    assert_eq!(decoded.columns[3].cells, Cells::Integers(vec![12, -1, 0]));
    assert_eq!(text_at(&decoded, 4, 1), "[1, \"b\"]");
    assert_eq!(text_at(&decoded, 5, 2), "z");
    assert_eq!(text_at(&decoded, 6, 1), values[1]);
    assert!((0..5).all(|column| !decoded.columns[column].is_present(2)));
}

#[test]
fn cuts_that_make_no_sense_are_refused() {
    let refused = |format: &Format, cut: Cut| Decoder::new(format, &[cut]).unwrap_err();
    let text = |path: &str| cut(path, CutKind::Field(FieldKind::Text));
    let error = refused(&format(b','), text("/x"));
    assert_eq!(error.to_string(), "path `/x` names no column: the columns are `a`, `b/c`, `d~e`");
    assert!(matches!(refused(&format(b','), text("/a/b")), CutError::NestedInCsv { found: 2, .. }));
    assert!(matches!(refused(&format(b','), text("a")), CutError::NotAPointer { .. }));
    assert!(matches!(refused(&format(b'\n'), text("/a")), CutError::Delimiter { .. }));
    assert!(matches!(refused(&Format::Raw, text("/a")), CutError::RawHasNoPaths { .. }));
    assert!(matches!(
        refused(&Format::Raw, cut("$value", CutKind::Field(FieldKind::Float))),
        CutError::WholeValueKind { .. }
    ));
    assert!(matches!(
        refused(&Format::Json, cut("$value", CutKind::Field(FieldKind::Integer))),
        CutError::WholeValueKind { .. }
    ));
    assert!(matches!(refused(&Format::Json, text("/a~2")), CutError::NotAPointer { .. }));
    assert!(matches!(
        refused(&Format::Json, text(&"/a".repeat(128))),
        CutError::NotAPointer { why: PointerError::TooDeep { found: 128 }, .. }
    ));
}
