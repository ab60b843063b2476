use super::*;

#[test]
fn a_line_too_long_is_rejected_with_its_start_and_length_and_the_next_is_read() {
    let long = b"x".repeat(10 * 1024 * 1024);
    let text = [b"1\n", long.as_slice(), b"\n2\n"].concat();
    for bytes in [text.clone(), gzip(&text)] {
        let seen = read_bytes("a.jsonl", &bytes, FormatSpec::Json);
        assert_eq!(seen.texts(), ["1", "2"]);
        let [rejected] = seen.rejected.as_slice() else { panic!("{} rejected", seen.rejected.len()) };
        assert_eq!((rejected.reason, rejected.position), ("record-too-long", Position(2)));
        assert_eq!(rejected.length_bytes, 10 * 1024 * 1024);
        assert_eq!(rejected.bytes.len(), 64 * 1024);
        assert!(rejected.message.contains("expected at most 1048576 (`max_record`)"), "{}", rejected.message);
    }
}

#[test]
fn a_record_of_exactly_the_longest_length_passes_and_one_more_does_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a");
    std::fs::write(&path, b"12345\r\n123456\r\n12345\n123456").expect("a file");
    let seen = read(FileSourceOptions { max_record_bytes: 5, ..options(&path, FormatSpec::Raw) });
    assert_eq!(seen.texts(), ["12345", "12345"]);
    let lengths: Vec<_> = seen.rejected.iter().map(|rejected| rejected.length_bytes).collect();
    assert_eq!(lengths, [6, 6]);
}

#[test]
fn a_quote_that_is_not_closed_costs_its_own_line_only() {
    let text = b"id,text\n1,\"open\n2,x\n3,\"y\nz\"\n4,w\n";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.csv");
    std::fs::write(&path, text).expect("a file");
    let seen = read(options(&path, csv()));
    // The quote of line 1 ends at that of line 3.
    assert_eq!(seen.texts(), ["1,\"open\n2,x\n3,\"y", "z\"", "4,w"]);
    assert_eq!(seen.rejected.len(), 0, "{:?}", seen.rejected);

    std::fs::write(&path, b"id,text\n1,\"open\n2,x\n3,y\n").expect("a file");
    let seen = read(options(&path, csv()));
    assert_eq!(seen.texts(), ["2,x", "3,y"]);
    assert_eq!(seen.rejected[0].reason, "quote-not-closed");
    assert_eq!(seen.rejected[0].bytes, b"1,\"open");
}

#[test]
fn many_open_quotes_are_found_in_one_pass() {
    // Each line opens a quote, and leaves an open one open: a search from every line would be quadratic.
    let text = [b"id,text\n".to_vec(), b"x\"y,\"z\n".repeat(300_000)].concat();
    let seen = read_bytes("a.csv", &text, csv());
    assert_eq!(seen.records.len() + seen.rejected.len(), 300_000);
    assert!(seen.rejected.len() > 100_000);
}

#[test]
fn every_line_before_the_end_of_a_truncated_file_is_read() {
    let lines = json_lines(20_000);
    for (name, packed) in [("a.gz", gzip(&lines)), ("a.zst", zstd(&lines))] {
        let cut = packed.len() * 2 / 3;
        let seen = read_bytes(name, &packed[..cut], FormatSpec::Json);
        let error = seen.error.as_ref().expect("the file is truncated");
        assert_eq!(error.code(), Some("E0304"));
        assert!(error.to_string().contains(&format!("{name}`: the file ends in the middle")), "{error}");
        assert!(error.to_string().contains(&format!("at byte {cut} of the file")), "{error}");
        assert!(seen.records.len() > 8_000, "{} records", seen.records.len());
        let plain = read_bytes("a", &lines, FormatSpec::Json);
        assert_eq!(seen.records, plain.records[..seen.records.len()]);
    }
}

#[test]
fn every_line_before_a_damaged_place_is_read() {
    let lines = json_lines(20_000);
    for (name, mut packed) in [("a.gz", gzip(&lines)), ("a.zst", zstd(&lines))] {
        let middle = packed.len() / 2;
        packed[middle..middle + 40].fill(0xff);
        let seen = read_bytes(name, &packed, FormatSpec::Json);
        assert_eq!(seen.error.as_ref().and_then(contract::Error::code), Some("E0304"), "{:?}", seen.error);
        assert!(!seen.records.is_empty());
    }
}

#[test]
fn a_wrong_checksum_is_an_error_after_the_last_line() {
    let mut packed = gzip(b"1\n2\n");
    let crc_at = packed.len() - 8;
    packed[crc_at] ^= 1;
    let seen = read_bytes("a.gz", &packed, FormatSpec::Json);
    assert_eq!(seen.texts(), ["1", "2"]);
    assert!(seen.error.expect("a wrong checksum").to_string().contains("checksum"));
}

#[test]
fn what_follows_the_last_member_is_an_error() {
    let seen = read_bytes("a.gz", &[gzip(b"1\n"), b"2\n".to_vec()].concat(), FormatSpec::Json);
    assert_eq!(seen.texts(), ["1"]);
    assert!(seen.error.expect("garbage").to_string().contains("bytes that are not gzip follow"));
}

#[test]
fn reading_goes_no_further_after_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.gz");
    std::fs::write(&path, &gzip(b"1\n2\n")[..20]).expect("a file");
    let source = FileSource::new(options(&path, FormatSpec::Json)).expect("the file is found");
    let mut reader = open(&source, None).expect("the file opens");
    for _ in 0..3 {
        assert!(drain(reader.as_mut(), 10, 100, usize::MAX).error.is_some());
    }
}

#[test]
fn a_name_or_an_option_that_the_bytes_belie_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text, found) in [("a.gz", "1\n", "the bytes 31 0a"), ("b.zst", "", "an empty file")] {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        let source = FileSource::new(options(&path, FormatSpec::Json)).expect("the file is found");
        let error = open(&source, None).err().expect("not packed");
        assert_eq!(error.code(), Some("E0305"));
        assert!(error.to_string().contains(found), "{error}");
    }
    let path = directory.path().join("c.jsonl");
    std::fs::write(&path, "1\n").expect("a file");
    let zstd = FileSourceOptions { compression: SourceCompression::Zstd, ..options(&path, FormatSpec::Json) };
    let error = open(&FileSource::new(zstd).expect("found"), None).err().expect("not packed");
    assert!(error.to_string().contains("expected zstd because of its `compression`"), "{error}");
}

#[test]
fn a_file_cut_or_replaced_while_it_is_read_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.jsonl");
    std::fs::write(&path, json_lines(50_000)).expect("a file");
    let source = FileSource::new(options(&path, FormatSpec::Json)).expect("the file is found");

    let mut reader = open(&source, None).expect("the file opens");
    drain(reader.as_mut(), 100, 10_000, 2);
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the file");
    file.set_len(1000).expect("cut");
    let error = drain(reader.as_mut(), 100, 10_000, usize::MAX).error.expect("cut");
    assert_eq!(error.code(), Some("E0306"));
    assert!(error.to_string().contains("cut from"), "{error}");

    let mut reader = open(&source, None).expect("the file opens");
    std::fs::rename(&path, directory.path().join("old")).expect("moved");
    std::fs::write(&path, "1\n").expect("another file");
    let error = drain(reader.as_mut(), 100, 10_000, usize::MAX).error.expect("replaced");
    assert!(error.to_string().contains("replaced by another file"), "{error}");
}

#[test]
fn a_position_behind_the_end_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in [("a", b"1\n2\n".to_vec()), ("b.gz", gzip(b"1\n2\n"))] {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        let source = FileSource::new(options(&path, FormatSpec::Json)).expect("the file is found");
        let error = open(&source, Some(Position(5))).err().expect("no such position");
        assert_eq!(error.code(), Some("E0307"));
        assert!(error.to_string().contains("ends at 4: position 5 does not exist"), "{error}");
        let mut at_end = open(&source, Some(Position(4))).expect("the end is a position");
        assert!(drain(at_end.as_mut(), 10, 100, usize::MAX).records.is_empty());
    }
}

#[test]
fn a_header_that_cannot_be_one_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.csv");
    for (text, why) in [
        ("", "it is empty"),
        ("\n1\n", "starts with an empty line"),
        ("a,a\n", "names a column twice"),
        ("a,b\u{0}\u{0}", ""),
    ] {
        std::fs::write(&path, text).expect("a file");
        match FileSource::new(options(&path, csv())) {
            Err(refused) => assert!(refused.to_string().contains(why), "{refused}"),
            Ok(source) => assert_eq!(source.columns().len(), 2),
        }
    }
    std::fs::write(&path, b"a,\xff\n").expect("a file");
    let refused = FileSource::new(options(&path, csv())).expect_err("not UTF-8");
    assert!(refused.to_string().contains("not UTF-8"), "{refused}");
}

#[test]
fn a_header_line_never_takes_records_with_it_without_a_word() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.csv");
    let rows = |count: usize| "0,a\n".repeat(count);
    for (text, why) in [
        (format!("id,\"v\n{}", rows(3)), "a quote opens in its header line and is not closed"),
        (format!("\u{feff}id,\"v\n{}", rows(3)), "a quote opens in its header line and is not closed"),
        (format!("id,\"v\n{}", rows(100_000)), "a quote opens in its header line and is not closed"),
        ("id,\"v".to_owned(), "a quote opens in its header line and is not closed"),
        (format!("id,{}\n", "v".repeat(70_000)), "longer than 64 KiB"),
        ("id,v\r0,a\r1,a\r".to_owned(), "byte 4 of its header line is a carriage return"),
        ("id,v\rGARBAGE,1\r2,b\n1,a\n".to_owned(), "byte 4 of its header line is a carriage return"),
        ("id,\"a\rb\"\rc\n1,a\n".to_owned(), "byte 8 of its header line is a carriage return"),
        ("\rid,v\n1,a\n".to_owned(), "byte 0 of its header line is a carriage return"),
        ("id,v\r\r\n1,a\n".to_owned(), "byte 4 of its header line is a carriage return"),
    ] {
        std::fs::write(&path, &text).expect("a file");
        let refused = FileSource::new(options(&path, csv())).expect_err("no header line");
        let start = text.get(..20).unwrap_or(&text);
        assert_eq!(refused.code(), Some("E0308"), "{start:?}");
        assert!(refused.to_string().contains(why), "{start:?}: {refused}");
    }
}

#[test]
fn quotes_and_returns_that_are_in_their_place_in_a_header_line_are_part_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.csv");
    for (text, columns) in [
        ("id,\"a\rb\"\r\n1,a\n", ["id", "a\rb"]),
        ("id,\"a\nb\"\n1,a\n", ["id", "a\nb"]),
        ("id,5\" pipe\n1,a\n", ["id", "5\" pipe"]),
    ] {
        std::fs::write(&path, text).expect("a file");
        let source = FileSource::new(options(&path, csv())).expect("a header line");
        assert_eq!(source.columns(), columns);
        assert_eq!(read(options(&path, csv())).texts(), ["1,a"], "{text:?}");
    }
}

#[test]
fn what_is_kept_of_a_line_that_ends_with_an_arena_has_no_line_end() {
    const ARENA: usize = 256 * 1024;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a");
    for format in [FormatSpec::Raw, FormatSpec::Json, headless(&["a"])] {
        // Lines with their end before, on and behind the end of an arena, and far shorter than one.
        for (length, ending) in (98..=133).flat_map(|length| ["\n", "\r\n", ""].map(|ending| (length, ending))) {
            let after = if ending.is_empty() { "" } else { "2\n" };
            // 262,013 bytes before it.
            let text = ["1234\n", &"1234567\n".repeat(32_751), &"x".repeat(length), ending, after].concat();
            assert_eq!(text.find('x'), Some(ARENA - 131));
            std::fs::write(&path, text).expect("a file");
            let seen = read(FileSourceOptions { max_record_bytes: 100, ..options(&path, format.clone()) });
            assert_eq!(seen.rejected.len(), usize::from(length > 100), "{length} and {ending:?}");
            for rejected in seen.rejected {
                assert_eq!(rejected.length_bytes, length as u64, "ends in {ending:?}");
                assert_eq!(rejected.bytes, "x".repeat(length).as_bytes(), "ends in {ending:?}");
            }
            assert_eq!(seen.error.map(|error| error.to_string()), None);
        }
    }
}

#[test]
fn a_stray_quote_takes_no_record_with_it_wherever_the_closing_one_stands() {
    const LONGEST: u64 = 1000;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.csv");
    let (opening, good) = ("1,\"open\n", "23,good\n");
    // The records around the places where an arena ends, and the quote that closes at and above the limit.
    for before in [0, 1, 32_700, 32_767, 32_768, 32_769] {
        for between in [0, 100, 123, 124, 125, 200, 240, 1000, 40_000] {
            let text = [&good.repeat(before), opening, &good.repeat(between), "4,x\"\n", &good.repeat(300)].concat();
            std::fs::write(&path, &text).expect("a file");
            let options = FileSourceOptions { max_record_bytes: LONGEST, ..options(&path, headless(&["a", "b"])) };
            let seen = read(options);
            let joined = opening.len() + good.len() * between + "4,x\"".len();
            let (records, rejected) = if joined as u64 <= LONGEST { (1, 0) } else { (between + 1, 1) };
            assert_eq!(seen.records.len(), before + records + 300, "{before} before, {between} between");
            assert_eq!(seen.rejected.len(), rejected, "{before} before, {between} between");
        }
    }
}

#[test]
fn a_quote_left_open_in_a_long_file_does_not_stop_quotes_after_it() {
    let (opening, quoted) = ("1,\"open\n", "2,\"a\nb\"\n");
    let filler = "3,x\n".repeat(300_000);
    let text = [opening, &filler, opening, &quoted.repeat(3)].concat();
    let seen = read_bytes("a.csv", text.as_bytes(), headless(&["a", "b"]));
    let texts = seen.texts();
    assert_eq!(seen.rejected.len(), 1, "{:?}", seen.rejected);
    // The second one closes where the next record opens its own.
    assert_eq!(texts[300_000..], ["1,\"open\n2,\"a", "b\"", "2,\"a\nb\"", "2,\"a\nb\""]);
}

#[test]
fn what_is_kept_of_a_long_line_is_of_the_line_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a");
    // Longer than an arena, so that the end of the line comes with another one; ends around its borders.
    for length in [300_000, 262_143, 262_144, 262_145, 524_286, 524_287, 524_288, 20] {
        for ending in ["\n", "\r\n"] {
            let text = [&"x".repeat(length), ending, "2\n"].concat();
            std::fs::write(&path, text).expect("a file");
            let seen = read(FileSourceOptions { max_record_bytes: 10, ..options(&path, FormatSpec::Raw) });
            assert_eq!(seen.texts(), ["2"]);
            let [rejected] = seen.rejected.as_slice() else { panic!("{} rejected", seen.rejected.len()) };
            assert_eq!(rejected.length_bytes, length as u64, "ends in {ending:?}");
            assert!(rejected.bytes.iter().all(|&byte| byte == b'x'), "{length} bytes end in {ending:?}");
            assert_eq!(rejected.bytes.len(), length.min(64 * 1024));
        }
    }
}

#[test]
fn a_split_is_known_by_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["a", "b"] {
        std::fs::write(directory.path().join(name), "1\n").expect("a file");
    }
    let source = FileSource::new(options(directory.path(), FormatSpec::Json)).expect("the files are found");
    let mut splits = source.splits().expect("found");
    splits[1].name.push('x');
    let assigned =
        splits.into_iter().map(|split| SplitAssignment { split, position: None, identity: Vec::new() }).collect();
    let refused = source.open(SourceId(0), assigned).err().expect("there is no such file");
    assert!(refused.code() == Some("E0307") && refused.to_string().contains("/bx`"), "{refused}");
}
