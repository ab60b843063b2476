//! The fields of a function: what each is, from its attribute.

use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Error, Expr, Field, Fields, ItemStruct, LitInt, LitStr, Path, Result, Type};

use crate::attributes::{check_name, each, text, unknown};

/// The attributes a field may have.
const KINDS: [&str; 5] = ["state", "output", "metric", "config", "scratch"];

/// What to write on a field that has none of them.
const CHOICES: &str = "say what the field is: `#[state]` (kept per key), `#[output]`, `#[metric]`, `#[config]` \
                       (from the job file), or `#[scratch]` (memory that may be lost between any two batches)";

/// The fields of a function.
pub(super) struct Parts {
    pub(super) members: Vec<Member>,
}

/// A field.
pub(super) struct Member {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) kind: Kind,
}

/// What a field is.
pub(super) enum Kind {
    State(Box<State>),
    Output { name: String },
    Metric { name: String },
    Config,
    Scratch,
}

/// What `#[state(...)]` says.
pub(super) struct State {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) migrate: Option<Path>,
    ttl_millis: Option<u64>,
    clock: Option<Ident>,
    refresh: Option<Ident>,
}

impl Parts {
    pub(super) fn has_state(&self) -> bool {
        self.members.iter().any(|member| matches!(member.kind, Kind::State(_)))
    }

    pub(super) fn has_config(&self) -> bool {
        self.members.iter().any(|member| matches!(member.kind, Kind::Config))
    }
}

impl Member {
    /// Whether it has something to do for every batch.
    pub(super) fn takes_part(&self) -> bool {
        matches!(self.kind, Kind::State(_) | Kind::Output { .. } | Kind::Metric { .. })
    }
}

impl State {
    /// The declaration, as an expression; its number is the local `next_state`.
    pub(super) fn declared(&self) -> TokenStream {
        let (name, version) = (&self.name, self.version);
        let types = quote!(::tidegate::bindings::types);
        let ttl = match self.ttl_millis {
            None => quote!(::std::option::Option::None),
            Some(millis) => {
                let clock = self.clock.as_ref().map_or_else(|| quote!(EventTime), |clock| quote!(#clock));
                let refresh = self.refresh.as_ref().map_or_else(|| quote!(OnWrite), |refresh| quote!(#refresh));
                quote! {
                    ::std::option::Option::Some(#types::Ttl {
                        millis: #millis,
                        clock: #types::Clock::#clock,
                        refresh: #types::Refresh::#refresh,
                    })
                }
            }
        };
        quote!(::tidegate::function::Declared { id: next_state, name: #name, version: #version, ttl: #ttl })
    }
}

/// Reads the attributes of the fields, and takes them off the struct.
pub(super) fn take(item: &mut ItemStruct) -> Result<Parts> {
    let fields = match &mut item.fields {
        Fields::Named(fields) => &mut fields.named,
        Fields::Unit => return Ok(Parts { members: Vec::new() }),
        Fields::Unnamed(fields) => {
            let message = "the fields need names, which become the names of states and outputs: write `{ name: Type }`";
            return Err(Error::new_spanned(fields, message));
        }
    };
    let mut members = Vec::new();
    let mut errors: Option<Error> = None;
    for field in fields {
        match member(field) {
            Ok(member) => members.push(member),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    errors.map_or(Ok(()), Err)?;
    let parts = Parts { members };
    check_twice(&parts)?;
    Ok(parts)
}

fn member(field: &mut Field) -> Result<Member> {
    let ident = field.ident.clone().expect("the field is named");
    let is_ours = |attribute: &Attribute| KINDS.iter().any(|kind| attribute.path().is_ident(kind));
    let (ours, others): (Vec<_>, Vec<_>) = std::mem::take(&mut field.attrs).into_iter().partition(is_ours);
    field.attrs = others;
    let attribute = match ours.as_slice() {
        [attribute] => attribute,
        [] => return Err(Error::new_spanned(&ident, CHOICES)),
        [_, second, ..] => {
            return Err(Error::new_spanned(second, "a field is one thing: write one of these attributes"));
        }
    };
    let plain = syn::ext::IdentExt::unraw(&ident).to_string();
    let kind = if attribute.path().is_ident("state") {
        Kind::State(Box::new(state(attribute, plain)?))
    } else if attribute.path().is_ident("output") {
        let name = only_name(attribute, "output", plain)?;
        if name == "main" {
            let message = "`main` is the name of the output given by `type Out`: choose another";
            return Err(Error::new_spanned(&ident, message));
        }
        Kind::Output { name }
    } else if attribute.path().is_ident("metric") {
        Kind::Metric { name: only_name(attribute, "metric", plain)? }
    } else {
        if attribute.meta.require_path_only().is_err() {
            return Err(Error::new_spanned(attribute, "this attribute takes nothing: write it without brackets"));
        }
        if attribute.path().is_ident("config") { Kind::Config } else { Kind::Scratch }
    };
    Ok(Member { ident, ty: field.ty.clone(), kind })
}

fn only_name(attribute: &Attribute, kind: &str, mut name: String) -> Result<String> {
    each(attribute, |meta| {
        if !meta.path.is_ident("name") {
            return Err(unknown(meta, kind, r#"`name = "…"`"#));
        }
        name = checked_name(&text(meta)?)?;
        Ok(())
    })?;
    Ok(name)
}

fn checked_name(name: &LitStr) -> Result<String> {
    check_name(name)?;
    Ok(name.value())
}

fn state(attribute: &Attribute, name: String) -> Result<State> {
    let mut state = State { name, version: 1, migrate: None, ttl_millis: None, clock: None, refresh: None };
    each(attribute, |meta| {
        let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match word.as_str() {
            "ttl" => state.ttl_millis = Some(millis(meta.value()?.parse()?)?),
            "clock" => state.clock = Some(choice(&text(meta)?, &["event-time", "processing-time"])?),
            "refresh" => state.refresh = Some(choice(&text(meta)?, &["on-create", "on-write", "on-read"])?),
            "name" => state.name = checked_name(&text(meta)?)?,
            "version" => state.version = version(&meta.value()?.parse()?)?,
            "migrate" => state.migrate = Some(meta.value()?.parse()?),
            _ => return Err(unknown(meta, "state", "`ttl`, `clock`, `refresh`, `name`, `version` and `migrate`")),
        }
        Ok(())
    })?;
    if let (None, Some(without)) = (state.ttl_millis, state.clock.as_ref().or(state.refresh.as_ref())) {
        let message = r#"there is no time to live that this could be about: write `ttl = "7d"` too"#;
        return Err(Error::new(without.span(), message));
    }
    Ok(state)
}

fn version(number: &LitInt) -> Result<u32> {
    match number.base10_parse() {
        Ok(version) if version > 0 => Ok(version),
        _ => Err(Error::new_spanned(number, "a version is a whole number from 1")),
    }
}

/// A duration in quotes, in milliseconds.
fn millis(value: Expr) -> Result<u64> {
    const EXPECTED: &str = r#"expected a duration in quotes, such as "90s", "12h" or "7d""#;
    let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &value else {
        return Err(Error::new_spanned(&value, EXPECTED));
    };
    let duration = humantime::parse_duration(&text.value())
        .map_err(|error| Error::new_spanned(text, format!("`{}`: {error}: {EXPECTED}", text.value())))?;
    if duration < Duration::from_millis(1) {
        return Err(Error::new_spanned(
            text,
            "a time to live is at least one millisecond: leave `ttl` out to keep for ever",
        ));
    }
    u64::try_from(duration.as_millis()).map_err(|_| Error::new_spanned(text, "more milliseconds than 64 bits hold"))
}

/// One of several words, as the variant of that name.
fn choice(given: &LitStr, known: &[&str]) -> Result<Ident> {
    let text = given.value();
    if !known.contains(&text.as_str()) {
        let known: Vec<_> = known.iter().map(|word| format!("`{word}`")).collect();
        return Err(Error::new_spanned(given, format!("`{text}` is unknown: expected {}", known.join(" or "))));
    }
    let variant: String = text
        .split('-')
        .map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>())
        .collect();
    Ok(Ident::new(&variant, given.span()))
}

/// Names stand once per kind, and there is one configuration.
fn check_twice(parts: &Parts) -> Result<()> {
    for (index, member) in parts.members.iter().enumerate() {
        for other in parts.members.iter().skip(index + 1) {
            let message = match (&member.kind, &other.kind) {
                (Kind::State(one), Kind::State(two)) if one.name == two.name => {
                    format!("another state is called `{}`: a name is the identity of a state", one.name)
                }
                (Kind::Output { name: one }, Kind::Output { name: two }) if one == two => {
                    format!("another output is called `{one}`")
                }
                (Kind::Metric { name: one }, Kind::Metric { name: two }) if one == two => {
                    format!("another metric is called `{one}`")
                }
                (Kind::Config, Kind::Config) => "the job file has one `config`: gather it in one struct".to_owned(),
                _ => continue,
            };
            return Err(Error::new_spanned(&other.ident, message));
        }
    }
    Ok(())
}
