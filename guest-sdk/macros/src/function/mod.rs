//! `#[tidegate::function]`.

mod export;
mod options;
mod parts;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Fields, Item, ItemStruct, Result};

use options::Options;
use parts::{Kind, Member, Parts};

pub(crate) fn expand(options: TokenStream, item: Item) -> Result<TokenStream> {
    let Item::Struct(mut item) = item else {
        return Err(Error::new_spanned(
            first_token(&item),
            "`#[tidegate::function]` stands above a struct; `impl Keyed for …` or `impl Unkeyed for …` follows it",
        ));
    };
    if !item.generics.params.is_empty() {
        let message = "a function is one component: the struct has no type parameters and borrows nothing";
        return Err(Error::new_spanned(&item.generics, message));
    }
    let parts = parts::take(&mut item);
    let (function, markers) = match options::parse(options).and_then(|options| Ok((options, parts?))) {
        Ok((options, parts)) => (implementation(&item, &options, &parts), markers(&item, &options, &parts)),
        Err(error) => (stub(&item, &error), quote!()),
    };
    let export = export::export(&item.ident);
    Ok(quote! {
        #item
        #function
        #markers
        #export
    })
}

/// An error, and enough of an implementation that nothing else is reported because of it.
fn stub(item: &ItemStruct, error: &Error) -> TokenStream {
    let name = &item.ident;
    let error = error.to_compile_error();
    quote! {
        #error
        impl ::tidegate::Stateless for #name {}
        impl ::tidegate::ReadsHeaders for #name {}
        impl ::tidegate::SetsTimers for #name {}
        impl ::tidegate::Function for #name {
            const WANTS_HEADERS: bool = false;
            const ASSIGNS: bool = false;
            const TIMERS: bool = false;
            fn describe(_: &mut ::tidegate::bindings::types::Descriptor) {}
            fn create(_: &str, _: u16) -> ::tidegate::Result<Self> {
                ::std::unreachable!()
            }
            fn begin_batch(&mut self, _: usize) {}
            fn select(&mut self, _: ::tidegate::function::Row) {}
            fn finish_batch(&mut self) -> ::std::result::Result<(), ::tidegate::function::Flaw> {
                ::std::unreachable!()
            }
            fn assign(
                &self,
                _: ::std::option::Option<&[u8]>,
                _: &mut ::tidegate::Assignment<'_>,
            ) -> ::tidegate::Result<()> {
                ::std::unreachable!()
            }
            fn migrate(_: u16, _: u32, _: &[u8], _: &mut ::std::vec::Vec<u8>) -> ::tidegate::Result<()> {
                ::std::unreachable!()
            }
        }
    }
}

fn first_token(item: &Item) -> TokenStream {
    quote!(#item).into_iter().take(1).collect()
}

/// What the struct is not, or may do.
fn markers(item: &ItemStruct, options: &Options, parts: &Parts) -> TokenStream {
    let name = &item.ident;
    let keeps = parts.has_state() || options.timers;
    let stateless = (!keeps).then(|| quote!(impl ::tidegate::Stateless for #name {}));
    let headers = options.headers.then(|| quote!(impl ::tidegate::ReadsHeaders for #name {}));
    let timers = options.timers.then(|| quote!(impl ::tidegate::SetsTimers for #name {}));
    quote!(#stateless #headers #timers)
}

fn implementation(item: &ItemStruct, options: &Options, parts: &Parts) -> TokenStream {
    let name = &item.ident;
    let (headers, assigns, timers) = (options.headers, options.assign, options.timers);
    let describe = parts.members.iter().map(describe);
    let create = create(item, parts);
    let taking_part: Vec<_> = parts.members.iter().filter(|member| member.takes_part()).map(|m| &m.ident).collect();
    let part = quote!(::tidegate::function::Part);
    let assign = if assigns {
        quote! {
            let value = <<Self as ::tidegate::Assign>::From as ::tidegate::ValueInput>::parse(value)?;
            <Self as ::tidegate::Assign>::assign(self, value, to)
        }
    } else {
        quote! {
            let _ = (value, to);
            ::tidegate::glue::no_assign()
        }
    };
    let migrate = parts.members.iter().filter_map(migrate);
    quote! {
        #[automatically_derived]
        impl ::tidegate::Function for #name {
            const WANTS_HEADERS: bool = #headers;
            const ASSIGNS: bool = #assigns;
            const TIMERS: bool = #timers;

            fn describe(descriptor: &mut ::tidegate::bindings::types::Descriptor) {
                let _ = &descriptor;
                let mut next_state: u16 = 0;
                let _ = &mut next_state;
                #(#describe)*
            }
            fn create(config: &str, first_output: u16) -> ::tidegate::Result<Self> {
                #create
            }
            #[inline]
            fn begin_batch(&mut self, slots: usize) {
                let _ = slots;
                #(#part::begin_batch(&mut self.#taking_part, slots);)*
            }
            #[inline]
            fn select(&mut self, at: ::tidegate::function::Row) {
                let _ = at;
                #(#part::select(&mut self.#taking_part, at);)*
            }
            fn finish_batch(&mut self) -> ::std::result::Result<(), ::tidegate::function::Flaw> {
                #(#part::finish_batch(&mut self.#taking_part)?;)*
                ::std::result::Result::Ok(())
            }
            fn assign(
                &self,
                value: ::std::option::Option<&[u8]>,
                to: &mut ::tidegate::Assignment<'_>,
            ) -> ::tidegate::Result<()> {
                #assign
            }
            fn migrate(
                state: u16,
                from_version: u32,
                value: &[u8],
                into: &mut ::std::vec::Vec<u8>,
            ) -> ::tidegate::Result<()> {
                let _ = (from_version, value, &into);
                let mut next_state: u16 = 0;
                let _ = &mut next_state;
                #(#migrate)*
                ::tidegate::state::no_such_state(state)
            }
        }
    }
}

fn describe(member: &Member) -> TokenStream {
    let ty = &member.ty;
    match &member.kind {
        Kind::State(state) => {
            let declared = state.declared();
            quote! {
                <#ty as ::tidegate::State>::describe(#declared, &mut descriptor.states);
                next_state += <#ty as ::tidegate::State>::IDS;
            }
        }
        Kind::Output { name } => quote!(<#ty as ::tidegate::output::Port>::describe(#name, &mut descriptor.outputs);),
        Kind::Metric { name } => quote!(descriptor.metrics.push(<#ty as ::tidegate::Metric>::describe(#name));),
        Kind::Config | Kind::Scratch => quote!(),
    }
}

fn create(item: &ItemStruct, parts: &Parts) -> TokenStream {
    let mut outputs = 0u16;
    let mut metrics = 0u16;
    let values = parts.members.iter().map(|member| {
        let (ident, ty) = (&member.ident, &member.ty);
        let value = match &member.kind {
            Kind::State(state) => {
                let declared = state.declared();
                quote! {{
                    let created = <#ty as ::tidegate::State>::create(#declared);
                    next_state += <#ty as ::tidegate::State>::IDS;
                    created
                }}
            }
            Kind::Output { .. } => {
                outputs += 1;
                let number = outputs - 1;
                quote!(<#ty as ::tidegate::output::Port>::create(first_output + #number))
            }
            Kind::Metric { .. } => {
                metrics += 1;
                let number = metrics - 1;
                quote!(<#ty as ::tidegate::Metric>::create(#number))
            }
            Kind::Config => quote!(<#ty as ::tidegate::Config>::from_json(config)?),
            Kind::Scratch => quote!(<#ty as ::std::default::Default>::default()),
        };
        quote!(#ident: #value)
    });
    let values: Vec<_> = values.collect();
    let this = if matches!(item.fields, Fields::Unit) { quote!(Self) } else { quote!(Self { #(#values),* }) };
    let refuse_config = (!parts.has_config()).then(|| quote!(::tidegate::config::no_config(config)?;));
    quote! {
        let _ = (config, first_output);
        let mut next_state: u16 = 0;
        let _ = &mut next_state;
        #refuse_config
        ::std::result::Result::Ok(#this)
    }
}

fn migrate(member: &Member) -> Option<TokenStream> {
    let Kind::State(state) = &member.kind else { return None };
    let ty = &member.ty;
    let (name, version) = (&state.name, state.version);
    let rewrite = match &state.migrate {
        Some(function) => quote! {
            ::tidegate::state::migrate_with::<<#ty as ::tidegate::State>::Stored>(#function, from_version, value, into)
        },
        None => quote!(::tidegate::state::no_migration(#name, #version, from_version)),
    };
    Some(quote! {
        if state == next_state {
            return #rewrite;
        }
        next_state += <#ty as ::tidegate::State>::IDS;
    })
}
