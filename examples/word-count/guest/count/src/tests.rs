use tidegate::testing::{Harness, Record};

use super::CountWords;

#[test]
fn a_count_goes_on_over_batches() {
    let word = |word: &str| Record::text(word).key(word);
    let mut count = Harness::<CountWords>::new();
    count.run([word("the"), word("the"), word("people")]);
    let run = count.run([word("the")]);
    assert_eq!(run.main()[0].field::<String>("word"), "the");
    assert_eq!(run.main()[0].field::<i64>("count"), 3);
}
