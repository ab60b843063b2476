use tidegate::testing::{Harness, Record};

use super::Split;

fn check(line: &str, expected: &[&str]) {
    let run = Harness::<Split>::new().run([Record::text(line)]);
    let words: Vec<String> = run.main().iter().map(|out| String::from_utf8(out.bytes().to_vec()).unwrap()).collect();
    assert_eq!(words, expected, "{line}");
}

#[test]
fn words_are_lower_case_and_lose_what_stands_around_them() {
    check("We the People, of the United-States.", &["we", "the", "people", "of", "the", "united", "states"]);
}

#[test]
fn an_apostrophe_belongs_to_a_word_only_inside_it() {
    check("Nature's 'God' '' o'er'", &["nature's", "god", "o'er"]);
}

#[test]
fn an_empty_line_has_no_words() {
    check("", &[]);
}
