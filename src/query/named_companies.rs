//! The companies that the items of `companies` are.

use std::fmt;

use crate::text::quoted;

/// An item of `companies`, and the companies that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedCompanies {
    /// The item as typed.
    pub item: String,
    /// The companies, by ascending slug; none if nothing has that slug or name.
    pub companies: Vec<NamedCompany>,
}

/// A company that an item of `companies` is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedCompany {
    /// The slug.
    pub slug: String,
    /// The name for display.
    pub name: String,
}

/// How many companies of an item are shown.
const SHOWN_MAX: usize = 8;

impl NamedCompanies {
    pub(crate) fn new(item: &str) -> NamedCompanies {
        NamedCompanies {
            item: item.to_owned(),
            companies: Vec::new(),
        }
    }

    /// Adds a company, unless it is there.
    pub(crate) fn add(&mut self, slug: &str, name: &str) {
        let found = self
            .companies
            .binary_search_by(|known| (*known.slug).cmp(slug));
        if let Err(index) = found {
            let (slug, name) = (slug.to_owned(), name.to_owned());
            self.companies.insert(index, NamedCompany { slug, name });
        }
    }
}

impl fmt::Display for NamedCompanies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.companies.iter().take(SHOWN_MAX);
        let shown = shown.map(|company| format!("{} ({})", company.name, company.slug));
        let shown: Vec<String> = shown.collect();
        let more = match self.companies.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = if shown.is_empty() {
            "no company".to_owned()
        } else {
            shown.join(", ")
        };
        write!(f, "{} is {shown}{more}", quoted(&self.item))
    }
}
