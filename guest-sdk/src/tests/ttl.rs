//! Entries expire for records by their own times, whatever the batches and the order of the records.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::prelude::*;
use crate::testing::{Harness, Record};

/// How long everything lives.
const LIFE: i64 = 100;

/// A function whose states live 100 ms, refreshed as said.
macro_rules! mortal {
    ($name:ident, $clock:literal, $refresh:literal) => {
        #[tidegate::function]
        struct $name {
            #[state(ttl = "100ms", clock = $clock, refresh = $refresh)]
            value: Value<i64>,
            #[state(ttl = "100ms", clock = $clock, refresh = $refresh)]
            map: Map<String, i64>,
            #[state(ttl = "100ms", clock = $clock, refresh = $refresh)]
            list: List<i64>,
            #[state]
            forever: Counter,
        }

        impl Keyed for $name {
            type In = Utf8;
            type Out = Utf8;

            fn on_record(&mut self, command: &str, cx: &mut Context<Self>) -> Result {
                let (name, argument) = command.split_once(' ').unwrap_or((command, "0"));
                let number: i64 = argument.parse()?;
                let entry = format!("e{}", number % 2);
                self.forever.add(1)?;
                match name {
                    "set" => self.value.set(number),
                    "clear" => self.value.clear(),
                    "get" => cx.emit(&format!("{:?}", self.value.get()?)),
                    "add" => cx.emit(&format!("{}", self.value.update(|value| *value += number)?)),
                    "take" => cx.emit(&format!("{:?}", self.value.take()?)),
                    "put" => self.map.set(&entry, number),
                    "remove" => self.map.remove(&entry),
                    "look" => cx.emit(&format!("{:?}", self.map.get(&entry)?)),
                    "bump" => self.map.update(entry.as_str(), |value| *value += number)?,
                    "map" => cx.emit(&format!("{:?}", self.map.entries()?.collect::<Vec<_>>())),
                    "wipe" => self.map.clear()?,
                    "push" => self.list.push(number)?,
                    "list" => cx.emit(&format!("{:?}", self.list.values()?.collect::<Vec<_>>())),
                    other => bail!("unknown command {other}"),
                }
                Ok(())
            }
        }
    };
}

mortal!(OnCreate, "event-time", "on-create");
mortal!(OnWrite, "event-time", "on-write");
mortal!(OnRead, "event-time", "on-read");
mortal!(ByHost, "processing-time", "on-create");

const COMMANDS: [&str; 13] =
    ["set", "clear", "get", "add", "take", "put", "remove", "look", "bump", "map", "wipe", "push", "list"];

/// What starts a life anew.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Create,
    Write,
    Read,
}

/// An entry, and when it was written.
type Cell = Option<(i64, i64)>;

/// One entry by the rule, a record at a time.
fn visible(cell: Cell, at: i64) -> Option<i64> {
    cell.filter(|(_, written)| at < written + LIFE).map(|(value, _)| value)
}

fn written(cell: &mut Cell, at: i64, by: By, value: i64) {
    let before = cell.filter(|_| visible(*cell, at).is_some()).map(|(_, written)| written);
    let time = before.map_or(at, |before| if by == By::Create { before } else { before.max(at) });
    *cell = Some((value, time));
}

fn read(cell: &mut Cell, at: i64, by: By) -> Option<i64> {
    let found = visible(*cell, at);
    if let (Some(value), By::Read) = (found, by) {
        written(cell, at, by, value);
    }
    found
}

/// What one key holds. Lists are left to the comparison of batch sizes.
#[derive(Default)]
struct Model {
    value: Cell,
    map: BTreeMap<String, Cell>,
}

impl Model {
    fn apply(&mut self, name: &str, number: i64, at: i64, by: By) -> Option<String> {
        let entry = format!("e{}", number % 2);
        match name {
            "set" => written(&mut self.value, at, by, number),
            "clear" => self.value = None,
            "get" => return Some(format!("{:?}", read(&mut self.value, at, by))),
            "add" => {
                let sum = visible(self.value, at).unwrap_or_default() + number;
                written(&mut self.value, at, by, sum);
                return Some(sum.to_string());
            }
            "take" => {
                let taken = visible(self.value, at);
                if taken.is_some() {
                    self.value = None;
                }
                return Some(format!("{taken:?}"));
            }
            "put" => written(self.map.entry(entry).or_default(), at, by, number),
            "remove" => drop(self.map.insert(entry, None)),
            "look" => return Some(format!("{:?}", read(self.map.entry(entry).or_default(), at, by))),
            "bump" => {
                let cell = self.map.entry(entry).or_default();
                let sum = visible(*cell, at).unwrap_or_default() + number;
                written(cell, at, by, sum);
            }
            "map" => {
                let read = self.map.iter_mut().filter_map(|(key, cell)| Some((key.clone(), read(cell, at, by)?)));
                return Some(format!("{:?}", read.collect::<Vec<_>>()));
            }
            "wipe" => {
                self.map.values_mut().filter(|cell| visible(**cell, at).is_some()).for_each(|cell| *cell = None);
            }
            _ => {}
        }
        None
    }
}

fn check<F: Keyed>(mut harness: Harness<F>, by: By, commands: &[(u8, usize, i64, i64)]) {
    let record = |(key, command, number, at): &(u8, usize, i64, i64)| {
        Record::text(&format!("{} {number}", COMMANDS[*command])).key([b'k', *key]).event_time(*at)
    };
    let run = harness.run_every_way(commands.iter().map(record));
    assert!(run.bad_records().is_empty(), "{:?}", run.bad_records());
    let mut models: BTreeMap<u8, Model> = BTreeMap::new();
    let mut said = run.main().iter();
    for (key, command, number, at) in commands {
        let expected = models.entry(*key).or_default().apply(COMMANDS[*command], *number, *at, by);
        if expected.is_some() || COMMANDS[*command] == "list" {
            let found = said.next().map(|sent| sent.text().to_owned());
            assert!(expected.is_none() || found == expected, "{found:?}, {expected:?} expected");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_a_record_sees_depends_on_its_time_alone(
        commands in proptest::collection::vec((0u8..2, 0usize..COMMANDS.len(), 0i64..50, 0i64..400), 0..40),
    ) {
        check(Harness::<OnCreate>::new(), By::Create, &commands);
        check(Harness::<OnWrite>::new(), By::Write, &commands);
        check(Harness::<OnRead>::new(), By::Read, &commands);
    }
}

fn said<F: Keyed>(harness: &mut Harness<F>, commands: &[(&str, i64)]) -> Vec<String> {
    let records = commands.iter().map(|(text, at)| Record::text(text).key("k").event_time(*at));
    harness.run(records).main().iter().map(|sent| sent.text().to_owned()).collect()
}

#[test]
fn an_entry_is_there_to_the_last_millisecond_and_not_from_its_expiry_on() {
    let mut harness = Harness::<OnWrite>::new();
    assert_eq!(
        said(&mut harness, &[("set 1", 50), ("get", 149), ("get", 150), ("get", 151)]),
        ["Some(1)", "None", "None"]
    );
    assert_eq!(said(&mut harness, &[("get", 60)]), ["Some(1)"], "for a record from before it is there");
}

#[test]
fn what_starts_a_life_anew_is_as_declared() {
    let commands = [("set 1", 0), ("get", 60), ("set 2", 90), ("get", 150), ("get", 200)];
    assert_eq!(said(&mut Harness::<OnCreate>::new(), &commands), ["Some(1)", "None", "None"]);
    assert_eq!(said(&mut Harness::<OnWrite>::new(), &commands), ["Some(1)", "Some(2)", "None"]);
    assert_eq!(said(&mut Harness::<OnRead>::new(), &commands), ["Some(1)", "Some(2)", "Some(2)"]);
}

#[test]
fn by_the_hosts_clock_a_batch_sees_one_time() {
    let mut harness = Harness::<ByHost>::new();
    harness.set_now(1_000);
    assert_eq!(said(&mut harness, &[("set 1", 0), ("get", 500)]), ["Some(1)"]);
    harness.set_now(1_099);
    assert_eq!(said(&mut harness, &[("get", 0)]), ["Some(1)"]);
    harness.set_now(1_100);
    assert_eq!(said(&mut harness, &[("get", 0)]), ["None"]);
}

#[test]
fn a_read_that_refreshes_writes_once_per_batch_what_was_there() {
    let mut harness = Harness::<OnRead>::new();
    said(&mut harness, &[("set 7", 0)]);
    said(&mut harness, &[("get", 10), ("get", 20)]);
    assert_eq!(harness.last_calls(), ["load", "load", "push", "store", "store"]);
    assert_eq!(harness.state("value").value::<i64>("k"), Some(7));
}

#[test]
fn without_event_times_nothing_expires() {
    let mut harness = Harness::<OnWrite>::new();
    let run = harness.run(["set 1", "get"].map(|text| Record::text(text).key("k")));
    assert_eq!(run.main()[0].text(), "Some(1)");
}
