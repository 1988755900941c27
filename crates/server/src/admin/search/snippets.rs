//! Code snippets of the search, for clients and hosts.

use super::query_text::QueryText;

/// A shell command. The key is in a variable, so that it does not appear in the history.
pub(super) fn curl(public_url: &str, endpoint: &str, text: &QueryText) -> String {
    format!(
        "curl -s -H \"Authorization: Bearer $SIGNALDEX_KEY\" \\\n  '{public_url}/api/v1/{endpoint}?{text}'"
    )
}

/// Rust code.
pub(super) fn rust(text: &QueryText) -> String {
    format!(
        "let query = Query::from_query_string(\"{text}\")?;\n\
         let snapshot = index.snapshot();\n\
         let page = snapshot.search(&query, today)?;\n\
         for item in snapshot.records(&page)? {{\n    \
             println!(\"{{}} {{}}\", item.signal.id, item.signal.title);\n\
         }}\n\
         println!(\"{{}} in all\", snapshot.count(query.filter(), today)?);"
    )
}

/// Rust code of a query for companies.
pub(super) fn rust_companies(text: &QueryText) -> String {
    format!(
        "let query = CompanyQuery::from_query_string(\"{text}\")?;\n\
         let snapshot = index.snapshot();\n\
         for item in snapshot.companies(&query, today)?.items() {{\n    \
             println!(\"{{}} {{:?}}\", item.profile.company.slug, item.matches);\n\
         }}\n\
         println!(\"{{}} in all\", snapshot.count_companies(query.filter(), today)?);"
    )
}
