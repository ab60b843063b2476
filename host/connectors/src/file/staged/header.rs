//! The line that names the columns of a CSV file, at the beginning of every file of a sink that wants one.

use model::job::FormatSpec;

/// The header line of files of a format, with its end; empty where there is none.
pub(super) fn line(format: &FormatSpec) -> Vec<u8> {
    let FormatSpec::Csv(csv) = format else { return Vec::new() };
    if !csv.header {
        return Vec::new();
    }
    let delimiter = char::from(csv.delimiter);
    let cells: Vec<String> = csv.columns.iter().map(|column| cell(column, delimiter)).collect();
    (cells.join(&delimiter.to_string()) + "\n").into_bytes()
}

/// A name as it stands between delimiters: quoted where a reader would take it for something else.
fn cell(name: &str, delimiter: char) -> String {
    let is_plain = !name.is_empty() && !name.contains([delimiter, '"', '\n', '\r']);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
