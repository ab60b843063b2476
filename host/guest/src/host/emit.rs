//! The interface `emit`.

use contract::{Emit, OutputRecords};
use model::{FieldColumn, Headers, OptionalColumn, OutputId, PortDescriptor};

use crate::bindings::tidegate::flow::emit::{Host as EmitImports, OutputBatch};
use crate::caps;
use crate::check::{self, Violation};
use crate::host::{Host, Refusal, at_most, refuse};

impl EmitImports for Host {
    fn forward(&mut self, output: u16, rows: Vec<u32>) -> wasmtime::Result<()> {
        Ok(self.stage_forward(output, rows)?)
    }

    fn push(&mut self, output: u16, batch: OutputBatch) -> wasmtime::Result<()> {
        Ok(self.stage_push(output, batch)?)
    }
}

impl Host {
    fn stage_forward(&mut self, output: u16, rows: Vec<u32>) -> Result<(), Refusal> {
        const CALL: &str = "emit.forward";
        self.admit(CALL)?;
        if self.of_timers {
            return Err(refuse(CALL)(Violation::Unavailable("a timer is no record that could be sent on")));
        }
        let port = self.port(output).map_err(refuse(CALL))?;
        check::forwards(port).map_err(refuse(CALL))?;
        check::rising_rows("rows", &rows, self.rows).map_err(refuse(CALL))?;
        self.count_emit(rows.len(), rows.len() * size_of::<u32>()).map_err(refuse(CALL))?;
        if !rows.is_empty() {
            self.staged.emits.push(Emit::Forward { output: OutputId(output), rows });
        }
        Ok(())
    }

    fn stage_push(&mut self, output: u16, batch: OutputBatch) -> Result<(), Refusal> {
        const CALL: &str = "emit.push";
        self.admit(CALL)?;
        let port = self.port(output).map_err(refuse(CALL))?;
        let records = check::output(batch, port, self.rows).map_err(refuse(CALL))?;
        self.count_emit(records.rows.len(), weight_bytes(&records)).map_err(refuse(CALL))?;
        if !records.rows.is_empty() {
            self.staged.emits.push(Emit::Push { output: OutputId(output), records });
        }
        Ok(())
    }

    fn port(&self, output: u16) -> Result<&PortDescriptor, Violation> {
        self.descriptor.output(OutputId(output)).ok_or(Violation::Undeclared { what: "output", id: output })
    }

    fn count_emit(&mut self, rows: usize, bytes: usize) -> Result<(), Violation> {
        self.usage.rows_out = self.usage.rows_out.saturating_add(rows);
        at_most("rows out", self.usage.rows_out, caps::ROWS_OUT)?;
        self.count_staging(bytes)
    }
}

/// Bytes that staged records hold.
fn weight_bytes(records: &OutputRecords) -> usize {
    /// Row, span and timestamp of a record.
    const FIXED: usize = 4 + 8 + 8;
    let keys = records.keys.as_ref().map_or(0, OptionalColumn::weight_bytes);
    let fields: usize = records.fields.iter().map(FieldColumn::weight_bytes).sum();
    let headers = records.headers.as_ref().map_or(0, Headers::weight_bytes);
    records.values.arena().len() + keys + fields + headers + records.rows.len() * FIXED
}
