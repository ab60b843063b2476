use serde_json::json;

use super::{Rejected, first_of_one, of_letters, text};

fn letter(position: u64, code: &str) -> Option<Vec<u8>> {
    let letter = json!({
        "error": { "code": code, "kind": "rejected", "message": "it is bad" },
        "origin": { "source": "input", "split": "a", "position": position },
        "value": "{\"id\":1}",
    });
    Some(letter.to_string().into_bytes())
}

#[test]
fn letters_are_read_by_position() {
    let read = of_letters(&vec![letter(9, "E0501"), letter(4, "E0701")]);
    assert_eq!(read.iter().map(|it| (it.position, it.code.as_str())).collect::<Vec<_>>(), [(4, "E0701"), (9, "E0501")]);
    assert_eq!(
        text(&read),
        "2 records were rejected\n  E0701 at position 4: it is bad: {\"id\":1}\n  E0501 at position 9: it is bad: {\"id\":1}"
    );
}

#[test]
fn a_verdict_that_depends_on_the_batches_is_seen_from_both_sides() {
    let one = of_letters(&vec![letter(4, "E0701"), letter(9, "E0501")]);
    let position = |it: Option<&Rejected>| it.map(|it| it.position);
    assert_eq!(position(first_of_one(&one, &one)), None);
    assert_eq!(position(first_of_one(&one, &one[..1])), Some(9));
    assert_eq!(position(first_of_one(&one[1..], &one)), Some(4));
    let other = of_letters(&vec![letter(4, "E0702"), letter(9, "E0501")]);
    assert_eq!(position(first_of_one(&one, &other)), Some(4));
}

#[test]
fn many_are_counted_and_some_shown() {
    let many = of_letters(&(0..30).map(|position| letter(position, "E0501")).collect());
    assert!(text(&many).starts_with("30 records were rejected\n") && text(&many).ends_with("\n  and 10 more"));
    assert_eq!(text(&many).lines().count(), 22);
}
