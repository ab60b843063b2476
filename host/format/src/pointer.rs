//! Paths as steps through a value.

use model::pointer_steps;

use crate::CutError;

/// The steps of a path, unescaped; at least one.
///
/// # Errors
/// [`CutError::NotAPointer`] when it breaks the one rule for paths.
pub(crate) fn steps(path: &str) -> Result<Vec<String>, CutError> {
    pointer_steps(path).map_err(|why| CutError::NotAPointer { path: path.to_owned(), why })
}

/// The array element a step names, if it can name one: digits without leading zeros.
pub(crate) fn element(step: &str) -> Option<u64> {
    let plain = step == "0" || (step.bytes().all(|byte| byte.is_ascii_digit()) && !step.starts_with('0'));
    if plain { step.parse().ok() } else { None }
}
