//! What to say of tables in which no column is a required field.

use std::path::Path;

use crate::tables::{Header, LoadOptions, RecordKind, shell_quoted};

/// Why the headers are refused, and the options that would help.
pub(super) struct MissingFields {
    pub(super) message: String,
    /// As they are typed: `--map companies:Headcount=employees`.
    pub(super) options: Vec<String>,
}

/// What is missing; `None` if each table has every required field.
pub(super) fn missing_fields(
    tables: &[(&Path, &Header)],
    options: &LoadOptions,
    makes_ids: bool,
) -> Option<MissingFields> {
    let missing = |header: &Header| header.missing(options.file(header.kind()), makes_ids);
    if tables.iter().all(|(_, header)| missing(header).is_empty()) {
        return None;
    }
    let mut found = MissingFields {
        message: String::new(),
        options: Vec::new(),
    };
    let (mut lines, mut needs_keys, mut is_enough): (Vec<String>, bool, bool) =
        (Vec::new(), false, true);
    let names_companies = options.file(RecordKind::Signal).make_keys || lack_slugs(tables);
    for (path, header) in tables {
        let (kind, mut fields) = (header.kind(), missing(header));
        if !fields.is_empty() {
            let article = if kind == RecordKind::Company {
                "a company's"
            } else {
                "a signal's"
            };
            lines.push(format!(
                "{}: no column is {article} {}",
                path.display(),
                fields.join(" or ")
            ));
            lines.extend(
                fields
                    .iter()
                    .filter_map(|field| other_way(kind, field, options, makes_ids)),
            );
        }
        let mut mapped: Vec<&str> = Vec::new();
        for (name, nearest) in header.suggestions(names_companies) {
            let Some(nearest) = nearest else {
                lines.push(format!("{}: \"{name}\" is no field", path.display()));
                continue;
            };
            let option = format!(
                "--map {}",
                shell_quoted(&format!("{}:{name}={nearest}", kind.plural()))
            );
            lines.push(format!(
                "{}: \"{name}\" is probably {nearest}: {option}",
                path.display()
            ));
            found.options.push(option);
            mapped.push(nearest);
        }
        fields.retain(|field| !mapped.contains(field));
        needs_keys |= !fields.is_empty() && !options.file(kind).make_keys;
        is_enough &= fields
            .iter()
            .all(|field| header.can_make(field, &mapped, makes_ids));
    }
    if needs_keys && is_enough {
        found.options.push("--make-keys".to_owned());
    }
    found.message = lines.join("\n");
    Some(found)
}

/// Whether companies are read from a table without slugs, so that signals can only name them.
fn lack_slugs(tables: &[(&Path, &Header)]) -> bool {
    let mut companies = tables
        .iter()
        .filter(|(_, header)| header.kind() == RecordKind::Company);
    companies.any(|(_, header)| {
        let mut suggestions = header.suggestions(false).into_iter();
        !header.has_field("slug") && suggestions.all(|(_, nearest)| nearest != Some("slug"))
    })
}

/// The way to load records without a key.
fn other_way(
    kind: RecordKind,
    field: &str,
    options: &LoadOptions,
    makes_ids: bool,
) -> Option<String> {
    if (kind, field, makes_ids) == (RecordKind::Signal, "id", false) {
        return Some(
            "  ids are made in a new index only: give each signal a whole number of its own"
                .to_owned(),
        );
    }
    let made = match (kind, field) {
        _ if options.file(kind).make_keys => return None,
        (RecordKind::Company, "slug") => "slugs from names",
        (RecordKind::Signal, "slug") => "slugs from titles",
        (RecordKind::Signal, "companySlug") => "companySlug from a column companyName",
        (RecordKind::Signal, "id") => "ids from the order of the records",
        _ => return None,
    };
    Some(format!("  --make-keys makes {made}"))
}
