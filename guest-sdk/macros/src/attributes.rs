//! Reading attributes, with errors that say what may stand there.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, LitStr, Meta, Result};

/// The attribute `name`, if it is there; an error where it is there twice.
pub(crate) fn one<'a>(attributes: &'a [Attribute], name: &str) -> Result<Option<&'a Attribute>> {
    let mut found = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    let first = found.next();
    match found.next() {
        Some(second) => Err(Error::new_spanned(second, format!("`#[{name}]` stands here twice: write one"))),
        None => Ok(first),
    }
}

/// Hands each `key = value` or word of `#[name(...)]` to `read`; nothing where there are no brackets.
pub(crate) fn each(attribute: &Attribute, mut read: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    match &attribute.meta {
        Meta::Path(_) => Ok(()),
        _ => attribute.parse_nested_meta(|meta| read(&meta)),
    }
}

/// The text after `key =`.
pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

/// An error for a key that is not known.
pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, attribute: &str, known: &str) -> Error {
    meta.error(format!("`#[{attribute}(...)]` takes {known}"))
}

/// A name that an operator or another job can refer to.
pub(crate) fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
        let message = format!("`{text}` is not a name: expected 1 to 64 of letters, digits, `_` and `-`");
        return Err(Error::new_spanned(name, message));
    }
    Ok(())
}

/// `FlightDelay` as `flight-delay`.
pub(crate) fn kebab(camel: &str) -> String {
    let mut kebab = String::new();
    for (index, letter) in camel.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}
