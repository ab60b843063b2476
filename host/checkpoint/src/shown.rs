//! What of a URL may be shown.

/// What a URL of a store may say besides where it lies.
const OPTIONS: [&str; 2] = ["endpoint", "region"];

/// `url` as it may be shown or written to a log: a login and the values of options that no store has are cut out.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let (place, options) = url.split_once('?').map_or((url, None), |(place, options)| (place, Some(options)));
    let shown = options.map(|options| options.split('&').map(shown_option).collect::<Vec<_>>().join("&"));
    let place = without_login(place);
    shown.map_or(place.clone(), |options| format!("{place}?{options}"))
}

fn shown_option(option: &str) -> String {
    match option.split_once('=') {
        Some((name, value)) if OPTIONS.contains(&name) => format!("{name}={}", without_login(value)),
        Some((name, _)) => format!("{name}=…"),
        None => option.to_owned(),
    }
}

fn without_login(url: &str) -> String {
    // Escaped, an `@` is `%40`: what looks like a login in disguise is cut as well.
    let login = url.rfind('@').map(|at| at + 1).max(url.to_ascii_uppercase().rfind("%40").map(|at| at + 3));
    match (url.split_once("://"), login.and_then(|end| url.get(end..))) {
        (Some((scheme, _)), Some(rest)) => format!("{scheme}://…@{rest}"),
        (None, Some(rest)) => format!("…@{rest}"),
        (_, None) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests;
