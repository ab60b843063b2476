//! Lines of messages. Pure.

/// Breaks the lines of `text` after `width` columns, at spaces; what stands between backticks stays in one piece, so
/// that a path can be copied.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    let mut text = " ".repeat(indent);
    let mut column = indent;
    for (index, word) in words(body).enumerate() {
        let columns = console::measure_text_width(word);
        if index > 0 && column + 1 + columns > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += columns;
    }
    text
}

/// The pieces of a line between its spaces, of those outside of backticks.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_paired = line.bytes().filter(|it| *it == b'`').count() % 2 == 0;
    let mut is_quoted = false;
    line.split(move |it| {
        is_quoted ^= it == '`' && is_paired;
        it == ' ' && !is_quoted
    })
}

#[cfg(test)]
mod tests;
