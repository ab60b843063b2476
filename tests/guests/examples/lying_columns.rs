//! Emits and writes columns whose parts do not fit, as the first record says.

use testkit::*;

struct LyingColumns;

impl Behaviour for LyingColumns {
    fn describe() -> Descriptor {
        let fields = vec![
            field("name", FieldKind::Text),
            field("count", FieldKind::Integer),
            field("good", FieldKind::Boolean),
            field("raw", FieldKind::Json),
        ];
        Descriptor { outputs: vec![port(0, "out", Vec::new()), port(1, "typed", fields)], ..keyed() }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let bytes = |text: &str| text.as_bytes().to_vec();
        match item(&batch.values.items, 0) {
            b"ends-fall" => push(Column { bytes: bytes("abc"), ends: vec![2, 1, 3] }),
            b"ends-beyond" => push(Column { bytes: bytes("abc"), ends: vec![1, 2, u32::MAX] }),
            b"bytes-left-over" => push(Column { bytes: bytes("abc"), ends: vec![0, 1, 2] }),
            b"too-few" => push(column(["a", "b"])),
            b"too-many" => push(column(["a", "b", "c", "d"])),
            b"present-short" => push_marked(vec![1, 1]),
            b"present-two" => push_marked(vec![1, 2, 1]),
            b"absent-with-bytes" => push_marked(vec![1, 0, 1]),
            b"keys-short" => {
                let keys = Some(present(column(["k"])));
                emit::push(0, &OutputBatch { keys, ..three() });
            }
            b"timestamps-long" => emit::push(0, &OutputBatch { timestamps: vec![1, 2, 3, 4], ..three() }),
            b"neither" => emit::push(0, &OutputBatch { values: nothing(), ..three() }),
            b"both" => emit::push(1, &OutputBatch { fields: fields(), ..three() }),
            b"header-owner" => emit_header(3),
            b"store-short" => {
                let writes = state::Writes {
                    slots: vec![0, 0],
                    entry_keys: None,
                    values: present(column(["a"])),
                    rows: Vec::new(),
                };
                state::store(0, &writes);
            }
            b"fields-few" => typed_with(|fields| drop(fields.pop())),
            b"cells-kind" => typed_with(|fields| fields[0].cells = Cells::Integers(vec![1, 2, 3])),
            b"cells-short" => typed_with(|fields| fields[1].cells = Cells::Integers(vec![1])),
            b"boolean-two" => typed_with(|fields| fields[2].cells = Cells::Booleans(vec![0, 1, 2])),
            b"absent-text" => typed_with(|fields| fields[0].present = vec![1, 0, 1]),
            b"field-present-long" => typed_with(|fields| fields[1].present = vec![1; 9]),
            b"honest" => typed_with(|_| ()),
            _ => emit::push(0, &three()),
        }
        Ok(())
    }
}

fn three() -> OutputBatch {
    records(vec![0, 0, 0], ["a", "b", "c"])
}

fn push(items: Column) {
    emit::push(0, &OutputBatch { values: present(items), ..three() });
}

fn push_marked(marks: Vec<u8>) {
    emit::push(
        0,
        &OutputBatch { values: OptionalColumn { present: marks, items: column(["a", "b", "c"]) }, ..three() },
    );
}

fn emit_header(owner: u32) {
    let headers = Headers { owners: vec![owner], names: column(["h"]), values: present(column(["v"])) };
    emit::push(0, &OutputBatch { headers: Some(headers), ..three() });
}

fn fields() -> Vec<FieldColumn> {
    let all = |cells| FieldColumn { present: Vec::new(), cells };
    vec![
        all(Cells::Texts(column(["a", "b", "c"]))),
        all(Cells::Integers(vec![1, 2, 3])),
        all(Cells::Booleans(vec![0, 1, 0])),
        all(Cells::Texts(column(["1", "{}", "\"x\""]))),
    ]
}

fn typed_with(lie: impl FnOnce(&mut Vec<FieldColumn>)) {
    let mut fields = fields();
    lie(&mut fields);
    emit::push(1, &typed(vec![0, 0, 0], fields));
}

export!(LyingColumns);
