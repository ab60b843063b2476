//! Files that changed, or did not, between two readings.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use contract::compliance::source::{check_another_is_refused, check_growing};
use model::Retry;
use proptest::prelude::*;

use super::*;

/// Where a reader stood: position and identity of each split.
type Stood = Vec<(String, Position, Vec<u8>)>;

fn append(path: &Path, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("a file");
    file.write_all(bytes).expect("appended");
}

fn source(path: &Path, format: FormatSpec) -> FileSource {
    FileSource::new(options(path, format)).expect("the files are found")
}

fn stood(source: &FileSource, reader: &dyn SourceReader) -> Stood {
    let splits = source.splits().expect("splits");
    let positions = reader.positions().into_iter();
    let one = |(split, position): (SplitIndex, Position)| {
        let name = splits[split.0 as usize].name.clone();
        (name, position, reader.identity(split).expect("known"))
    };
    positions.map(one).collect()
}

fn resume(source: &FileSource, stood: &Stood) -> Result<Box<dyn SourceReader>, contract::Error> {
    let splits = source.splits()?.into_iter().map(|split| {
        let known = stood.iter().find(|(name, _, _)| *name == split.name);
        SplitAssignment {
            position: known.map(|known| known.1),
            identity: known.map(|known| known.2.clone()).unwrap_or_default(),
            split,
        }
    });
    source.open(SourceId(0), splits.collect())
}

/// Reads a file to its end; what it held, and where the reader stood.
fn read_once(path: &Path, format: FormatSpec) -> (Vec<String>, Stood) {
    let source = source(path, format);
    let mut reader = open(&source, None).expect("it opens");
    let seen = drain(reader.as_mut(), 100, 1 << 18, usize::MAX);
    assert!(seen.error.is_none(), "{:?}", seen.error);
    (seen.texts(), stood(&source, &*reader))
}

/// What a reader that resumes brings, or why it does not.
fn read_on(path: &Path, format: FormatSpec, stood: &Stood) -> Result<Vec<String>, contract::Error> {
    let mut reader = resume(&source(path, format), stood)?;
    let seen = drain(reader.as_mut(), 100, 1 << 18, usize::MAX);
    seen.error.as_ref().map_or(Ok(()), |error| Err(error.repeat()))?;
    Ok(seen.texts())
}

fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("a");
    fs::write(&path, bytes).expect("a file");
    (root, path)
}

#[test]
fn what_is_appended_is_delivered_once() {
    let more: [(&[u8], Vec<u8>); 6] = [
        (b"1\n2\n", b"3\n4\n".to_vec()),
        (b"1\n2", b"\n3\n4".to_vec()),
        (b"1\r\n2", b"\r\n3\r\n".to_vec()),
        (b"", b"1\n".to_vec()),
        (&gzip(b"1\n2\n"), gzip(b"3\n")),
        (&zstd(b"1\n2"), zstd(b"\n3\n")),
    ];
    for (start, more) in more {
        for format in [FormatSpec::Json, FormatSpec::Raw] {
            let (_root, path) = file(start);
            check_growing(&|| Box::new(source(&path, format.clone())), &|| append(&path, &more));
        }
    }
}

#[test]
fn a_file_that_was_longer_than_the_prefix_stays_the_one_it_was() {
    let (root, path) = file(&json_lines(200));
    let grow = || {
        append(&path, &json_lines(10));
        // As a rotation by copy does: another inode.
        let copy = root.path().join(".copy");
        fs::copy(&path, &copy).and_then(|_| fs::rename(&copy, &path)).expect("copied");
    };
    check_growing(&|| Box::new(source(&path, FormatSpec::Json)), &grow);
}

#[test]
fn new_files_of_a_directory_are_read_from_their_start() {
    let (root, _) = file(b"1\n2\n");
    let grow = || fs::write(root.path().join("b"), "3\n4").expect("a file");
    check_growing(&|| Box::new(source(root.path(), FormatSpec::Json)), &grow);
}

#[test]
fn new_files_are_found_by_a_source_that_is_asked_again() {
    let root = tempfile::tempdir().expect("a directory");
    fs::write(root.path().join("b.csv"), "id\n1\n").expect("a file");
    let source = source(root.path(), csv());
    fs::write(root.path().join("a.csv"), "id\n2\n").expect("a file");
    let mut reader = open(&source, None).expect("it opens");
    assert_eq!(drain(reader.as_mut(), 100, 1 << 18, usize::MAX).texts(), ["2", "1"]);
    fs::write(root.path().join("c.csv"), "other\n2\n").expect("a file");
    let refused = open(&source, None).err().expect("it has another header line");
    assert_eq!(refused.code(), Some("E0308"));
}

#[test]
fn another_file_of_the_name_is_refused() {
    let long = json_lines(300);
    let mut changed_early = long.clone();
    changed_early[4000] ^= 1;
    let others: [(&[u8], &[u8]); 4] =
        [(b"1\n2\n", b"3\n4\n"), (b"1\n2\n", b"1\n"), (b"1\n2\n", b""), (&long, &changed_early)];
    for (before, after) in others {
        let ((_one, before), (_other, after)) = (file(before), file(after));
        let (_, stood) = read_once(&before, FormatSpec::Json);
        fs::copy(&after, &before).expect("replaced");
        let refused = read_on(&before, FormatSpec::Json, &stood).expect_err("it is another");
        assert_eq!((refused.code(), refused.retry()), (Some("E0309"), Retry::No));
        assert!(refused.to_string().contains("/a` is not the file that was read"), "{refused}");
    }
    let ((_one, one), (_other, other)) = (file(b"1\n2\n"), file(b"5\n2\n"));
    let of = |path: &Path| -> Box<dyn Source> { Box::new(source(path, FormatSpec::Json)) };
    check_another_is_refused(&|| of(&one), &|| of(&other));
}

#[test]
fn a_file_that_is_shorter_than_it_was_read_is_refused_by_name() {
    for (bytes, cut) in [(json_lines(300), 6000), (gzip(&json_lines(3000)), 0)] {
        let (_root, path) = file(&bytes);
        let (_, stood) = read_once(&path, FormatSpec::Json);
        let shorter = if cut > 0 { bytes[..cut].to_vec() } else { gzip(&json_lines(2000)) };
        fs::write(&path, shorter).expect("cut");
        let refused = read_on(&path, FormatSpec::Json, &stood).expect_err("it is shorter");
        let codes = [Some("E0307"), Some("E0309")];
        assert!(codes.contains(&refused.code()) && refused.retry() == Retry::No, "{refused}");
        assert!(refused.to_string().contains("/a`"), "{refused}");
    }
}

#[test]
fn half_a_line_that_goes_on_is_an_error_and_neither_lost_nor_doubled() {
    for (start, more) in [("1\n{\"a\":", "2}\n3\n"), ("1\n2", " \n3\n"), ("1\n2", "\r3\n")] {
        let (_root, path) = file(start.as_bytes());
        let (_, stood) = read_once(&path, FormatSpec::Raw);
        append(&path, more.as_bytes());
        let refused = read_on(&path, FormatSpec::Raw, &stood).expect_err("the record was half a line");
        assert_eq!((refused.code(), refused.retry()), (Some("E0312"), Retry::No), "{refused}");
        assert!(refused.to_string().contains(&format!("at position {}", start.len())), "{refused}");
    }
}

#[test]
fn a_line_end_that_comes_in_two_pieces_is_waited_for() {
    let (_root, path) = file(b"1");
    let (_, stood) = read_once(&path, FormatSpec::Raw);
    append(&path, b"\r");
    let source = source(&path, FormatSpec::Raw);
    let mut reader = resume(&source, &stood).expect("it opens");
    let seen = drain(reader.as_mut(), 100, 1 << 18, usize::MAX);
    assert!(seen.records.is_empty() && seen.error.is_none(), "{seen:?}");
    let still = resuming::stood(&source, &*reader);
    append(&path, b"\n2\n");
    assert_eq!(read_on(&path, FormatSpec::Raw, &still).expect("it goes on"), ["2"]);
}

#[test]
fn a_reader_knows_which_files_it_has_read_whole() {
    let root = tempfile::tempdir().expect("a directory");
    for name in ["a", "b", "c", "d"] {
        fs::write(root.path().join(name), "1\n2\n").expect("a file");
    }
    let source = source(root.path(), FormatSpec::Json);
    let mut reader = open(&source, None).expect("it opens");
    let ended = |reader: &dyn SourceReader| [0, 1, 2, 3].map(|split| reader.has_ended(SplitIndex(split)));
    assert_eq!(ended(&*reader), [false; 4]);
    drain(reader.as_mut(), 100, 1 << 18, 2);
    assert_eq!(ended(&*reader), [true, false, false, false], "the second is read, and its end not looked for");
    let stood = stood(&source, &*reader);
    let mut resumed = resume(&source, &stood).expect("it opens");
    assert_eq!(ended(&*resumed), [true, true, false, false]);
    // A file that was read whole may go; one that was not is missed.
    fs::remove_file(root.path().join("a")).expect("removed");
    fs::remove_file(root.path().join("d")).expect("removed");
    let seen = drain(resumed.as_mut(), 100, 1 << 18, usize::MAX);
    let missed = seen.error.expect("the fourth was not read");
    assert!(missed.code() == Some("E0301") && missed.to_string().contains("/d`"), "{missed}");
}

#[test]
fn what_was_noted_by_a_newer_version_is_not_taken_for_anything() {
    let (_root, path) = file(b"1\n");
    let (_, mut stood) = read_once(&path, FormatSpec::Json);
    stood[0].2[0] = 9;
    let refused = read_on(&path, FormatSpec::Json, &stood).expect_err("it cannot be compared");
    assert!(refused.to_string().contains("format version 9, expected 1"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever part of a file was there at first, what is read in two goes is what is read in one, or the
    /// second go says that the first took half a line for a record.
    #[test]
    fn two_readings_bring_what_one_does_or_say_why_not(
        lines in prop::collection::vec("[ab]{0,4}", 0..12),
        at in 0usize..64,
        has_end in any::<bool>(),
    ) {
        let mut whole = lines.join("\n");
        if has_end {
            whole.push('\n');
        }
        let at = at.min(whole.len());
        for format in [FormatSpec::Raw, FormatSpec::Json] {
            let (_root, path) = file(&whole.as_bytes()[..at]);
            let (mut seen, stood) = read_once(&path, format.clone());
            append(&path, &whole.as_bytes()[at..]);
            let (expected, _) = read_once(&path, format.clone());
            match read_on(&path, format.clone(), &stood) {
                Ok(rest) => {
                    seen.extend(rest);
                    prop_assert_eq!(seen, expected);
                }
                Err(error) => {
                    let is_within = at > 0 && at < whole.len()
                        && whole.as_bytes()[at - 1] != b'\n' && whole.as_bytes()[at] != b'\n';
                    prop_assert!(is_within && error.code() == Some("E0312"), "{}", error);
                }
            }
        }
    }
}
