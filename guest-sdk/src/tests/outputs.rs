//! What leaves, and in which order.

use proptest::prelude::*;

use crate::prelude::*;
use crate::testing::{Harness, Record};

/// Does to one output what each letter of the record says: forward, or send the letter.
#[tidegate::function]
struct Script {
    #[output]
    side: Output<Bytes>,
}

impl Unkeyed for Script {
    type In = Utf8;
    type Out = Bytes;

    fn on_record(&mut self, script: &str, cx: &mut Context<Self>) -> Result {
        for letter in script.chars() {
            let bytes = [letter as u8];
            match letter {
                'f' => cx.forward(),
                'k' => cx.emit_in(Envelope::new().key(b"own"), &bytes),
                'n' => cx.emit_in(Envelope::new().no_key(), &bytes),
                't' => cx.emit_in(Envelope::new().event_time(Timestamp::from_millis(1)), &bytes),
                'h' => cx.emit_in(Envelope::new().headers(&[("a", None), ("b", Some(b"c"))]), &bytes),
                'd' => cx.emit_tombstone(Envelope::new()),
                'F' => self.side.forward(),
                'S' => self.side.emit(&bytes),
                _ => cx.emit(&bytes),
            }
        }
        Ok(())
    }
}

/// What an output gets by the contract: the letters of each record in order.
fn expected(scripts: &[String], main: bool) -> Vec<(usize, char)> {
    let letters =
        scripts.iter().enumerate().flat_map(|(index, script)| script.chars().map(move |letter| (index, letter)));
    letters.filter(|(_, letter)| letter.is_ascii_lowercase() == main).collect()
}

fn check(scripts: &[String]) {
    let run = Harness::<Script>::new().run_every_way(scripts.iter().map(|script| Record::text(script).key("its")));
    for (sent, main) in [(run.main(), true), (run.output("side"), false)] {
        let expected = expected(scripts, main);
        assert_eq!(sent.len(), expected.len());
        for (sent, (index, letter)) in sent.iter().zip(expected) {
            assert_eq!(sent.index(), index);
            assert_eq!(sent.is_forwarded(), letter.eq_ignore_ascii_case(&'f'));
            assert_eq!(sent.is_tombstone(), letter == 'd');
            if !sent.is_forwarded() && !sent.is_tombstone() {
                assert_eq!(sent.bytes(), [letter as u8]);
            }
            let key: Option<&[u8]> = match letter {
                'k' => Some(b"own"),
                'n' => None,
                _ => Some(b"its"),
            };
            assert_eq!(sent.key(), key);
            assert_eq!(sent.event_time().is_some(), letter == 't');
            assert_eq!(sent.headers().len(), if letter == 'h' { 2 } else { 0 });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_leave_by_row_and_for_one_row_in_the_order_of_the_calls(
        scripts in proptest::collection::vec("[fkntdhxyFS]{0,5}", 0..12),
    ) {
        check(&scripts);
    }
}

#[test]
fn forwards_and_records_of_a_batch_leave_in_one_call_each() {
    let mut harness = Harness::<Script>::new();
    harness.run(["fx", "fx", "x", "f"].map(Record::text));
    assert_eq!(harness.last_calls(), ["forward", "push"]);
}

#[test]
fn what_waits_leaves_when_it_exceeds_its_bound() {
    let mut harness = Harness::<Script>::new();
    let many = "x".repeat(100_000);
    let run = harness.run([Record::text(&many)]);
    assert_eq!(run.main().len(), 100_000);
    let pushes = harness.last_calls().iter().filter(|call| **call == "push").count();
    assert!((2..10).contains(&pushes), "{pushes}");
}

#[test]
fn a_record_that_forwards_after_it_sent_keeps_its_order() {
    check(&["xf".to_owned(), "fxfxx".to_owned(), "x".to_owned()]);
}

/// A record that JSON cannot express.
#[derive(serde::Serialize)]
struct Odd;

impl Schema for Odd {
    fn schema(into: &mut crate::SchemaText) {
        into.raw("{}");
    }
}

#[derive(serde::Serialize)]
struct NotJson(std::collections::BTreeMap<(u8, u8), u8>);

impl Schema for NotJson {
    fn schema(into: &mut crate::SchemaText) {
        into.raw("{}");
    }
}

#[tidegate::function]
struct BadJson {
    #[output]
    odd: Output<Json<Odd>>,
}

impl Unkeyed for BadJson {
    type In = Utf8;
    type Out = Json<NotJson>;

    fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
        self.odd.emit(&Odd);
        let entries = if text == "bad" { vec![((1, 2), 3)] } else { Vec::new() };
        cx.emit(&NotJson(entries.into_iter().collect()));
        Ok(())
    }
}

#[test]
fn a_record_that_cannot_be_encoded_makes_its_cause_a_bad_record() {
    let run = Harness::<BadJson>::new().run_every_way(["a", "bad", "b"].map(Record::text));
    assert_eq!(run.main().iter().map(|sent| sent.text()).collect::<Vec<_>>(), ["{}", "{}"]);
    assert_eq!(run.output("odd").iter().map(|sent| sent.text()).collect::<Vec<_>>(), ["null", "null"]);
    assert_eq!(run.bad_records()[0].index(), 1);
    assert_eq!(run.bad_records()[0].message(), "key must be a string");
}
