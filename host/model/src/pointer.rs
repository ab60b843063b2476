//! JSON pointers (RFC 6901), as the paths of fields are written everywhere: in job files, in descriptors,
//! in cuts. One rule for all of them, so that what one room accepts no other refuses.

/// The longest path, in bytes: far above any that a person writes.
const MAX_BYTES: usize = 1024;

/// How deep arrays and objects of a JSON document may nest: what `serde_json` accepts. No path leads
/// deeper.
pub const MAX_JSON_DEPTH: u32 = 127;

/// Why a text is not a path. Reads on after "expected a JSON pointer".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// It does not begin with a slash.
    #[error("beginning with a slash")]
    NoSlash,
    /// It is a slash alone.
    #[error("with a name after the slash")]
    NoName,
    /// A `~` is followed by neither 0 nor 1.
    #[error("with every `~` written as `~0`")]
    Escape,
    /// It is too long.
    #[error("of at most {MAX_BYTES} bytes: it has {found}")]
    TooLong {
        /// How many bytes it has.
        found: usize,
    },
    /// It reaches deeper than any document.
    #[error("of at most {MAX_JSON_DEPTH} steps: it has {found}")]
    TooDeep {
        /// How many steps it has.
        found: usize,
    },
}

/// The steps of a pointer, unescaped; at least one.
///
/// # Errors
/// [`PointerError`] with the rule that `path` breaks.
pub fn pointer_steps(path: &str) -> Result<Vec<String>, PointerError> {
    let rest = path.strip_prefix('/').ok_or(PointerError::NoSlash)?;
    if rest.is_empty() {
        return Err(PointerError::NoName);
    }
    if path.len() > MAX_BYTES {
        return Err(PointerError::TooLong { found: path.len() });
    }
    let steps: Vec<String> = rest.split('/').map(unescape).collect::<Option<_>>().ok_or(PointerError::Escape)?;
    if steps.len() > MAX_JSON_DEPTH as usize {
        return Err(PointerError::TooDeep { found: steps.len() });
    }
    Ok(steps)
}

/// A step as the name it stands for.
fn unescape(step: &str) -> Option<String> {
    let mut parts = step.split('~');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (symbol, rest) = match part.as_bytes().first()? {
            b'0' => ('~', part.get(1..)?),
            b'1' => ('/', part.get(1..)?),
            _ => return None,
        };
        name.push(symbol);
        name.push_str(rest);
    }
    Some(name)
}
