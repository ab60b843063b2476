//! `#[derive(Config)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Error, Expr, ExprLit, Field, Fields, FieldsNamed, Lit, LitStr, Result, Type};

use crate::attributes::{each, kebab, one, text, unknown};

/// What stands for an absent key.
enum Absent {
    Refused,
    Default,
    Given(Expr),
}

pub(crate) fn expand(item: DeriveInput) -> Result<TokenStream> {
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, "a configuration has no type parameters and borrows nothing"));
    }
    match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object(&item, fields),
            _ => Err(Error::new_spanned(&item.ident, "the keys need names: write `struct Name { key: Type }`")),
        },
        Data::Enum(data) => words(&item, data),
        Data::Union(_) => Err(Error::new_spanned(&item.ident, "a configuration is a struct or an enum of words")),
    }
}

fn object(item: &DeriveInput, fields: &FieldsNamed) -> Result<TokenStream> {
    let ident = &item.ident;
    let mut names = Vec::new();
    let mut reads = Vec::new();
    for field in &fields.named {
        let (name, absent) = key(field)?;
        let (field_ident, ty) = (&field.ident, &field.ty);
        reads.push(match absent {
            Absent::Refused => quote!(#field_ident: object.required::<#ty>(#name)?),
            Absent::Default => quote!(#field_ident: object.optional::<#ty>(#name)?.unwrap_or_default()),
            Absent::Given(value) => {
                let value = default(&value, ty, &name);
                quote! {
                    #field_ident: match object.optional::<#ty>(#name)? {
                        ::std::option::Option::Some(value) => value,
                        ::std::option::Option::None => #value,
                    }
                }
            }
        });
        names.push(name);
    }
    Ok(quote! {
        #[automatically_derived]
        impl ::tidegate::ConfigValue for #ident {
            fn expected() -> ::std::string::String {
                ::std::borrow::ToOwned::to_owned("an object")
            }
            fn read(value: &::tidegate::serde_json::Value, place: &str) -> ::tidegate::Result<Self> {
                let object = ::tidegate::config::Object::open(value, place, &[#(#names),*])?;
                ::std::result::Result::Ok(Self { #(#reads),* })
            }
        }

        #[automatically_derived]
        impl ::tidegate::Config for #ident {}
    })
}

/// A default; one in quotes is read like a text in the job file.
fn default(value: &Expr, ty: &Type, name: &str) -> TokenStream {
    let is_text = matches!(value, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }));
    if !is_text {
        return quote!(#value);
    }
    let place = format!("the default of `{name}`");
    quote!(<#ty as ::tidegate::ConfigValue>::read(&::tidegate::serde_json::Value::from(#value), #place)?)
}

fn key(field: &Field) -> Result<(String, Absent)> {
    let ident = field.ident.as_ref().expect("the field is named");
    let mut name = syn::ext::IdentExt::unraw(ident).to_string();
    let mut absent = Absent::Refused;
    if let Some(attribute) = one(&field.attrs, "config")? {
        each(attribute, |meta| {
            if meta.path.is_ident("name") {
                name = text(meta)?.value();
            } else if meta.path.is_ident("default") {
                absent = if meta.input.peek(syn::Token![=]) {
                    Absent::Given(meta.value()?.parse()?)
                } else {
                    Absent::Default
                };
            } else {
                return Err(unknown(meta, "config", r#"`default`, `default = expression` and `name = "…"`"#));
            }
            Ok(())
        })?;
    }
    Ok((name, absent))
}

fn words(item: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let ident = &item.ident;
    let mut words = Vec::new();
    let mut variants = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a variant of a configuration is a word: use a struct for what has parts";
            return Err(Error::new_spanned(variant, message));
        }
        let mut word = kebab(&variant.ident.to_string());
        if let Some(attribute) = one(&variant.attrs, "config")? {
            each(attribute, |meta| {
                if !meta.path.is_ident("name") {
                    return Err(unknown(meta, "config", r#"`name = "…"` on a variant"#));
                }
                let name: LitStr = text(meta)?;
                word = name.value();
                Ok(())
            })?;
        }
        words.push(word);
        variants.push(&variant.ident);
    }
    let numbers = 0..words.len();
    Ok(quote! {
        #[automatically_derived]
        impl ::tidegate::ConfigValue for #ident {
            fn expected() -> ::std::string::String {
                ::tidegate::config::one_of(&[#(#words),*])
            }
            fn read(value: &::tidegate::serde_json::Value, place: &str) -> ::tidegate::Result<Self> {
                match ::tidegate::config::word(value, place, &[#(#words),*])? {
                    #(#numbers => ::std::result::Result::Ok(Self::#variants),)*
                    _ => ::std::unreachable!("`word` gives an index into its list"),
                }
            }
        }
    })
}
