//! The table of search parameters: names, limits, descriptions. Used for parsing, error messages and the
//! description of the API.

use super::limits::{
    CATEGORIES_MAX, COMPANIES_MAX, CURSOR_CHARS_MAX, DATE_RANGES_MAX, IDS_MAX, ITEM_CHARS_MAX,
    KEYWORDS_CHARS_MAX, LIMIT_MAX, PAGE_MAX, TEXT_CHARS_MAX,
};
use super::order::Order;

/// A search parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Each is described in `PARAMETERS`.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub enum Parameter {
    Q,
    All,
    Exact,
    Any,
    Exclude,
    Company,
    CompanySlug,
    Companies,
    Country,
    Industry,
    Size,
    Days,
    DateRanges,
    DateFrom,
    DateTo,
    Categories,
    HiringType,
    JobFunction,
    Seniority,
    EmploymentType,
    WorkArrangement,
    FundingStage,
    FundingCurrency,
    FundingMin,
    FundingMax,
    Ids,
    ActivityIds,
    Limit,
    Order,
    Cursor,
    Page,
    CountOnly,
}

/// Describes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterDescription {
    /// The parameter.
    pub parameter: Parameter,
    /// The name in a query string.
    pub name: &'static str,
    /// The form of its values.
    pub kind: ParameterKind,
    /// A description for users.
    pub description: &'static str,
    /// A valid value.
    pub example: &'static str,
}

/// The form of a parameter's values. Lengths are in characters. A new form is a breaking change, so that who describes
/// or renders parameters misses none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Text of at most this many characters.
    Text(usize),
    /// At most `items` items of at most `chars` characters each.
    List {
        /// Maximum number of items.
        items: usize,
        /// Maximum characters of an item.
        chars: usize,
    },
    /// A list of IDs of at most this many characters in all.
    AttributeList(usize),
    /// At most this many signal ids.
    IdList(usize),
    /// One of these.
    Choice(&'static [&'static str]),
    /// At most `items` of `choices`.
    ChoiceList {
        /// Maximum number of items.
        items: usize,
        /// The allowed items.
        choices: &'static [&'static str],
    },
    /// A calendar date, `YYYY-MM-DD`.
    Date,
    /// A finite number, at least 0.
    Amount,
    /// A whole number from 1 to this.
    Number(u32),
    /// `true` or `false`.
    Flag,
    /// A cursor of at most this many characters.
    Cursor(usize),
}

/// The names of company sizes.
const SIZES: &[&str] = &["1-49", "50-100", "101-500", "501+"];

/// Every search parameter, in the order of the API's description.
pub const PARAMETERS: [ParameterDescription; 32] = {
    use Parameter as P;
    use ParameterKind as K;
    const ATTRIBUTES: K = K::AttributeList(TEXT_CHARS_MAX);
    [
        describe(
            P::Q,
            "q",
            K::Text(KEYWORDS_CHARS_MAX),
            "Title keywords: words, prefix words (robot* finds each word that begins so, from 3 letters or digits on), \"quoted phrases\", and each of them excluded by a - before it. Every one must occur in the title, and no excluded one.",
            "\"series a\" -crypto",
        ),
        describe(
            P::All,
            "all",
            K::Text(KEYWORDS_CHARS_MAX),
            "Every word, prefix word (robot*) or quoted phrase occurs in the title.",
            "robotics funding",
        ),
        describe(
            P::Exact,
            "exact",
            K::Text(TEXT_CHARS_MAX),
            "These words occur in the title next to each other, in this order.",
            "head of sales",
        ),
        describe(
            P::Any,
            "any",
            K::Text(KEYWORDS_CHARS_MAX),
            "At least one word, prefix word (robot*) or quoted phrase occurs in the title.",
            "robotics \"machine learning\"",
        ),
        describe(
            P::Exclude,
            "exclude",
            K::Text(KEYWORDS_CHARS_MAX),
            "None of the words, prefix words (robot*) and quoted phrases occurs in the title.",
            "intern",
        ),
        describe(
            P::Company,
            "company",
            K::Text(TEXT_CHARS_MAX),
            "Every word occurs in the company's name. The word `and` is left out where another is left.",
            "labs",
        ),
        describe(
            P::CompanySlug,
            "companySlug",
            K::Text(TEXT_CHARS_MAX),
            "The company with this slug.",
            "acme",
        ),
        describe(
            P::Companies,
            "companies",
            K::List {
                items: COMPANIES_MAX,
                chars: ITEM_CHARS_MAX,
            },
            "The company's slug, or its whole name as people write it, is one of these. A slug may also be another company's name; `companySlug` is exact.",
            "acme,\"Example, Inc.\"",
        ),
        describe(
            P::Country,
            "country",
            K::Text(TEXT_CHARS_MAX),
            "The company's country.",
            "Germany",
        ),
        describe(
            P::Industry,
            "industry",
            K::Text(TEXT_CHARS_MAX),
            "The company's industry.",
            "Robotics",
        ),
        describe(
            P::Size,
            "size",
            K::Choice(SIZES),
            "The company's size, by number of employees. In a URL, the plus sign of `501+` is `%2B`.",
            "101-500",
        ),
        describe(
            P::Days,
            "days",
            K::Choice(&["7", "30", "90"]),
            "The signal's `date` is within the last days, today included (UTC).",
            "30",
        ),
        describe(
            P::DateRanges,
            "dateRanges",
            K::ChoiceList {
                items: DATE_RANGES_MAX,
                choices: &["7", "30", "90", "older"],
            },
            "The signal's `date` is within any of these: the last days, today included (UTC), or `older`, 90 days ago and before.",
            "7,older",
        ),
        describe(
            P::DateFrom,
            "dateFrom",
            K::Date,
            "The signal's `date` is this day or later.",
            "2026-01-01",
        ),
        describe(
            P::DateTo,
            "dateTo",
            K::Date,
            "The signal's `date` is this day or earlier.",
            "2026-06-30",
        ),
        describe(
            P::Categories,
            "categories",
            K::List {
                items: CATEGORIES_MAX,
                chars: ITEM_CHARS_MAX,
            },
            "Any of these category IDs.",
            "funding,hiring",
        ),
        describe(
            P::HiringType,
            "hiringType",
            ATTRIBUTES,
            "Any of these hiring types.",
            "new-role",
        ),
        describe(
            P::JobFunction,
            "jobFunction",
            ATTRIBUTES,
            "Any of these job functions.",
            "engineering,sales",
        ),
        describe(
            P::Seniority,
            "seniority",
            ATTRIBUTES,
            "Any of these seniorities.",
            "senior",
        ),
        describe(
            P::EmploymentType,
            "employmentType",
            ATTRIBUTES,
            "Any of these employment types.",
            "full-time",
        ),
        describe(
            P::WorkArrangement,
            "workArrangement",
            ATTRIBUTES,
            "Any of these work arrangements.",
            "remote",
        ),
        describe(
            P::FundingStage,
            "fundingStage",
            K::Text(TEXT_CHARS_MAX),
            "The stage of the funding.",
            "Series A",
        ),
        describe(
            P::FundingCurrency,
            "fundingCurrency",
            K::Choice(&["USD", "EUR", "GBP"]),
            "The currency of the funding.",
            "EUR",
        ),
        describe(
            P::FundingMin,
            "fundingMin",
            K::Amount,
            "Funding of at least this amount, in the signal's own currency.",
            "1000000",
        ),
        describe(
            P::FundingMax,
            "fundingMax",
            K::Amount,
            "Funding of at most this amount, in the signal's own currency.",
            "25000000",
        ),
        describe(
            P::Ids,
            "ids",
            K::IdList(IDS_MAX),
            "The signal is one of these.",
            "1001,1002",
        ),
        describe(
            P::ActivityIds,
            "activityIds",
            K::IdList(IDS_MAX),
            "The signal is one of these; given with `ids`, it is in both.",
            "1001,1002",
        ),
        describe(
            P::Limit,
            "limit",
            K::Number(LIMIT_MAX as u32),
            "The maximum number of items on a page; 50 by default.",
            "20",
        ),
        describe(
            P::Order,
            "order",
            K::Choice(&Order::NAMES),
            "`newest` (default) or `oldest` by id; `-date`, `date`; `-amount`, `amount`, which need `fundingCurrency`. A minus is descending; signals without the value come last, ties by descending id.",
            "-date",
        ),
        describe(
            P::Cursor,
            "cursor",
            K::Cursor(CURSOR_CHARS_MAX),
            "The `nextCursor` of an earlier answer to the same filters in the same order.",
            "",
        ),
        describe(
            P::Page,
            "page",
            K::Number(PAGE_MAX as u32),
            "The page of this number, with `limit` items per page.",
            "2",
        ),
        describe(
            P::CountOnly,
            "countOnly",
            K::Flag,
            "Only the exact number of matches.",
            "true",
        ),
    ]
};

/// The length and the last byte of each name, which fit into one cache line; the names take ten.
const OUTLINES: [[u8; 2]; PARAMETERS.len()] = {
    let mut outlines = [[0; 2]; PARAMETERS.len()];
    let mut index = 0;
    // `outlines[..index]` are set.
    while index < outlines.len() {
        let name = PARAMETERS[index].name.as_bytes();
        outlines[index] = [name.len() as u8, name[name.len() - 1]];
        index += 1;
    }
    outlines
};

impl Parameter {
    /// Every parameter, in the order of [`PARAMETERS`].
    pub(super) const ALL: [Parameter; PARAMETERS.len()] = {
        let mut all = [Parameter::Q; PARAMETERS.len()];
        let mut index = 0;
        // `all[..index]` are set.
        while index < all.len() {
            all[index] = PARAMETERS[index].parameter;
            index += 1;
        }
        all
    };

    /// The parameter with a name.
    ///
    /// ```
    /// use signaldex::query::Parameter;
    ///
    /// assert_eq!(Parameter::of_name("fundingMin"), Some(Parameter::FundingMin));
    /// assert_eq!(Parameter::of_name("funding_min"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Parameter> {
        let outline = [u8::try_from(name.len()).ok()?, *name.as_bytes().last()?];
        let mut similar = Parameter::ALL.iter().zip(&OUTLINES);
        let found = similar.find(|(known, other)| **other == outline && known.name() == name);
        found.map(|(parameter, _)| *parameter)
    }

    /// The description of the parameter.
    ///
    /// ```
    /// use signaldex::query::{Parameter, ParameterKind};
    ///
    /// let country = Parameter::Country.description();
    /// assert_eq!((country.name, country.example), ("country", "Germany"));
    /// assert!(matches!(country.kind, ParameterKind::Text(_)));
    /// ```
    pub fn description(self) -> &'static ParameterDescription {
        &PARAMETERS[self as usize]
    }

    /// The name in a query string.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// Whether it is a filter, not an option of the page.
    pub fn is_filter(self) -> bool {
        self < Parameter::Limit
    }

    /// Whether it is a list of signal ids.
    pub fn is_of_ids(self) -> bool {
        matches!(self, Parameter::Ids | Parameter::ActivityIds)
    }
}

const fn describe(
    parameter: Parameter,
    name: &'static str,
    kind: ParameterKind,
    description: &'static str,
    example: &'static str,
) -> ParameterDescription {
    ParameterDescription {
        parameter,
        name,
        kind,
        description,
        example,
    }
}

#[cfg(test)]
mod tests;
