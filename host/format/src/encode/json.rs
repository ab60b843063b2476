//! JSON objects from fields: a tree of members, made once from the paths.

use model::{Cells, FieldColumn, FieldKind, FieldSpec};

use super::{EncodeError, check_json, write_plain};
use crate::json::next_special;
use crate::{CutError, pointer};

/// The members of the object that every row becomes.
#[derive(Debug)]
pub(super) struct Tree {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    /// Its step of the path.
    step: String,
    /// Its name as it is written: quoted, with the colon.
    name: Vec<u8>,
    value: Node,
}

#[derive(Debug)]
enum Node {
    /// The cell of the field with this index, inside so many objects.
    Field { index: usize, depth: u32 },
    /// An object.
    Object(Vec<Member>),
}

impl Tree {
    pub(super) fn new(fields: &[FieldSpec]) -> Result<Self, CutError> {
        let mut members = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let steps = pointer::steps(&field.path)?;
            insert(&mut members, &steps, Node::Field { index, depth: 0 }, 1).map_err(|other| {
                CutError::PathsCollide {
                    name: field.name.clone(),
                    path: field.path.clone(),
                    other: fields.get(other).map_or_else(String::new, |other| other.path.clone()),
                }
            })?;
        }
        Ok(Self { members })
    }

    /// Appends the object of one row.
    pub(super) fn write(
        &self,
        row: usize,
        fields: &[FieldSpec],
        columns: &[FieldColumn],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        write_object(&self.members, row, fields, columns, out)?;
        Ok(())
    }
}

/// Puts a field at its place, inside `depth` objects. The error is the index of a field that is in the way.
fn insert(members: &mut Vec<Member>, steps: &[String], field: Node, depth: u32) -> Result<(), usize> {
    let Some((step, rest)) = steps.split_first() else { return Ok(()) };
    let known = members.iter_mut().find(|member| member.step == *step);
    match known {
        None => {
            let mut name = Vec::new();
            write_text(step.as_bytes(), &mut name);
            name.push(b':');
            let value = if rest.is_empty() {
                at_depth(field, depth)
            } else {
                let mut below = Vec::new();
                insert(&mut below, rest, field, depth + 1)?;
                Node::Object(below)
            };
            members.push(Member { step: step.clone(), name, value });
            Ok(())
        }
        Some(Member { value: Node::Object(below), .. }) if !rest.is_empty() => insert(below, rest, field, depth + 1),
        Some(member) => Err(first_field(&member.value)),
    }
}

fn at_depth(field: Node, depth: u32) -> Node {
    match field {
        Node::Field { index, .. } => Node::Field { index, depth },
        object @ Node::Object(_) => object,
    }
}

fn first_field(node: &Node) -> usize {
    match node {
        Node::Field { index, .. } => *index,
        Node::Object(members) => members.first().map_or(0, |member| first_field(&member.value)),
    }
}

/// Appends an object. Returns whether it has members.
fn write_object(
    members: &[Member],
    row: usize,
    fields: &[FieldSpec],
    columns: &[FieldColumn],
    out: &mut Vec<u8>,
) -> Result<bool, EncodeError> {
    out.push(b'{');
    let mut any = false;
    for member in members {
        let before = out.len();
        if any {
            out.push(b',');
        }
        out.extend_from_slice(&member.name);
        let written = match &member.value {
            Node::Object(below) => write_object(below, row, fields, columns, out)?,
            Node::Field { index, depth } => match (fields.get(*index), columns.get(*index)) {
                (Some(field), Some(column)) if column.is_present(row) => {
                    write_cell(row, field, column, *depth, out)?;
                    true
                }
                _ => false,
            },
        };
        if !written {
            out.truncate(before);
        }
        any |= written;
    }
    out.push(b'}');
    Ok(any)
}

/// Appends the cell of a field that stands inside `depth` objects.
fn write_cell(
    row: usize,
    field: &FieldSpec,
    column: &FieldColumn,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Cells::Texts(cells) = &column.cells else { return write_plain(row, field, column, out) };
    let cell = cells.get(row);
    if field.kind == FieldKind::Json {
        check_json(row, field, cell, depth)?;
        write_on_one_line(cell, out);
    } else {
        write_text(cell, out);
    }
    Ok(())
}

/// Appends a document without its line ends: outside strings they are white space, and inside there are none.
fn write_on_one_line(document: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(document);
    let written = out.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

/// Appends a string in quotes, escaping what must be escaped and nothing else.
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(next_special(rest, 0));
        out.extend_from_slice(plain);
        let Some((&byte, more)) = special.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(br#"\""#),
            b'\\' => out.extend_from_slice(br"\\"),
            b'\x08' => out.extend_from_slice(br"\b"),
            b'\x0c' => out.extend_from_slice(br"\f"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            control => {
                let digit = |half: u8| HEX.get(usize::from(half)).copied().unwrap_or(b'0');
                out.extend_from_slice(br"\u00");
                out.extend_from_slice(&[digit(control >> 4), digit(control & 15)]);
            }
        }
        rest = more;
    }
    out.push(b'"');
}
