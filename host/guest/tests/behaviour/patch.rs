//! Core modules changed where the compiler of the guests cannot be asked to: section by section.

use wasmparser::{ExternalKind, Parser, Payload};

const TABLE_SECTION: u8 = 4;
const MEMORY_SECTION: u8 = 5;
const START_SECTION: u8 = 8;

/// The module with a start section that calls its export `name`.
pub(crate) fn with_start(module: &[u8], name: &str) -> Vec<u8> {
    let mut function = None;
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ExportSection(exports) = payload.expect("the module is valid") {
            let mut exports = exports.into_iter().map(|export| export.expect("the module is valid"));
            function = exports.find(|export| export.kind == ExternalKind::Func && export.name == name);
        }
    }
    let mut content = Vec::new();
    leb128(function.expect("the export is there").index, &mut content);
    let mut patched = header(module);
    let mut is_placed = false;
    for (id, bytes) in sections(module) {
        if !is_placed && (id == 9 || id == 12 || id == 10) {
            section(START_SECTION, &content, &mut patched);
            is_placed = true;
        }
        section(id, bytes, &mut patched);
    }
    patched
}

/// The module with one table, of functions and of this size, in place of its own.
pub(crate) fn with_table_of(module: &[u8], elements: u32) -> Vec<u8> {
    let mut content = vec![1, 0x70, 0];
    leb128(elements, &mut content);
    with_section(module, TABLE_SECTION, &content)
}

/// The module with one memory of these pages at first and at most, in place of its own.
pub(crate) fn with_memory_of(module: &[u8], first: u32, most: u32) -> Vec<u8> {
    let mut content = vec![1, 1];
    leb128(first, &mut content);
    leb128(most, &mut content);
    with_section(module, MEMORY_SECTION, &content)
}

fn with_section(module: &[u8], replaced: u8, content: &[u8]) -> Vec<u8> {
    let mut patched = header(module);
    for (id, bytes) in sections(module) {
        section(id, if id == replaced { content } else { bytes }, &mut patched);
    }
    patched
}

fn header(module: &[u8]) -> Vec<u8> {
    module[..8].to_vec()
}

/// The sections, in order: id and content.
fn sections(module: &[u8]) -> Vec<(u8, &[u8])> {
    let payloads = Parser::new(0).parse_all(module).map(|payload| payload.expect("the module is valid"));
    payloads.filter_map(|payload| payload.as_section()).map(|(id, range)| (id, &module[range])).collect()
}

fn section(id: u8, content: &[u8], module: &mut Vec<u8>) {
    module.push(id);
    leb128(u32::try_from(content.len()).expect("a small module"), module);
    module.extend_from_slice(content);
}

fn leb128(mut value: u32, out: &mut Vec<u8>) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}
