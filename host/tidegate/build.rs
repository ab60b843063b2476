//! Builds the pages of `docs/errors` into the binary: a list of code and text, by rising code.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut codes = Vec::new();
    for entry in fs::read_dir(&pages)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        codes.extend(name.strip_suffix(".md").filter(|code| is_code(code)).map(str::to_owned));
    }
    codes.sort_unstable();
    let mut list = "&[\n".to_owned();
    for code in codes {
        let path = pages.join(format!("{code}.md")).canonicalize()?;
        writeln!(list, "    ({code:?}, include_str!({:?})),", path.display().to_string()).map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("error_pages.rs"), list)
}

/// `E` and four digits.
fn is_code(name: &str) -> bool {
    name.strip_prefix('E').is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_digit()))
}
