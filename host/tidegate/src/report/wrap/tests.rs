use proptest::prelude::*;

use super::wrapped;

#[test]
fn lines_are_broken_at_spaces() {
    assert_eq!(wrapped("one two three", 7), "one two\nthree");
    assert_eq!(wrapped("one two three\n  because: four five", 16), "one two three\n  because: four\n  five");
    assert_eq!(wrapped("", 10), "");
}

#[test]
fn a_path_is_never_broken() {
    let path = "`/var/lib/some-where/with a space/and-more/of.it`";
    for width in [1, 10, 40, 80] {
        assert!(wrapped(&format!("read job file {path}: it is gone"), width).contains(path), "{width}");
    }
    let bare = "/var/lib/some-where/and-more/of.it";
    assert!(wrapped(&format!("read {bare}: it is gone"), 10).contains(bare));
}

#[test]
fn a_single_backtick_quotes_nothing() {
    assert_eq!(wrapped("it`s one two", 5), "it`s\none\ntwo");
}

proptest! {
    #[test]
    fn nothing_is_lost_and_short_words_make_short_lines(text in "[a-z` ]{0,80}", width in 1..40_usize) {
        let broken = wrapped(&text, width);
        prop_assert_eq!(broken.replace(['\n', ' '], ""), text.replace(' ', ""));
        for line in broken.split('\n').filter(|line| !line.contains('`')) {
            prop_assert!(line.len() <= width || !line.trim_start().contains(' '), "{:?}", line);
        }
    }
}
