use super::*;

#[test]
fn lines_end_with_or_without_a_return_and_the_last_may_have_no_end() {
    let seen = read_bytes("a.jsonl", b"1\r\n2\n3", FormatSpec::Json);
    assert_eq!(seen.texts(), ["1", "2", "3"]);
    assert_eq!(seen.at(), [0, 3, 5]);
    assert_eq!(seen.positions, [(SplitIndex(0), Position(6))]);
}

#[test]
fn empty_lines_and_a_byte_order_mark_are_passed_over_and_counted_in_json() {
    let seen = read_bytes("a.jsonl", b"\xef\xbb\xbf1\n\n\r\n2\n", FormatSpec::Json);
    assert_eq!(seen.texts(), ["1", "2"]);
    assert_eq!(seen.at(), [3, 8]);
    assert_eq!(seen.counter("empty-lines"), 2);
    assert_eq!(seen.counter("byte-order-marks"), 1);
}

#[test]
fn empty_lines_are_empty_records_in_raw_and_a_byte_order_mark_is_kept() {
    let seen = read_bytes("a.txt", b"\xef\xbb\xbf1\n\n2\n", FormatSpec::Raw);
    assert_eq!(seen.texts(), ["\u{feff}1", "", "2"]);
    assert_eq!(seen.counter("empty-lines"), 0);
}

#[test]
fn an_empty_file_has_no_records() {
    let seen = read_bytes("a.jsonl", b"", FormatSpec::Json);
    assert!(seen.records.is_empty() && seen.error.is_none());
}

#[test]
fn a_directory_is_read_in_the_order_of_names_without_hidden_files_and_sub_directories() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    for (name, text) in [("b.jsonl", "2\n"), ("a.jsonl", "1\n"), (".hidden.jsonl", "0\n"), ("c.csv", "x\n")] {
        std::fs::write(path.join(name), text).expect("a file");
    }
    std::fs::create_dir(path.join("sub.jsonl")).expect("a directory");
    let options = FileSourceOptions { include: vec![".jsonl".to_owned()], ..options(path, FormatSpec::Json) };
    let seen = read(options);
    assert_eq!(seen.texts(), ["1", "2"]);
    let splits: Vec<_> = seen.records.iter().map(|(split, ..)| *split).collect();
    assert_eq!(splits, [SplitIndex(0), SplitIndex(1)]);
}

#[test]
fn a_directory_without_files_to_read_is_refused_with_what_it_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join(".hidden"), "x").expect("a file");
    let refused = FileSource::new(options(directory.path(), FormatSpec::Json)).expect_err("nothing to read");
    assert_eq!(refused.code(), Some("E0302"));
    assert!(refused.to_string().contains("1 hidden"), "{refused}");
}

#[test]
fn a_path_that_is_not_there_is_named() {
    let refused = FileSource::new(options(Path::new("/no/such/file"), FormatSpec::Json)).expect_err("nothing there");
    assert_eq!(refused.to_string(), "E0301 open `/no/such/file`: no such file or directory (os error 2)");
}

#[test]
fn packed_files_are_read_by_their_first_bytes_whatever_their_name() {
    let lines = json_lines(10_000);
    let plain = read_bytes("a.jsonl", &lines, FormatSpec::Json);
    assert_eq!(plain.records.len(), 10_000);
    for packed in [gzip(&lines), zstd(&lines)] {
        let seen = read_bytes("a.jsonl", &packed, FormatSpec::Json);
        assert_eq!(seen.records, plain.records);
        assert_eq!(seen.positions, plain.positions);
    }
}

#[test]
fn members_and_frames_follow_one_another_and_a_line_may_span_them() {
    for pack in [gzip, zstd] {
        let packed = [pack(b"1\n2"), pack(b""), pack(b"2\n3\n")].concat();
        assert_eq!(read_bytes("a", &packed, FormatSpec::Json).texts(), ["1", "22", "3"]);
    }
    let padded = [gzip(b"1\n"), vec![0; 1000]].concat();
    assert_eq!(read_bytes("a", &padded, FormatSpec::Json).texts(), ["1"]);
}

#[test]
fn a_quoted_field_of_csv_may_hold_line_breaks_and_quotes() {
    let text = b"id,text\r\n1,\"a\nb\"\n2,\"say \"\"\n\"\"\"\n3,5\" pipe\n4,\"\"\n";
    let seen = read_bytes("a.csv", text, csv());
    assert_eq!(seen.texts(), ["1,\"a\nb\"", "2,\"say \"\"\n\"\"\"", "3,5\" pipe", "4,\"\""]);
}

#[test]
fn the_last_record_of_csv_may_have_line_breaks_and_no_end() {
    for last in ["2,\"a\nb\"", "2,\"a\n\"\"b\"", "2,\"a\nb\",c", "2,\"a\r\n\","] {
        let seen = read_bytes("a.csv", format!("id,text\n1,x\n{last}").as_bytes(), csv());
        assert_eq!(seen.texts(), ["1,x", last]);
        assert!(seen.rejected.is_empty(), "{:?}", seen.rejected);
    }
}

#[test]
fn header_lines_give_the_columns_and_must_be_alike() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("a.csv"), "\u{feff}id,\"the, text\"\n1,x\n").expect("a file");
    std::fs::write(path.join("b.csv"), "id,\"the, text\"\r\n2,y\r\n").expect("a file");
    let source = FileSource::new(options(path, csv())).expect("the headers are alike");
    assert_eq!(source.columns(), ["id", "the, text"]);
    assert_eq!(read(options(path, csv())).texts(), ["1,x", "2,y"]);

    std::fs::write(path.join("c.csv"), "id,txt\n").expect("a file");
    let refused = FileSource::new(options(path, csv())).expect_err("the headers differ");
    assert_eq!(refused.code(), Some("E0308"));
    assert!(
        refused.to_string().contains("c.csv`: expected the header line `id,the, text`, found `id,txt`"),
        "{refused}"
    );
}

#[test]
fn csv_without_a_header_takes_its_columns_from_the_options() {
    let seen = read_bytes("a.csv", b"1,x\n2,y\n", headless(&["id", "text"]));
    assert_eq!(seen.texts(), ["1,x", "2,y"]);
}

#[test]
fn a_header_alone_has_no_records() {
    for text in ["id,text", "id,text\n"] {
        let seen = read_bytes("a.csv", text.as_bytes(), csv());
        assert!(seen.records.is_empty() && seen.error.is_none(), "{seen:?}");
    }
}

#[test]
fn rows_and_bytes_of_a_batch_are_bounded_and_a_large_record_comes_alone() {
    let lines = [b"{\"a\":1}\n".repeat(50), b"x".repeat(500), b"\n1\n".to_vec()].concat();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a");
    std::fs::write(&path, &lines).expect("a file");
    let source = FileSource::new(options(&path, FormatSpec::Raw)).expect("the file is found");
    let mut reader = open(&source, None).expect("the file opens");
    assert_eq!(drain(reader.as_mut(), 7, 100, usize::MAX).records.len(), 52);
}

#[test]
fn arenas_are_used_again_but_never_under_a_batch_that_lives() {
    let lines = json_lines(40_000);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a");
    std::fs::write(&path, &lines).expect("a file");
    let source = FileSource::new(options(&path, FormatSpec::Json)).expect("the file is found");
    let mut reader = open(&source, None).expect("the file opens");
    let mut kept = Vec::new();
    let mut all = Vec::new();
    while let Polled::Batch(batch) = reader.poll(1000, 1 << 20).expect("read") {
        all.extend(batch.values.iter().map(|value| value.expect("a line").to_vec()));
        if all.len() % 3 == 0 {
            kept.push((all.len(), batch));
        }
    }
    for (end, batch) in kept {
        let values: Vec<_> = batch.values.iter().map(|value| value.expect("a line").to_vec()).collect();
        assert_eq!(values, all[end - values.len()..end]);
    }
}

#[test]
fn a_file_source_keeps_the_promises_of_a_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let long = [b"3\n".to_vec(), b"x".repeat(600), b"\n\n4\r\n5".to_vec()].concat();
    std::fs::write(path.join("a"), json_lines(300)).expect("a file");
    std::fs::write(path.join("b"), long).expect("a file");
    std::fs::write(path.join("c"), gzip(&json_lines(200))).expect("a file");
    std::fs::write(path.join("d"), b"").expect("a file");
    std::fs::write(path.join("e"), zstd(b"\xef\xbb\xbf1\n2\n")).expect("a file");
    for format in [FormatSpec::Json, FormatSpec::Raw, headless(&["a"])] {
        let options = FileSourceOptions { max_record_bytes: 500, ..options(path, format) };
        contract::compliance::source::check(&|| Box::new(FileSource::new(options.clone()).expect("files")));
    }
}

#[test]
fn a_file_source_with_header_lines_keeps_the_promises_of_a_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("a"), b"\xef\xbb\xbfid,text\n1,\"a\nb\"\n\n2,c\n").expect("a file");
    std::fs::write(path.join("b"), b"id,text\r\n3,\"open\r\n4,d\r\n").expect("a file");
    contract::compliance::source::check(&|| Box::new(FileSource::new(options(path, csv())).expect("files")));
}
