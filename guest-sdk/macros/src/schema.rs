//! `#[derive(Schema)]`.
//!
//! Follows serde's attributes where they change what is written, and refuses those it cannot follow.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DataEnum, DeriveInput, Error, Field, Fields, Ident, Result, Type, parse_quote};

use crate::attributes::{each, text};

/// serde's ways to rename.
const CASES: [&str; 8] = [
    "lowercase",
    "UPPERCASE",
    "PascalCase",
    "camelCase",
    "snake_case",
    "SCREAMING_SNAKE_CASE",
    "kebab-case",
    "SCREAMING-KEBAB-CASE",
];

/// What serde's attributes say.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    default: bool,
    skip: bool,
    transparent: bool,
}

pub(crate) fn expand(mut item: DeriveInput) -> Result<TokenStream> {
    let serde = serde(&item.attrs)?;
    let title = serde.rename.clone().unwrap_or_else(|| item.ident.to_string());
    for parameter in item.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::tidegate::Schema));
    }
    let body = match &item.data {
        Data::Struct(data) => {
            let parts = fields(&data.fields, &serde)?;
            if serde.transparent { transparent(&data.fields, &item.ident)? } else { named(&title, &parts) }
        }
        Data::Enum(data) => named(&title, &variants(data, &serde)?),
        Data::Union(_) => return Err(Error::new_spanned(&item.ident, "serde does not know unions: use a struct")),
    };
    let name = &item.ident;
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::tidegate::Schema for #name #arguments #bounds {
            fn schema(into: &mut ::tidegate::SchemaText) {
                #body
            }
        }
    })
}

fn named(title: &str, body: &TokenStream) -> TokenStream {
    quote!(into.named(#title, |into| { #body });)
}

fn transparent(fields: &Fields, ident: &Ident) -> Result<TokenStream> {
    let mut types = fields.iter().map(|field| &field.ty);
    match (types.next(), types.next()) {
        (Some(ty), None) => Ok(quote!(into.nested::<#ty>();)),
        _ => Err(Error::new_spanned(ident, "`#[serde(transparent)]` is for a struct with one field")),
    }
}

/// The part of a schema that follows the title, without its braces.
fn fields(fields: &Fields, serde: &Serde) -> Result<TokenStream> {
    match fields {
        Fields::Named(named) => object(named.named.iter(), serde),
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            let ty = unnamed.unnamed.first().map(|field| &field.ty);
            Ok(quote! {
                into.raw("\"allOf\":[");
                into.nested::<#ty>();
                into.raw("]");
            })
        }
        Fields::Unnamed(unnamed) => Ok(tuple(unnamed.unnamed.iter().map(|field| &field.ty))),
        Fields::Unit => Ok(quote!(into.raw("\"type\":\"null\"");)),
    }
}

fn object<'a>(fields: impl Iterator<Item = &'a Field>, container: &Serde) -> Result<TokenStream> {
    let mut parts = Vec::new();
    let mut required = Vec::new();
    for field in fields {
        let own = serde(&field.attrs)?;
        if own.skip {
            continue;
        }
        let ident = field.ident.as_ref().expect("the field is named");
        let plain = syn::ext::IdentExt::unraw(ident).to_string();
        let name = own.rename.clone().unwrap_or_else(|| renamed(&plain, container.rename_all.as_deref()));
        let lead = format!("{}\"{name}\":", if parts.is_empty() { "" } else { "," });
        let ty = &field.ty;
        parts.push(quote! {
            into.raw(#lead);
            into.nested::<#ty>();
        });
        if !own.default && !container.default && !is_option(ty) {
            required.push(format!("\"{name}\""));
        }
    }
    let tail = format!("}},\"required\":[{}]", required.join(","));
    Ok(quote! {
        into.raw("\"type\":\"object\",\"properties\":{");
        #(#parts)*
        into.raw(#tail);
    })
}

fn tuple<'a>(types: impl Iterator<Item = &'a Type>) -> TokenStream {
    let types: Vec<_> = types.collect();
    let length = types.len();
    let tail = format!("],\"minItems\":{length},\"maxItems\":{length}");
    let commas = (0..length).map(|index| if index == 0 { "" } else { "," });
    quote! {
        into.raw("\"type\":\"array\",\"prefixItems\":[");
        #(
            into.raw(#commas);
            into.nested::<#types>();
        )*
        into.raw(#tail);
    }
}

fn variants(data: &DataEnum, container: &Serde) -> Result<TokenStream> {
    let mut parts = Vec::new();
    for variant in &data.variants {
        let own = serde(&variant.attrs)?;
        if own.skip {
            continue;
        }
        let plain = variant.ident.to_string();
        let name = own.rename.clone().unwrap_or_else(|| renamed_variant(&plain, container.rename_all.as_deref()));
        let comma = if parts.is_empty() { "" } else { "," };
        parts.push(if matches!(variant.fields, Fields::Unit) {
            let word = format!("{comma}{{\"const\":\"{name}\"}}");
            quote!(into.raw(#word);)
        } else {
            let inner = fields(&variant.fields, &own)?;
            let open = format!("{comma}{{\"type\":\"object\",\"properties\":{{\"{name}\":{{");
            let close = format!("}}}},\"required\":[\"{name}\"]}}");
            quote! {
                into.raw(#open);
                #inner
                into.raw(#close);
            }
        });
    }
    Ok(quote! {
        into.raw("\"oneOf\":[");
        #(#parts)*
        into.raw("]");
    })
}

fn serde(attributes: &[Attribute]) -> Result<Serde> {
    let mut serde = Serde::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        each(attribute, |meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match word.as_str() {
                "rename" => serde.rename = Some(text(meta)?.value()),
                "rename_all" => {
                    let case = text(meta)?;
                    if !CASES.contains(&case.value().as_str()) {
                        return Err(Error::new_spanned(&case, format!("expected one of {}", CASES.join(", "))));
                    }
                    serde.rename_all = Some(case.value());
                }
                "default" => {
                    serde.default = true;
                    if meta.input.peek(syn::Token![=]) {
                        text(meta)?;
                    }
                }
                "skip" | "skip_serializing" => serde.skip = true,
                "transparent" => serde.transparent = true,
                "deny_unknown_fields" | "skip_deserializing" => {}
                "alias" | "crate" | "bound" | "skip_serializing_if" | "expecting" => drop(text(meta)?),
                other => {
                    return Err(meta.error(format!(
                        "`Schema` cannot tell what `#[serde({other})]` writes: leave it out, or write \
                         `impl tidegate::Schema` by hand"
                    )));
                }
            }
            Ok(())
        })?;
    }
    Ok(serde)
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// A field's name, which is in snake case, in another one.
fn renamed(snake: &str, case: Option<&str>) -> String {
    let camel = || snake.split('_').map(capitalized).collect::<String>();
    match case {
        None | Some("lowercase" | "snake_case") => snake.to_owned(),
        Some("UPPERCASE" | "SCREAMING_SNAKE_CASE") => snake.to_uppercase(),
        Some("PascalCase") => camel(),
        Some("camelCase") => uncapitalized(&camel()),
        Some("kebab-case") => snake.replace('_', "-"),
        Some(_) => snake.to_uppercase().replace('_', "-"),
    }
}

/// A variant's name, which is in Pascal case, in another one.
fn renamed_variant(pascal: &str, case: Option<&str>) -> String {
    let snake = || crate::attributes::kebab(pascal).replace('-', "_");
    match case {
        None | Some("PascalCase") => pascal.to_owned(),
        Some("lowercase") => pascal.to_lowercase(),
        Some("UPPERCASE") => pascal.to_uppercase(),
        Some("camelCase") => uncapitalized(pascal),
        Some("snake_case") => snake(),
        Some(other) => renamed(&snake(), Some(other)),
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn uncapitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
