//! Uses an output, state or metric that it did not declare, or that is of another kind.

use testkit::*;

struct BadIds;

impl Behaviour for BadIds {
    fn describe() -> Descriptor {
        let typed = port(1, "typed", vec![field("text", FieldKind::Text)]);
        Descriptor { outputs: vec![port(0, "out", Vec::new()), typed], ..keyed() }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let nothing_to_write =
            || state::Writes { slots: Vec::new(), entry_keys: None, values: nothing(), rows: Vec::new() };
        match item(&batch.values.items, 0) {
            b"forward" => emit::forward(2, &[0]),
            b"forward-to-fields" => emit::forward(1, &[0]),
            b"push" => emit::push(u16::MAX, &records(vec![0], ["x"])),
            b"load" => drop(state::load(7)),
            b"load-a-map" => drop(state::load(1)),
            b"scan-a-value" => drop(state::scan(0, 0, None, 1)),
            b"entries-of-a-value" => drop(state::load_entries(0, &[0], &column(["k"]))),
            b"store" => state::store(7, &nothing_to_write()),
            b"store-entries-of-a-value" => {
                let writes = state::Writes { entry_keys: Some(column(["k"])), ..written() };
                state::store(0, &writes);
            }
            b"store-a-map-without-keys" => state::store(1, &written()),
            b"scan-nothing" => drop(state::scan(1, 0, None, 0)),
            b"add" => telemetry::add(9, 1.0),
            b"add-to-a-gauge" => telemetry::add(1, 1.0),
            b"set-a-counter" => telemetry::set(0, 1.0),
            _ => emit::forward(0, &rows(&batch)),
        }
        Ok(())
    }
}

fn written() -> state::Writes {
    state::Writes { slots: vec![0], entry_keys: None, values: present(column(["x"])), rows: Vec::new() }
}

export!(BadIds);
