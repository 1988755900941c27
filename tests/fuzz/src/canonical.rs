//! From the canonical form of a filter back to a query string that asks for it.

use std::fmt::Write;

/// The query string of a canonical form; none where a phrase holds what no query string can say,
/// a quote between Hebrew letters that are not alone.
pub fn query_string(canonical: &str) -> Option<String> {
    let parts = canonical.split('&').filter(|part| !part.is_empty());
    let parameters = parts.map(|part| {
        let (name, value) = part.split_once('=')?;
        let (name, value) = match name {
            "all" | "any" => (name, joined(value, " ", quoted_phrase)?),
            "none" => ("exclude", joined(value, " ", quoted_phrase)?),
            "company" => (name, joined(value, " ", word_phrase)?),
            "companySlug" | "country" | "industry" | "fundingStage" => (name, plain(value)),
            _ => (
                name,
                joined(value, ",", |item| Some(list_item(&plain(item))))?,
            ),
        };
        Some(format!("{name}={}", encoded(&value)))
    });
    Some(parameters.collect::<Option<Vec<_>>>()?.join("&"))
}

/// The items of a canonical list, each written another way.
fn joined(
    value: &str,
    separator: &str,
    written: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let items: Option<Vec<String>> = value.split(',').map(written).collect();
    Some(items?.join(separator))
}

/// A phrase in quotes; a single word needs none.
fn quoted_phrase(phrase: &str) -> Option<String> {
    let text = plain(phrase);
    match (phrase.contains(' '), text.contains('"')) {
        (false, _) => Some(text),
        (true, false) => Some(format!("\"{text}\"")),
        (true, true) => None,
    }
}

/// A phrase as one word, whose parts a slash keeps apart.
fn word_phrase(phrase: &str) -> Option<String> {
    Some(plain(phrase).replace(' ', "/"))
}

fn list_item(item: &str) -> String {
    // Without quotes, white space at the ends is no part of an item.
    if item.contains(',') || item.starts_with('"') || item.trim() != item {
        format!("\"{}\"", item.replace('"', "\"\""))
    } else {
        item.to_owned()
    }
}

/// A value without the escapes of the canonical form.
fn plain(value: &str) -> String {
    ["%20", "%26", "%2C", "%3D", "%25"]
        .iter()
        .zip([" ", "&", ",", "=", "%"])
        .fold(value.to_owned(), |text, (escape, letter)| {
            text.replace(escape, letter)
        })
}

fn encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() {
            text.push(byte as char)
        } else {
            write!(text, "%{byte:02X}").expect("a string can be written to")
        }
        text
    })
}
