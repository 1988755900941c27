//! The bounds of the search parameters, as the API states them.

/// Characters of `q`, `all`, `any` and `exclude`.
pub const KEYWORDS_CHARS_MAX: usize = 1000;

/// Characters of `exact`, `company`, `companySlug`, `country`, `industry`, `fundingStage`, and of
/// each list of hiring attributes.
pub const TEXT_CHARS_MAX: usize = 180;

/// Characters of an item of `companies` and `categories`.
pub const ITEM_CHARS_MAX: usize = 180;

/// Items of `companies`.
pub const COMPANIES_MAX: usize = 50;

/// Items of `categories`.
pub const CATEGORIES_MAX: usize = 30;

/// Items of `dateRanges`.
pub const DATE_RANGES_MAX: usize = 4;

/// Items of `ids` and `activityIds`.
pub const IDS_MAX: usize = 50;

/// The most signals of a page, which is also the default.
pub const LIMIT_MAX: usize = 50;

/// The largest number of a page.
pub const PAGE_MAX: u16 = 100;

/// Characters of `cursor`.
pub const CURSOR_CHARS_MAX: usize = 512;

/// Bytes of a query string: eight times what the longest sensible request takes.
pub const QUERY_STRING_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the text of a valid query: folding makes a character at most 18, and percent-encoding
/// a character at most 12 bytes, so the longest valid query takes less.
pub const WRITTEN_BYTES_MAX: usize = 1024 * 1024;

/// The most errors that are reported at once; more say nothing new.
pub const ERRORS_MAX: usize = 64;
