//! JSON pointers (RFC 6901), as paths are written everywhere.

use crate::CutError;

/// The steps of a pointer, unescaped.
///
/// # Errors
/// [`CutError::NotAPointer`] when it does not begin with a slash or has a `~` that is neither `~0` nor `~1`.
pub(crate) fn steps(path: &str) -> Result<Vec<String>, CutError> {
    let broken = |why| CutError::NotAPointer { path: path.to_owned(), why };
    let rest = path.strip_prefix('/').ok_or_else(|| broken("beginning with a slash"))?;
    rest.split('/').map(|step| unescape(step).ok_or_else(|| broken("with every `~` written as `~0`"))).collect()
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

/// The array element a step names, if it can name one: digits without leading zeros.
pub(crate) fn element(step: &str) -> Option<u64> {
    let plain = step == "0" || (step.bytes().all(|byte| byte.is_ascii_digit()) && !step.starts_with('0'));
    if plain { step.parse().ok() } else { None }
}
