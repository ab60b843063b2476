//! `#[derive(Inputs)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Token, Type, Variant};

use crate::attributes::{check_name, kebab, one};
use crate::lifetimes::made_static;

/// One input.
struct Port {
    variant: Ident,
    name: String,
    /// The `Input` that reads it.
    input: TokenStream,
}

pub(crate) fn expand(item: DeriveInput) -> Result<TokenStream> {
    let ports = ports(&item)?;
    let name = &item.ident;
    let (generics, own, at) = match item.generics.params.len() {
        0 => (quote!(), quote!(#name), quote!(#name)),
        _ if item.generics.lifetimes().count() == 1 && item.generics.params.len() == 1 => {
            (quote!(<'tidegate>), quote!(#name<'tidegate>), quote!(#name<'a>))
        }
        _ => {
            return Err(Error::new_spanned(&item.generics, "an enum of inputs has at most one lifetime, and no types"));
        }
    };
    let reader = format_ident!("__TidegateReaderOf{name}");
    let variants: Vec<_> = ports.iter().map(|port| &port.variant).collect();
    let names: Vec<_> = ports.iter().map(|port| &port.name).collect();
    let inputs: Vec<_> = ports.iter().map(|port| &port.input).collect();
    let numbers: Vec<_> = (0u16..).take(ports.len()).collect();
    Ok(quote! {
        const _: () = {
            #[doc(hidden)]
            pub enum #reader<'a> {
                #(#variants(<#inputs as ::tidegate::Input>::Reader<'a>)),*
            }

            #[automatically_derived]
            impl #generics ::tidegate::Input for #own {
                type Record<'a> = #at;
                type Reader<'a> = #reader<'a>;
                const WANTS_VALUES: bool = false #(|| <#inputs as ::tidegate::Input>::WANTS_VALUES)*;

                fn ports() -> ::std::vec::Vec<::tidegate::bindings::types::PortDescriptor> {
                    ::std::vec![#(::tidegate::input::rename::<#inputs>(#numbers, #names)),*]
                }
                fn open(
                    batch: &::tidegate::bindings::types::InputBatch,
                ) -> ::tidegate::Result<Self::Reader<'_>> {
                    match batch.input {
                        #(#numbers => ::std::result::Result::Ok(
                            #reader::#variants(<#inputs as ::tidegate::Input>::open(batch)?)
                        ),)*
                        other => ::std::result::Result::Err(::tidegate::Error::new(
                            ::std::format!("the host passed a batch for input {other}, which is not declared")
                        )),
                    }
                }
                #[inline]
                fn read<'a>(reader: &Self::Reader<'a>, row: usize) -> ::tidegate::Result<Self::Record<'a>> {
                    match reader {
                        #(#reader::#variants(reader) => ::std::result::Result::Ok(
                            #name::#variants(<#inputs as ::tidegate::Input>::read(reader, row)?)
                        ),)*
                    }
                }
            }
        };
    })
}

fn ports(item: &DeriveInput) -> Result<Vec<Port>> {
    let Data::Enum(data) = &item.data else {
        let message = "`Inputs` is for an enum with one variant per input; a single input needs none: see `Fields`";
        return Err(Error::new_spanned(&item.ident, message));
    };
    if data.variants.is_empty() {
        return Err(Error::new_spanned(&item.ident, "an enum of inputs has at least one variant"));
    }
    data.variants.iter().map(port).collect()
}

fn port(variant: &Variant) -> Result<Port> {
    let held = match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => fields.unnamed.first().map(|field| &field.ty),
        _ => None,
    };
    let Some(held) = held else {
        let message = format!("a variant holds one record: write `{}(Record)`", variant.ident);
        return Err(Error::new_spanned(variant, message));
    };
    let fields = made_static(held);
    let mut port = Port {
        variant: variant.ident.clone(),
        name: kebab(&variant.ident.to_string()),
        input: quote!(::tidegate::Fields<#fields>),
    };
    if let Some(attribute) = one(&variant.attrs, "input")? {
        attribute.parse_args_with(|stream: syn::parse::ParseStream<'_>| {
            while !stream.is_empty() {
                if stream.peek(Ident) && stream.peek2(Token![=]) {
                    let key: Ident = stream.parse()?;
                    stream.parse::<Token![=]>()?;
                    if key != "name" {
                        return Err(Error::new_spanned(key, r#"`#[input(...)]` takes a type and `name = "…"`"#));
                    }
                    let name: LitStr = stream.parse()?;
                    check_name(&name)?;
                    port.name = name.value();
                } else {
                    let input = made_static(&stream.parse::<Type>()?);
                    port.input = quote!(#input);
                }
                if !stream.is_empty() {
                    stream.parse::<Token![,]>()?;
                }
            }
            Ok(())
        })?;
    }
    Ok(port)
}
