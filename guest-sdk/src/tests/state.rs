//! Keyed state: reads see earlier writes, whatever the batches.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::prelude::*;
use crate::testing::{Harness, Record};

/// Runs commands against one state of each kind and shows what it reads.
#[tidegate::function]
struct Machine {
    #[state]
    value: Value<i64>,
    #[state]
    list: List<i64>,
    #[state]
    map: Map<String, i64>,
    #[state]
    least: Reducing<Min<i64>>,
    #[state]
    counter: Counter,
    #[state]
    mean: Aggregating<Mean>,
}

struct Mean;

impl Aggregate for Mean {
    type Input = i64;
    type Accumulator = (i64, i64);
    type Output = i64;

    fn add(totals: &mut (i64, i64), value: i64) {
        totals.0 += value;
        totals.1 += 1;
    }

    fn output(totals: &(i64, i64)) -> i64 {
        totals.0 / totals.1
    }
}

impl Keyed for Machine {
    type In = Utf8;
    type Out = Utf8;

    fn on_record(&mut self, command: &str, cx: &mut Context<Self>) -> Result {
        let (name, argument) = command.split_once(' ').unwrap_or((command, "0"));
        let number: i64 = argument.parse()?;
        let entry = format!("e{}", number % 3);
        match name {
            "set" => self.value.set(number),
            "clear" => self.value.clear(),
            "take" => cx.emit(&format!("{:?}", self.value.take()?)),
            "add" => cx.emit(&format!("{}", self.value.update(|value| *value += number)?)),
            "push" => self.list.push(number)?,
            "keep" => self.list.keep_last(2)?,
            "drop" => self.list.clear()?,
            "list" => {
                let length = self.list.len()?;
                cx.emit(&format!("{:?} {length}", self.list.values()?.collect::<Vec<_>>()));
            }
            "last" => cx.emit(&format!("{:?}", self.list.last()?)),
            "put" => self.map.set(&entry, number),
            "bump" => self.map.update(entry.as_str(), |value| *value += number)?,
            "remove" => self.map.remove(&entry),
            "pull" => cx.emit(&format!("{:?}", self.map.take(&entry)?)),
            "look" => cx.emit(&format!("{:?}", self.map.get(&entry)?)),
            "wipe" => self.map.clear()?,
            "map" => {
                let empty = self.map.is_empty()?;
                cx.emit(&format!("{:?} {empty}", self.map.entries()?.collect::<Vec<_>>()));
            }
            "min" => cx.emit(&format!("{:?}", self.least.add(Min(number))?.0)),
            "forget" => self.least.clear(),
            "count" => cx.emit(&format!("{}", self.counter.add(number)?)),
            "mean" => cx.emit(&format!("{}", self.mean.add(number)?)),
            "average" => cx.emit(&format!("{:?}", self.mean.get()?)),
            "get" => cx.emit(&format!("{:?} {:?} {}", self.value.get()?, self.least.get()?, self.counter.get()?)),
            "fail" => bail!("asked to"),
            other => bail!("unknown command {other}"),
        }
        Ok(())
    }
}

/// The same, per key, without batches.
#[derive(Default)]
struct Model {
    value: Option<i64>,
    list: Vec<i64>,
    map: BTreeMap<String, i64>,
    least: Option<i64>,
    counter: i64,
    mean: Option<(i64, i64)>,
}

impl Model {
    fn apply(&mut self, name: &str, number: i64) -> Option<String> {
        let entry = format!("e{}", number % 3);
        match name {
            "set" => self.value = Some(number),
            "clear" => self.value = None,
            "take" => return Some(format!("{:?}", self.value.take())),
            "add" => {
                let value = self.value.get_or_insert(0);
                *value += number;
                return Some(value.to_string());
            }
            "push" => self.list.push(number),
            "keep" => drop(self.list.drain(..self.list.len().saturating_sub(2))),
            "drop" => self.list.clear(),
            "list" => return Some(format!("{:?} {}", self.list, self.list.len())),
            "last" => return Some(format!("{:?}", self.list.last())),
            "put" => drop(self.map.insert(entry, number)),
            "bump" => *self.map.entry(entry).or_default() += number,
            "remove" => drop(self.map.remove(&entry)),
            "pull" => return Some(format!("{:?}", self.map.remove(&entry))),
            "look" => return Some(format!("{:?}", self.map.get(&entry))),
            "wipe" => self.map.clear(),
            "map" => {
                let entries: Vec<_> = self.map.iter().collect();
                return Some(format!("{entries:?} {}", entries.is_empty()));
            }
            "min" => {
                let least = self.least.map_or(number, |least| least.min(number));
                self.least = Some(least);
                return Some(least.to_string());
            }
            "forget" => self.least = None,
            "count" => {
                self.counter += number;
                return Some(self.counter.to_string());
            }
            "mean" => {
                let totals = self.mean.get_or_insert((0, 0));
                Mean::add(totals, number);
                return Some(Mean::output(totals).to_string());
            }
            "average" => return Some(format!("{:?}", self.mean.as_ref().map(Mean::output))),
            "get" => return Some(format!("{:?} {:?} {}", self.value, self.least.map(Min), self.counter)),
            _ => {}
        }
        None
    }
}

const COMMANDS: [&str; 23] = [
    "set", "clear", "take", "add", "push", "push", "keep", "drop", "list", "last", "put", "bump", "remove", "pull",
    "look", "wipe", "map", "min", "forget", "count", "mean", "average", "get",
];

fn check(commands: &[(u8, usize, i64)]) {
    let records = commands
        .iter()
        .map(|(key, command, number)| Record::text(&format!("{} {number}", COMMANDS[*command])).key([b'k', *key]));
    let mut harness = Harness::<Machine>::new();
    let run = harness.run_every_way(records);
    assert!(run.bad_records().is_empty(), "{:?}", run.bad_records());
    let mut models: BTreeMap<u8, Model> = BTreeMap::new();
    let expected: Vec<String> = commands
        .iter()
        .filter_map(|(key, command, number)| models.entry(*key).or_default().apply(COMMANDS[*command], *number))
        .collect();
    assert_eq!(run.main().iter().map(|sent| sent.text()).collect::<Vec<_>>(), expected);
    for (key, model) in models {
        let key = [b'k', key];
        assert_eq!(harness.state("value").value::<i64>(key), model.value);
        assert_eq!(harness.state("list").list::<i64>(key), model.list);
        assert_eq!(harness.state("map").entries::<String, i64>(key), model.map.into_iter().collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_history_reads_as_if_there_were_no_batches(
        commands in proptest::collection::vec((0u8..3, 0usize..COMMANDS.len(), 0i64..100), 0..60),
    ) {
        check(&commands);
    }
}

fn commands(texts: &[&str]) -> Vec<Record> {
    texts.iter().enumerate().map(|(index, text)| Record::text(text).key([b'k', (index % 2) as u8])).collect()
}

#[test]
fn a_value_state_costs_one_load_and_one_store_per_batch() {
    let mut machine = Harness::<Machine>::new();
    machine.run(commands(&["add 1", "add 2", "add 3", "add 4", "take", "set 7"]));
    assert_eq!(machine.last_calls(), ["load", "push", "store"]);
}

#[test]
fn what_is_only_written_is_never_asked_for() {
    let mut machine = Harness::<Machine>::new();
    machine.run(commands(&["set 1", "clear", "set 2"]));
    assert_eq!(machine.last_calls(), ["store"]);
    machine.run(commands(&["put 1", "remove 1"]));
    assert_eq!(machine.last_calls(), ["store"]);
}

#[test]
fn an_untouched_state_costs_nothing() {
    let mut machine = Harness::<Machine>::new();
    machine.run(commands(&["get"]));
    assert_eq!(machine.last_calls(), ["load", "load", "load", "push"]);
}

#[test]
fn an_entry_is_asked_for_once_per_batch_and_a_list_grows_without_being_read() {
    let mut machine = Harness::<Machine>::new();
    machine.run(commands(&["look 1", "look 2", "look 1", "look 2", "look 1"]));
    assert_eq!(machine.last_calls(), ["load-entries", "load-entries", "push"]);
    machine.run(commands(&["push 1", "push 2", "push 3", "push 4"]));
    assert_eq!(machine.last_calls(), ["load", "store", "store"]);
    machine.run(commands(&["keep", "drop"]));
    assert_eq!(machine.last_calls(), ["load", "store", "store"]);
}

#[test]
fn a_map_larger_than_a_page_is_read_whole() {
    let mut pages = Harness::<Pages>::new();
    let run = pages.run((0..1300).map(|n| Record::text(&n.to_string()).key("k")).chain([Record::text("all").key("k")]));
    assert_eq!(run.main()[0].text(), "1300");
    let run = pages.run([Record::text("all").key("k")]);
    assert_eq!(run.main()[0].text(), "1300");
    assert_eq!(pages.last_calls(), ["scan", "scan", "scan", "push"]);
}

#[tidegate::function]
struct Pages {
    #[state]
    pages: Map<u64, u64>,
}

impl Keyed for Pages {
    type In = Utf8;
    type Out = Utf8;

    fn on_record(&mut self, text: &str, cx: &mut Context<Self>) -> Result {
        match text.parse() {
            Ok(page) => self.pages.set(&page, page),
            Err(_) => {
                let in_order = self.pages.entries()?.map(|(key, _)| key).is_sorted();
                cx.emit(&format!("{}", if in_order { self.pages.len()? } else { 0 }));
            }
        }
        Ok(())
    }
}

#[test]
fn a_counter_does_not_wrap() {
    let mut machine = Harness::<Machine>::new();
    let run =
        machine.run([format!("count {}", i64::MAX), "count 1".to_owned()].map(|text| Record::text(&text).key("k")));
    assert_eq!(run.bad_records()[0].message(), "counter at 9223372036854775807 cannot take 1");
}
