//! Types with their lifetimes replaced.

use proc_macro2::{Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Type, parse_quote};

/// `ty` with every lifetime, also one left out of a reference, replaced by `'static`.
pub(crate) fn made_static(ty: &Type) -> Type {
    let tokens = replaced(ty.to_token_stream());
    parse_quote!(#tokens)
}

fn replaced(tokens: TokenStream) -> TokenStream {
    let mut replaced_tokens = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                // The name of the lifetime follows.
                tokens.next();
                replaced_tokens.extend(static_lifetime());
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                replaced_tokens.extend([TokenTree::Punct(punct)]);
                let named = matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'');
                if !named {
                    replaced_tokens.extend(static_lifetime());
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replaced(group.stream()));
                inner.set_span(group.span());
                replaced_tokens.extend([TokenTree::Group(inner)]);
            }
            other => replaced_tokens.extend([other]),
        }
    }
    replaced_tokens
}

fn static_lifetime() -> [TokenTree; 2] {
    [Punct::new('\'', Spacing::Joint).into(), Ident::new("static", Span::call_site()).into()]
}
