//! The macros of `tidegate-guest`, re-exported there; its pages have the examples.
//!
//! # Invariants
//! 1. Every error points at what is wrong, and says what to write instead.
//! 2. Generated code names everything by its full path below `::tidegate`.

mod attributes;
mod config;
mod fields;
mod function;
mod inputs;
mod lifetimes;
mod schema;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a function, and the component's export.
///
/// # The fields of the struct
/// Each has one attribute that says what it is:
///
/// | attribute | type | what it is |
/// |---|---|---|
/// | `#[state]`, `#[state(ttl = "7d", clock = "event-time", refresh = "on-write", name = "…", version = 1, migrate = function)]` | `Value<T>`, `List<T>`, `Map<K, V>`, `Reducing<T>`, `Aggregating<A>`, `Counter` | what is kept per key |
/// | `#[output]`, `#[output(name = "…")]` | `Output<O>` | a further output |
/// | `#[metric]`, `#[metric(name = "…")]` | `Count`, `Gauge` | a number for operators |
/// | `#[config]` | a struct with `#[derive(Config)]` | what the job file says |
/// | `#[scratch]` | anything with `Default` | memory that may be lost between any two batches |
///
/// # What the attribute takes
/// - `#[function(headers)]`: the function is given the headers of its records
/// - `#[function(assign)]`: the function gives key and event time itself, through `impl Assign`
///
/// A crate exports one function.
#[proc_macro_attribute]
pub fn function(options: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::Item);
    function::expand(options.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a set of typed fields that the host cuts out of values, or encodes into them.
///
/// `#[field("/path/to/it")]` says where a field stands, where it is not `/name`.
#[proc_macro_derive(Fields, attributes(field))]
pub fn fields(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    fields::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes an enum of records an input with several ports, one per variant.
///
/// A variant holds one record. `#[input(Json<T>)]` says how it is received, where it is not `Fields` of
/// what it holds; `#[input(name = "…")]` names it, where it is not the variant's name in kebab-case.
#[proc_macro_derive(Inputs, attributes(input))]
pub fn inputs(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    inputs::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct, or an enum of words, readable from the `config` of a job file.
///
/// `#[config(default)]`, `#[config(default = expression)]`, `#[config(name = "…")]`.
#[proc_macro_derive(Config, attributes(config))]
pub fn config(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    config::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Gives a type of serde a schema, so that it can be kept in state or sent as JSON.
#[proc_macro_derive(Schema, attributes(serde))]
pub fn schema(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    schema::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}
