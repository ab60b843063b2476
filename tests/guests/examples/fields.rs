//! Takes fields of every kind and emits them as they came, with keys, times and headers.

use testkit::*;

struct Fields;

fn all_kinds() -> Vec<Field> {
    vec![
        field("text", FieldKind::Text),
        field("integer", FieldKind::Integer),
        field("float", FieldKind::Float),
        field("boolean", FieldKind::Boolean),
        field("timestamp", FieldKind::Timestamp),
        field("json", FieldKind::Json),
    ]
}

impl Behaviour for Fields {
    fn describe() -> Descriptor {
        Descriptor {
            inputs: vec![port(0, "in", all_kinds())],
            outputs: vec![port(0, "out", all_kinds())],
            wants_values: false,
            wants_headers: true,
            ..unkeyed()
        }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        assert!(batch.values.items.ends.is_empty(), "no values were asked for");
        let keys = (0..batch.timestamps.len()).map(|row| format!("key-{row}"));
        let out = OutputBatch {
            keys: Some(present(column(keys))),
            headers: batch.headers.clone(),
            timestamps: batch.timestamps.iter().map(|time| time + 1).collect(),
            ..typed(rows(&batch), batch.fields)
        };
        emit::push(0, &out);
        Ok(())
    }
}

export!(Fields);
