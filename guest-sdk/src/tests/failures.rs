//! A bad record is one bad record.

use crate::prelude::*;
use crate::testing::{Harness, Record};

/// Does many things, then fails where the record says so.
#[tidegate::function]
struct Fragile {
    #[state]
    seen: Counter,
    #[output]
    side: Output<Utf8>,
    #[metric]
    handled: Count,
}

impl Keyed for Fragile {
    type In = Utf8;
    type Out = Forward;

    fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
        self.seen.add(1)?;
        self.side.emit(text);
        self.handled.add(1);
        cx.forward();
        match text {
            "error" => bail!("asked to"),
            "panic" => panic!("asked to"),
            "parse" => {
                "x".parse::<i32>()?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn records() -> Vec<Record> {
    ["a", "error", "b", "panic", "c", "parse", "d"].map(|text| Record::text(text).key("k")).to_vec()
}

#[test]
fn what_a_failing_record_did_is_undone_and_the_others_go_on() {
    let mut harness = Harness::<Fragile>::new();
    let run = harness.run_every_way(records());
    let forwarded: Vec<_> = run.main().iter().map(|sent| sent.index()).collect();
    assert_eq!(forwarded, [0, 2, 4, 6]);
    assert_eq!(run.output("side").len(), 4);
    assert_eq!(harness.state("seen").value::<i64>("k"), Some(4));
    assert_eq!(harness.metric("handled"), 4.0);
}

#[test]
fn errors_and_panics_arrive_as_text_a_panic_with_file_and_line() {
    let run = Harness::<Fragile>::new().run(records());
    let [error, panic, parse] = run.bad_records() else { panic!("three records fail") };
    assert_eq!((error.index(), error.message()), (1, "asked to"));
    assert_eq!(parse.message(), "invalid digit found in string");
    let place = panic.message().strip_prefix("asked to at ").unwrap();
    assert!(place.contains("failures.rs:"), "{place}");
}

#[derive(Fields)]
struct Typed<'a> {
    name: &'a str,
    count: i64,
    share: Option<f64>,
}

#[tidegate::function]
struct Reads;

impl Unkeyed for Reads {
    type In = Fields<Typed<'static>>;
    type Out = Utf8;

    fn on_record(&mut self, typed: Typed<'_>, cx: &mut Context<Self>) -> Result {
        cx.emit(&format!("{} {} {:?}", typed.name, typed.count, typed.share));
        Ok(())
    }
}

#[test]
fn a_record_without_its_fields_never_reaches_the_function() {
    let values = [
        r#"{"name": "a", "count": 1, "share": null}"#,
        r#"{"count": 1}"#,
        r#"{"name": 7, "count": 1}"#,
        r#"{"name": "a", "count": 1.5}"#,
        "not json",
    ];
    let run = Harness::<Reads>::new().run_every_way(values.map(Record::json));
    assert_eq!(run.main().len(), 1);
    assert_eq!(run.main()[0].text(), "a 1 None");
    let messages: Vec<_> = run.bad_records().iter().map(|bad| bad.message()).collect();
    assert_eq!(messages[0], "field `name` at /name is missing");
    assert_eq!(messages[1], "field `name` at /name: expected a text, found 7");
    assert_eq!(messages[2], "field `count` at /count: expected a whole number of 64 bits, found 1.5");
    assert!(messages[3].starts_with("field `name` at /name: the value is not JSON"));
}

/// Sends the record before: what comes out depends on memory that is not state.
#[tidegate::function]
struct Forgetful {
    #[scratch]
    last: Option<String>,
}

impl Unkeyed for Forgetful {
    type In = Utf8;
    type Out = Utf8;

    fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
        let last = self.last.replace(text.to_owned()).unwrap_or_default();
        cx.emit(&last);
        Ok(())
    }
}

#[test]
#[should_panic(expected = "record 512 sent to `main` differs in batches of 512, instances renewed: true")]
fn a_function_that_keeps_memory_as_state_is_found_out() {
    Harness::<Forgetful>::new().run_every_way((0..600).map(|n| Record::text(&n.to_string())));
}

/// State that cannot be read as what the function expects.
#[tidegate::function]
struct Numbers {
    #[state(name = "kept")]
    number: Value<u8>,
}

impl Keyed for Numbers {
    type In = Utf8;
    type Out = ();

    fn on_record(&mut self, text: &str, _: &mut Context<Self>) -> Result {
        let kept = self.number.get()?.copied().unwrap_or(0);
        let sum = kept.checked_add(text.parse()?).ok_or_else(|| Error::new("more than 255"))?;
        self.number.set(sum);
        Ok(())
    }
}

#[test]
fn a_bad_record_leaves_the_state_of_its_key_as_it_was() {
    let mut numbers = Harness::<Numbers>::new();
    let run = numbers.run_every_way(["200", "100", "55"].map(|text| Record::text(text).key("k")));
    assert_eq!(run.bad_records()[0].message(), "more than 255");
    assert_eq!(numbers.state("kept").value::<u8>("k"), Some(255));
}

#[test]
fn a_state_without_migrate_says_what_to_write() {
    let error = crate::glue::migrate::<Numbers>(0, 1, &[[1u8]].into_iter().collect()).unwrap_err();
    assert!(error.starts_with("state `kept` has version 1 and does not say how to read version 1"), "{error}");
    let error = crate::glue::migrate::<Numbers>(9, 1, &[[1u8]].into_iter().collect()).unwrap_err();
    assert_eq!(error, "the function has no state with the number 9");
}
