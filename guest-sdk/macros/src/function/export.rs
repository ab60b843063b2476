//! The export of a component: only where one is built.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

pub(super) fn export(name: &Ident) -> TokenStream {
    let types = quote!(::tidegate::bindings::types);
    let result = quote!(::std::result::Result);
    quote! {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the exports of the canonical ABI, as the generator writes them")]
        const _: () = {
            struct Exported;

            ::std::thread_local! {
                static INSTANCE: ::tidegate::glue::Instance<#name> = const { ::tidegate::glue::Instance::new() };
            }

            impl ::tidegate::bindings::Guest for Exported {
                fn describe() -> #types::Descriptor {
                    ::tidegate::glue::describe::<#name, _>()
                }
                fn open(task: #types::Task) -> #result<(), ::std::string::String> {
                    INSTANCE.with(|instance| instance.open(&task))
                }
                fn assign(
                    values: #types::OptionalColumn,
                ) -> #result<(#types::OptionalColumn, ::std::vec::Vec<i64>), #types::BadRecord> {
                    INSTANCE.with(|instance| instance.assign(&values))
                }
                fn process(batch: #types::InputBatch) -> #result<(), #types::BadRecord> {
                    INSTANCE.with(|instance| instance.process(&batch))
                }
                fn migrate(
                    state: u16,
                    from_version: u32,
                    values: #types::Column,
                ) -> #result<#types::Column, ::std::string::String> {
                    ::tidegate::glue::migrate::<#name>(state, from_version, &values)
                }
            }

            ::tidegate::bindings::export_operator!(Exported with_types_in ::tidegate::bindings);
        };
    }
}
