//! The limits of the search parameters.

/// Characters of `q`, `all`, `any` and `exclude`.
pub const KEYWORDS_CHARS_MAX: usize = 1000;

/// Characters of `exact`, `company`, `companySlug`, `country`, `industry`, `fundingStage`, and of
/// each list of hiring attributes.
pub const TEXT_CHARS_MAX: usize = 180;

/// Characters of an item of `companies` and `categories`.
pub const ITEM_CHARS_MAX: usize = 180;

/// Letters and digits of a prefix word, such as `robot*`, at least.
pub const PREFIX_CHARS_MIN: usize = 3;

/// Items of `companies`.
pub const COMPANIES_MAX: usize = 50;

/// Items of `categories`.
pub const CATEGORIES_MAX: usize = 30;

/// Items of `dateRanges`.
pub const DATE_RANGES_MAX: usize = 4;

/// Items of `ids` and `activityIds`.
pub const IDS_MAX: usize = 50;

/// Maximum number of signals on a page of the API, and the default everywhere.
pub const LIMIT_MAX: usize = 50;

/// Maximum number of signals on a page of a query that [`QueryBuilder`](super::QueryBuilder) makes: a host pays for
/// its pages itself.
pub const HOST_LIMIT_MAX: usize = 100_000;

/// The largest number of a page.
pub const PAGE_MAX: u16 = 100;

/// Characters of `cursor`.
pub const CURSOR_CHARS_MAX: usize = 512;

/// Items of `by`.
pub const GROUPED_BY_MAX: usize = 2;

/// Maximum number of groups of an answer of the API, and the default of most.
pub const AGGREGATE_LIMIT_MAX: u32 = 1_000;

/// The default number of groups if they are companies.
pub const AGGREGATE_COMPANIES_DEFAULT: usize = 50;

/// Groups of two above which nothing is computed, unless a query sets another number.
pub const AGGREGATE_GROUPS_MAX: usize = 100_000;
/// Characters of the slug of a company, so that a cursor can hold it.
pub const SLUG_CHARS_MAX: usize = 180;

/// Conditions of `has`, and of `hasNot`.
pub const CONDITIONS_MAX: usize = 4;

/// Characters of `has`, and of `hasNot`.
pub const CONDITIONS_CHARS_MAX: usize = 8000;

/// Digits of `min` and `max` of a condition.
pub const CONDITION_BOUND_DIGITS_MAX: usize = 9;

/// Digits of `foundedFrom` and `foundedTo`.
pub const YEAR_DIGITS_MAX: usize = 4;

/// Digits of `employeesMin` and `employeesMax`.
pub const EMPLOYEES_DIGITS_MAX: usize = 15;

/// Characters of `cursor` in queries for companies.
pub const COMPANY_CURSOR_CHARS_MAX: usize = 2048;

/// Bytes of a page or of a batch of changes. One with more ends early, with the cursor or position after its last
/// item; it has at least one.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// Bytes of a query string: eight times the longest realistic request.
pub const QUERY_STRING_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the text form of a valid query. Folding yields at most 18 bytes per character and
/// percent-encoding at most 12, or 20 in a condition, so no valid query is longer.
pub const WRITTEN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Maximum number of reported errors.
pub const ERRORS_MAX: usize = 64;

/// Maximum number of filters of a key, and of exceptions.
pub const KEY_FILTERS_MAX: usize = 16;

/// Maximum length of a filter or an exception of a key, in bytes.
pub const KEY_FILTER_BYTES_MAX: usize = 8_000;
