//! A function's `config`: any mapping, handed to the function as a JSON object.

use super::check::{At, Check};
use super::codes;
use super::tree::{Node, Value};

/// The JSON text of a mapping; numbers keep every digit.
pub(super) fn read(check: &mut Check, at: &At<'_>) -> Option<String> {
    check.keys(at)?;
    if matches!(at.node.value, Value::Null) {
        return Some("{}".to_owned());
    }
    let mut json = String::new();
    match write(at.node, &mut json) {
        Ok(()) => Some(json),
        Err(node) => {
            let message = format!("expected a value that JSON knows: found {}", node.describe());
            check.problems.add(codes::WRONG_VALUE, &at.path, node.span.clone(), message);
            None
        }
    }
}

/// Appends a value as JSON; `Err` is the value that JSON cannot say.
fn write<'n>(node: &'n Node, json: &mut String) -> Result<(), &'n Node> {
    match &node.value {
        Value::Null => json.push_str("null"),
        Value::Boolean(value) => json.push_str(if *value { "true" } else { "false" }),
        Value::Number(text) => json.push_str(&json_number(text).ok_or(node)?),
        Value::Text(text) => write_text(text, json),
        Value::List(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write(item, json)?;
            }
            json.push(']');
        }
        Value::Map(entries) => {
            json.push('{');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_text(&entry.key, json);
                json.push(':');
                write(&entry.value, json)?;
            }
            json.push('}');
        }
    }
    Ok(())
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

/// A YAML number as JSON writes it; `None` for those that JSON has not.
fn json_number(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|value| value.to_string());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(|value| value.to_string());
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = unsigned.find(['e', 'E']).map_or((unsigned, ""), |at| unsigned.split_at(at));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}{exponent}"))
}
