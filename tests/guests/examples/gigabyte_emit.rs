//! Emits a gigabyte in one call: 64 columns over the same 16 MiB. `often` emits 1 MiB a thousand times.

use testkit::*;

struct GigabyteEmit;

impl Behaviour for GigabyteEmit {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if let Some(row) = asks_for(&batch, "once") {
            emit_at_once(row);
        }
        if let Some(row) = asks_for(&batch, "often") {
            let records = records(vec![row], [vec![b'x'; 1 << 20]]);
            for _ in 0..1000 {
                emit::push(0, &records);
            }
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

fn emit_at_once(row: u32) {
    let mut bytes = std::mem::ManuallyDrop::new(vec![b'x'; 16 << 20]);
    let (start, length) = (bytes.as_mut_ptr(), bytes.len());
    let fields = (0..64).map(|_| {
        // SAFETY: the vectors are read while the host lifts them, and leaked afterwards: nothing writes,
        // nothing frees.
        let bytes = unsafe { Vec::from_raw_parts(start, length, length) };
        FieldColumn { present: Vec::new(), cells: Cells::Texts(Column { bytes, ends: vec![length as u32] }) }
    });
    let batch = std::mem::ManuallyDrop::new(typed(vec![row], fields.collect()));
    emit::push(0, &batch);
}

export!(GigabyteEmit);
