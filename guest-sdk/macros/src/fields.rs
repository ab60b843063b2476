//! `#[derive(Fields)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Field, Fields, GenericParam, Ident, LitStr, Result, Type};

use crate::attributes;
use crate::lifetimes::made_static;

/// A field of the struct.
struct Cell {
    ident: Ident,
    name: String,
    path: String,
    /// The type, with `'static` for its lifetimes.
    ty: Type,
}

pub(crate) fn expand(item: DeriveInput) -> Result<TokenStream> {
    let cells = cells(&item)?;
    let name = &item.ident;
    let lifetime = lifetime(&item)?;
    let (generics, own, at) = match lifetime {
        Some(_) => (quote!(<'tidegate>), quote!(#name<'tidegate>), quote!(#name<'a>)),
        None => (quote!(), quote!(#name), quote!(#name)),
    };
    let idents: Vec<_> = cells.iter().map(|cell| &cell.ident).collect();
    let names: Vec<_> = cells.iter().map(|cell| &cell.name).collect();
    let paths: Vec<_> = cells.iter().map(|cell| &cell.path).collect();
    let types: Vec<_> = cells.iter().map(|cell| &cell.ty).collect();
    let numbers: Vec<_> = (0..cells.len()).collect();
    let places: Vec<_> = numbers.iter().map(|&number| syn::Index::from(number)).collect();
    let columns = format_ident!("columns");
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::tidegate::FieldSet for #own {
            type At<'a> = #at;
            type Columns<'a> = (#(<#types as ::tidegate::FieldType>::Column<'a>,)*);

            fn specs() -> ::std::vec::Vec<::tidegate::bindings::types::Field> {
                ::std::vec![#(::tidegate::fields::spec::<#types>(#names, #paths)),*]
            }
            fn open(
                #columns: &[::tidegate::bindings::types::FieldColumn],
            ) -> ::tidegate::Result<Self::Columns<'_>> {
                ::std::result::Result::Ok((#(::tidegate::fields::open::<#types>(#columns, #numbers, #names)?,)*))
            }
            #[inline]
            fn read<'a>(#columns: &Self::Columns<'a>, row: usize) -> Self::At<'a> {
                #name { #(#idents: <#types as ::tidegate::FieldType>::read(&#columns.#places, row)),* }
            }
            #[inline]
            fn append(record: &Self::At<'_>, #columns: &mut [::tidegate::bindings::types::FieldColumn]) -> usize {
                let mut #columns = #columns.iter_mut();
                let mut bytes = 0;
                #(
                    if let ::std::option::Option::Some(column) = #columns.next() {
                        bytes += <#types as ::tidegate::FieldType>::append(&record.#idents, column);
                    }
                )*
                bytes
            }
        }
    })
}

/// The one lifetime of the struct, if it has one.
fn lifetime(item: &DeriveInput) -> Result<Option<&syn::Lifetime>> {
    let mut lifetime = None;
    for parameter in &item.generics.params {
        match parameter {
            GenericParam::Lifetime(parameter) if lifetime.is_none() => lifetime = Some(&parameter.lifetime),
            GenericParam::Lifetime(second) => {
                let message = "all borrowed text comes from one batch: give the struct one lifetime";
                return Err(Error::new_spanned(second, message));
            }
            other => {
                let message = "the host must know the types of the fields: a struct of fields has no type parameters";
                return Err(Error::new_spanned(other, message));
            }
        }
    }
    Ok(lifetime)
}

fn cells(item: &DeriveInput) -> Result<Vec<Cell>> {
    let Data::Struct(data) = &item.data else {
        let message = "`Fields` is for a struct with named fields; for an enum of inputs see `#[derive(Inputs)]`";
        return Err(Error::new_spanned(&item.ident, message));
    };
    match &data.fields {
        Fields::Named(fields) if !fields.named.is_empty() => fields.named.iter().map(cell).collect(),
        Fields::Named(_) | Fields::Unit => {
            Err(Error::new_spanned(&item.ident, "no fields: to receive nothing but the key, write `type In = KeyOnly`"))
        }
        Fields::Unnamed(_) => {
            Err(Error::new_spanned(&item.ident, "the fields need names: write `struct Name { field: Type }`"))
        }
    }
}

fn cell(field: &Field) -> Result<Cell> {
    let ident = field.ident.clone().expect("the field is named");
    let name = syn::ext::IdentExt::unraw(&ident).to_string();
    let path = match attributes::one(&field.attrs, "field")? {
        None => format!("/{name}"),
        Some(attribute) => pointer(&attribute.parse_args::<LitStr>().map_err(|error| {
            Error::new(error.span(), r#"expected a JSON pointer in quotes, such as `#[field("/customer/id")]`"#)
        })?)?,
    };
    Ok(Cell { ident, name, path, ty: made_static(&field.ty) })
}

/// Checks that a text is a JSON pointer.
fn pointer(text: &LitStr) -> Result<String> {
    let path = text.value();
    let escapes_are_whole = path.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'));
    if path.len() > 1 && path.starts_with('/') && escapes_are_whole {
        return Ok(path);
    }
    let hint = path.trim_matches('/').replace('.', "/");
    let message = if !escapes_are_whole {
        format!("`{path}` is not a JSON pointer: `~` is written `~0` in it, and `/` inside a name `~1`")
    } else if hint.is_empty() {
        format!("`{path}` is not a JSON pointer to a field: expected `/name` or `/outer/inner`")
    } else {
        format!("`{path}` is not a JSON pointer: write `/{hint}`")
    };
    Err(Error::new_spanned(text, message))
}
