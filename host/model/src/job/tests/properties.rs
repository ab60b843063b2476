use proptest::prelude::*;

use super::{FULL, parse};

/// Pieces that job files are made of, so that random texts get past the first line.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "name",
        "sources",
        "functions",
        "sinks",
        "input",
        "module",
        "file",
        "path",
        "stdout",
        "key",
        "config",
        "a",
        "b",
        "dedup.late",
        "/x",
        "$key",
        "1",
        "-1",
        "1e9",
        "0x1",
        "~",
        "true",
        "64MiB",
        "5s",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        ", ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "\t",
        "#",
        "|",
        ">",
        "&a ",
        "*a",
        "!t ",
        "<<",
        "---\n",
        "? ",
        "é",
    ];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

/// Every problem of a refused text lies inside the text.
fn check(text: &str) {
    if let Err(errors) = parse(text) {
        assert!(!errors.problems.is_empty(), "refused without a reason");
        for problem in &errors.problems {
            assert!(problem.line >= 1 && problem.column >= 1, "{problem:?}");
            assert!(problem.line <= text.lines().count().max(1) + 1, "{problem:?} in {text:?}");
            assert!(text.get(problem.span.clone()).is_some(), "{problem:?} in {text:?}");
        }
        assert!(!errors.to_string().is_empty());
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_places(text in ".{0,200}") {
        check(&text);
    }

    #[test]
    fn any_pieces_of_job_files_are_read_or_refused_with_places(pieces in proptest::collection::vec(piece(), 0..60)) {
        check(&pieces.concat());
    }

    #[test]
    fn a_good_file_with_bytes_changed_is_read_or_refused_with_places(
        at in 0usize..2000,
        cut in 0usize..30,
        with in proptest::collection::vec(piece(), 0..3),
    ) {
        let chars: Vec<char> = FULL.chars().collect();
        let at = at % chars.len();
        let before: String = chars[..at].iter().collect();
        let after: String = chars[(at + cut).min(chars.len())..].iter().collect();
        check(&format!("{before}{}{after}", with.concat()));
    }

    #[test]
    fn a_key_that_is_not_known_is_always_refused(line in 0usize..60, key in "[a-z]{9,12}") {
        let lines: Vec<&str> = FULL.lines().collect();
        let at = line % lines.len();
        let indent: String = lines[at].chars().take_while(|c| *c == ' ').collect();
        // Within `config` any key is right; a list and the first line have no room for another.
        let is_inside_config = ["ttl:", "limit:", "names:"].iter().any(|key| lines[at].trim_start().starts_with(key));
        prop_assume!(lines[at].contains(':') && !is_inside_config);
        let mut changed: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        changed.insert(at, format!("{indent}{key}: 1"));
        prop_assert!(parse(&changed.join("\n")).is_err(), "{}", changed.join("\n"));
    }
}
