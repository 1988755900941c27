//! Signals as a table of HTML, for notebooks.

use std::fmt::Write;

use signaldex::Item;

/// How many signals a table shows.
pub(crate) const SHOWN: usize = 50;

/// A table of signals, with a caption below.
pub(crate) fn table<'i>(items: impl IntoIterator<Item = &'i Item<'i>>, caption: &str) -> String {
    let mut html = String::from(
        "<table><thead><tr><th>id</th><th>date</th><th>company</th><th>title</th></tr></thead><tbody>",
    );
    for Item {
        signal,
        company_name,
        ..
    } in items
    {
        let date = signal.date.map(|date| date.to_string()).unwrap_or_default();
        html.push_str("<tr>");
        for cell in [&*signal.id.to_string(), &date, company_name, &signal.title] {
            // Writing to a string does not fail.
            let _ = write!(html, "<td>{}</td>", escaped(cell));
        }
        html.push_str("</tr>");
    }
    let _ = write!(html, "</tbody></table><p>{}</p>", escaped(caption));
    html
}

/// A text in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A number of signals in words.
pub(crate) fn signals(count: u64) -> String {
    match count {
        1 => "1 signal".to_owned(),
        _ => format!("{count} signals"),
    }
}
