use proptest::collection::vec;
use proptest::prelude::*;

use super::super::lines::{CsvLines, Found};
use super::*;

/// A line of any bytes but line ends, so that joining and splitting agree.
fn line() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>().prop_filter("no line end", |byte| !matches!(byte, b'\n' | b'\r')), 0..40)
}

proptest! {
    #[test]
    fn raw_lines_come_out_as_they_went_in(lines in vec(line(), 0..200), rows in 1usize..50, bytes in 1usize..500) {
        let mut text = lines.join(&b"\n"[..]);
        if !lines.is_empty() {
            text.push(b'\n');
        }
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in [("a", text.clone()), ("b", gzip(&text)), ("c", zstd(&text))] {
            let path = directory.path().join(name);
            std::fs::write(&path, content).expect("a file");
            let compression = if name == "a" { SourceCompression::None } else { SourceCompression::Auto };
            let source = FileSource::new(FileSourceOptions { compression, ..options(&path, FormatSpec::Raw) });
            let source = source.expect("the file is found");
            let mut reader = open(&source, None).expect("the file opens");
            let seen = drain(reader.as_mut(), rows, bytes, usize::MAX);
            let values: Vec<_> = seen.records.into_iter().map(|(_, _, value)| value).collect();
            prop_assert_eq!(&values, &lines);
        }
    }

    #[test]
    fn a_reader_opened_at_the_positions_of_another_delivers_exactly_the_rest(
        text in vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'"'), Just(b','), Just(b'x')], 0..400),
        polls in 0usize..20,
        longest in 1u64..30,
        is_csv in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        std::fs::write(&path, &text).expect("a file");
        let format = if is_csv { headless(&["a"]) } else { FormatSpec::Json };
        let options = FileSourceOptions { max_record_bytes: longest, ..options(&path, format) };
        let source = FileSource::new(options).expect("the file is found");
        let mut first = open(&source, None).expect("the file opens");
        let before = drain(first.as_mut(), 3, 20, polls);
        let rest = drain(first.as_mut(), 3, 20, usize::MAX);
        let mut second = open(&source, Some(before.positions[0].1)).expect("the file opens");
        let resumed = drain(second.as_mut(), 3, 20, usize::MAX);
        prop_assert_eq!(&resumed.records, &rest.records);
        prop_assert_eq!(&resumed.rejected, &rest.rejected);
        let positions: Vec<_> = before.at().into_iter().chain(rest.at()).collect();
        prop_assert!(positions.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn any_bytes_after_a_magic_end_in_records_or_an_error(bytes in vec(any::<u8>(), 0..300), magic in 0usize..2) {
        let start: &[u8] = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0][..], &[0x28, 0xb5, 0x2f, 0xfd]][magic];
        let seen = read_bytes("a", &[start, &bytes].concat(), FormatSpec::Json);
        prop_assert!(seen.error.is_none_or(|error| error.code() == Some("E0304")));
    }

    #[test]
    fn csv_records_end_where_the_csv_reader_says(text in csv_text(1..60)) {
        let ours = CsvLines::new(b',', 1000).first(&text, 0, true);
        let mut reader = csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
        let (mut fields, mut ends) = (vec![0; 200], vec![0; 200]);
        // The CSV reader passes over empty lines at the start; we see each.
        prop_assume!(text[0] != b'\n');
        // It takes the end of the input for that of a quoted field, so it sees the end as that of a line.
        let whole = [text.as_slice(), b"\n"].concat();
        let (result, read, _, _) = reader.read_record(&whole, &mut fields, &mut ends);
        let theirs = (result == csv_core::ReadRecordResult::Record).then_some(read.min(text.len()));
        let ours = match ours {
            Some(Found::Record(line)) => Some(line.next),
            _ => None,
        };
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn what_stands_in_csv_depends_neither_on_how_much_was_read_nor_on_where_reading_began(
        text in csv_text(0..200),
        steps in vec(1usize..40, 1..40),
        longest in 1usize..50,
    ) {
        let (mut lines, mut read, mut at) = (CsvLines::new(b',', longest), 0, 0);
        let mut steps = steps.into_iter().cycle();
        while at < text.len() {
            let is_all = read == text.len();
            let found = lines.first(&text[at..read], at as u64, is_all);
            let fresh = CsvLines::new(b',', longest).first(&text[at..], at as u64, true);
            let Some(found) = found else {
                // A line longer than any record is passed over by whoever reads: here it is read whole.
                prop_assert!(!is_all);
                read = (read + steps.next().unwrap_or(1)).min(text.len());
                continue;
            };
            prop_assert_eq!(Some(found), fresh, "at {} of {:?}", at, String::from_utf8_lossy(&text));
            at += match found {
                Found::Record(line) => {
                    prop_assert!(line.end <= longest);
                    line.next
                }
                Found::TooLong(line) | Found::Unclosed(line) => {
                    prop_assert!(!text[at..at + line.end].contains(&b'\n'));
                    line.next
                }
            };
        }
    }

    #[test]
    fn a_csv_file_says_the_same_with_and_without_its_last_line_end(text in csv_text(0..100), longest in 1u64..60) {
        prop_assume!(text.last() != Some(&b'\n'));
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        let options = FileSourceOptions { max_record_bytes: longest, ..options(&path, headless(&["a"])) };
        std::fs::write(&path, &text).expect("a file");
        let without = read(options.clone());
        std::fs::write(&path, [text.as_slice(), b"\n"].concat()).expect("a file");
        let with = read(options);
        prop_assert_eq!(without.records, with.records);
        prop_assert_eq!(without.rejected, with.rejected);
    }
}

/// Any text of the bytes that matter in CSV.
fn csv_text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(b'\n'), Just(b'"'), Just(b','), Just(b'x')], lengths)
}
