//! What stands in the brackets of `#[tidegate::function(...)]`.

use proc_macro2::TokenStream;
use syn::Result;
use syn::parse::Parser;

/// The options.
#[derive(Default)]
pub(super) struct Options {
    pub(super) headers: bool,
    pub(super) assign: bool,
    pub(super) timers: bool,
}

pub(super) fn parse(tokens: TokenStream) -> Result<Options> {
    let mut options = Options::default();
    syn::meta::parser(|meta| {
        if meta.path.is_ident("headers") {
            options.headers = true;
        } else if meta.path.is_ident("assign") {
            options.assign = true;
        } else if meta.path.is_ident("timers") {
            options.timers = true;
        } else {
            return Err(meta.error("`#[tidegate::function(...)]` takes `headers`, `assign` and `timers`"));
        }
        Ok(())
    })
    .parse2(tokens)?;
    Ok(options)
}
