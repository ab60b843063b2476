//! How records are received.

use serde::Deserialize;

use crate::prelude::*;
use crate::testing::{Harness, Record};

#[derive(Fields)]
struct Order<'a> {
    id: &'a str,
    amount: i64,
}

#[derive(Deserialize, Schema)]
struct Payment {
    order: String,
    cents: i64,
}

/// Several inputs.
#[derive(Inputs)]
enum Event<'a> {
    Orders(Order<'a>),
    #[input(Json<Payment>)]
    CardPayments(Payment),
    #[input(Utf8, name = "notes")]
    Note(&'a str),
    #[input(KeyOnly)]
    Pings(()),
}

#[tidegate::function]
struct Ledger {
    #[state]
    open: Counter,
}

impl Keyed for Ledger {
    type In = Event<'static>;
    type Out = Utf8;

    fn on_record(&mut self, event: Event<'_>, cx: &mut Context<Self>) -> Result {
        let open = match event {
            Event::Orders(order) => {
                if order.id.is_empty() {
                    bail!("an order without id");
                }
                self.open.add(order.amount)?
            }
            Event::CardPayments(payment) => {
                if payment.order.is_empty() {
                    bail!("a payment without order");
                }
                self.open.add(-payment.cents)?
            }
            Event::Note(note) => {
                cx.emit(note);
                return Ok(());
            }
            Event::Pings(()) => self.open.get()?,
        };
        cx.emit(&format!("{} {open}", cx.key_text()?));
        Ok(())
    }
}

#[test]
fn several_inputs_are_told_apart_by_type_and_share_the_state() {
    let mut ledger = Harness::<Ledger>::new();
    let names: Vec<_> = ledger.descriptor().inputs.iter().map(|port| (port.id, port.name.clone())).collect();
    let expected = [(0, "orders"), (1, "card-payments"), (2, "notes"), (3, "pings")];
    assert_eq!(names, expected.map(|(id, name)| (id, name.to_owned())));

    let run = ledger.run_every_way([
        Record::json(r#"{"id": "1", "amount": 500}"#).input("orders").key("1"),
        Record::json(r#"{"order": "1", "cents": 200}"#).input("card-payments").key("1"),
        Record::text("hello").input("notes").key("1"),
        Record::tombstone().input("pings").key("1"),
        Record::json(r#"{"order": 1}"#).input("card-payments").key("1"),
    ]);
    let texts: Vec<_> = run.main().iter().map(|sent| sent.text()).collect();
    assert_eq!(texts, ["1 500", "1 300", "hello", "1 300"]);
    assert!(run.bad_records()[0].message().starts_with("the value is not the JSON expected: invalid type"));
}

#[derive(Fields, Debug, PartialEq)]
struct AllKinds<'a> {
    text: &'a str,
    owned: String,
    integer: i64,
    float: f64,
    boolean: bool,
    at: Timestamp,
    raw: RawJson<'a>,
    maybe_text: Option<&'a str>,
    maybe_integer: Option<i64>,
}

/// Gives back what it got.
#[tidegate::function]
struct Echo;

impl Unkeyed for Echo {
    type In = Fields<AllKinds<'static>>;
    type Out = Fields<AllKinds<'static>>;

    fn on_record(&mut self, all: AllKinds<'_>, cx: &mut Context<Self>) -> Result {
        cx.emit(&all);
        Ok(())
    }
}

#[test]
fn fields_of_every_kind_go_in_and_out_unchanged() {
    let record = |maybe_text, maybe_integer| AllKinds {
        text: "æ",
        owned: "o".to_owned(),
        integer: i64::MIN,
        float: -0.5,
        boolean: true,
        at: Timestamp::from_millis(5),
        raw: RawJson::new("[1, 2]"),
        maybe_text,
        maybe_integer,
    };
    let records = [record(None, Some(1)), record(Some(""), None), record(Some("x"), Some(-1))];
    let given: Vec<_> = records.iter().map(Record::fields::<AllKinds<'static>>).collect();
    let run = Harness::<Echo>::new().run_every_way(given);
    for (sent, record) in run.main().iter().zip(&records) {
        assert_eq!(sent.fields::<AllKinds<'static>>(), *record);
    }
    assert_eq!(run.main().len(), 3);
}

#[test]
fn large_whole_numbers_are_kept_exactly_and_escapes_are_resolved() {
    let json = r#"{"text": "\u00e6\n", "owned": "", "integer": 9007199254740993, "float": 1e3, "boolean": false, "at": 0,
        "raw": {"a" : 1e400}}"#;
    let run = Harness::<Echo>::new().run([Record::json(json)]);
    assert_eq!(run.main()[0].field::<String>("text"), "æ\n");
    assert_eq!(run.main()[0].field::<i64>("integer"), 9_007_199_254_740_993);
    assert_eq!(run.main()[0].field::<RawJson<'static>>("raw").text(), r#"{"a" : 1e400}"#);
}

/// Sees tombstones.
#[tidegate::function]
struct Deletes;

impl Keyed for Deletes {
    type In = Option<Utf8>;
    type Out = Utf8;

    fn on_record(&mut self, text: Option<&str>, cx: &mut Context<Self>) -> Result {
        match text {
            Some(text) => cx.emit(text),
            None => cx.emit_tombstone(Envelope::new()),
        }
        Ok(())
    }
}

#[tidegate::function]
struct Texts;

impl Unkeyed for Texts {
    type In = Utf8;
    type Out = Utf8;

    fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
        cx.emit(text);
        Ok(())
    }
}

#[test]
fn tombstones_are_seen_where_asked_for_and_bad_where_not() {
    let run = Harness::<Deletes>::new().run_every_way([Record::tombstone().key("a"), Record::text("x").key("a")]);
    assert!(run.main()[0].is_tombstone());
    assert_eq!(run.main()[0].key(), Some(b"a".as_slice()));
    assert_eq!(run.main()[1].text(), "x");

    let run = Harness::<Texts>::new().run([Record::tombstone()]);
    assert_eq!(
        run.bad_records()[0].message(),
        "the record has no value (a tombstone): `type In = Option<Utf8>` receives such records"
    );
}

/// Shows the surroundings.
#[tidegate::function(headers)]
struct Surroundings;

impl Keyed for Surroundings {
    type In = Bytes;
    type Out = Utf8;

    fn on_record(&mut self, _: &[u8], cx: &mut Context<Self>) -> Result {
        let headers: Vec<String> = cx
            .headers()
            .map(|header| {
                let value = header.value.map(String::from_utf8_lossy);
                format!("{}={}", String::from_utf8_lossy(header.name), value.unwrap_or_default())
            })
            .collect();
        let at = cx.event_time().map(Timestamp::millis);
        let text = format!(
            "{:?} {at:?} {:?} {} {}",
            cx.key(),
            cx.watermark().map(Timestamp::millis),
            cx.now().millis(),
            headers.join(",")
        );
        cx.emit(&text);
        Ok(())
    }
}

#[test]
fn key_times_and_headers_are_those_of_the_record() {
    let mut harness = Harness::<Surroundings>::new();
    harness.set_now(99);
    let records = [
        Record::text("").key("a").event_time(5).header("h", "1").header("h", "2"),
        Record::text("").key("b"),
        Record::text("").key("a").header("i", ""),
    ];
    let run = harness.run_every_way(records.clone());
    let texts: Vec<_> = run.main().iter().map(|sent| sent.text().to_owned()).collect();
    assert_eq!(texts, ["[97] Some(5) None 99 h=1,h=2", "[98] None None 99 ", "[97] None None 99 i="]);

    harness.set_watermark(7);
    let run = harness.run(records);
    assert_eq!(run.main()[1].text(), "[98] None Some(7) 99 ");
}
