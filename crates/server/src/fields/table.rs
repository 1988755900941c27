//! The table of fields: every object of an answer, in the order in which documents show them.

use super::FieldValues::{
    self, Constant, Flag, Id, List, Named, Object, Text, TextUpTo, True, Whole, WholeFrom,
};
use super::aggregates::{AGGREGATES, CURRENCY_AMOUNTS, FIGURES, GROUP, GROUP_KEY, TOTALS};
use super::records::{
    COMPANY_FIGURES, COMPANY_NAME, CONDITION_MATCHES, FUNDING, OF_DETAIL, PROFILE, SIGNAL,
};
use super::{Field, ObjectDescription, field};

const fn object(name: &'static str, groups: &'static [&'static [Field]]) -> ObjectDescription {
    ObjectDescription { name, groups }
}

/// Every object of an answer.
pub(crate) static OBJECTS: [ObjectDescription; 41] = [
    object("Signal", &[SIGNAL]),
    object("SignalDetail", &[SIGNAL, OF_DETAIL]),
    object("Funding", &[FUNDING]),
    object("CompanyProfile", &[PROFILE]),
    object("Company", &[COMPANY_NAME, PROFILE, COMPANY_FIGURES]),
    object("FilterOptions", &[OPTIONS]),
    object("CategoryOption", &[CATEGORY_OPTION, OPTION_COUNT]),
    object("FilterOption", &[FILTER_OPTION, OPTION_COUNT]),
    object(
        "SearchResult",
        &[&[data(Object("SearchPage"), "The page.")]],
    ),
    object("SearchPage", &[PAGE]),
    object(
        "SignalResult",
        &[&[data(Object("SignalDetail"), "The signal with its company.")]],
    ),
    object(
        "CompanyResult",
        &[&[data(Object("Company"), "The company.")]],
    ),
    object(
        "CompaniesResult",
        &[&[data(Object("CompanyPage"), "The page.")]],
    ),
    object("CompanyPage", &[COMPANY_PAGE]),
    object(
        "MatchedCompany",
        &[COMPANY_NAME, PROFILE, COMPANY_FIGURES, MATCHES],
    ),
    object("ConditionMatches", &[CONDITION_MATCHES]),
    object("CompanyFacets", &[COMPANY_FACETS]),
    object("CompanyOption", &[FILTER_OPTION, COMPANY_COUNT]),
    object(
        "FilterOptionsResult",
        &[&[data(Object("FilterOptions"), "The lists of values.")]],
    ),
    object(
        "AggregatesResult",
        &[&[data(Object("Aggregates"), "The figures.")]],
    ),
    object("Aggregates", &[AGGREGATES]),
    object("AggregateGroup", &[GROUP, FIGURES]),
    object("AggregateKey", &[GROUP_KEY]),
    object("AggregateTotals", &[TOTALS, FIGURES]),
    object("CompanyKey", &[COMPANY_NAME]),
    object("CurrencyAmounts", &[CURRENCY_AMOUNTS]),
    object(
        "ChangesResult",
        &[&[data(Object("Changes"), "The changes.")]],
    ),
    object("Changes", &[FEED]),
    object("Upsert", &[UPSERT]),
    object("Remove", &[REMOVE]),
    object(
        "SavedSearchesResult",
        &[&[data(Object("SavedSearchList"), "The saved searches.")]],
    ),
    object("SavedSearchList", &[SAVED_SEARCHES]),
    object("SavedSearch", &[SAVED_SEARCH]),
    object(
        "MatchesResult",
        &[&[data(Object("Matches"), "The matches.")]],
    ),
    object("Matches", &[MATCH_PAGE]),
    object("Match", &[MATCH]),
    object("Health", &[HEALTH]),
    object("Readiness", &[READINESS]),
    object("Following", &[FOLLOWING]),
    object("Problem", &[PROBLEM]),
    object("ParameterError", &[PARAMETER_ERROR]),
];

const fn data(values: FieldValues, meaning: &'static str) -> Field {
    field("data", values, meaning, "")
}

/// When a list of filter options is there.
const UNLESS_OTHERS: &str = "if `facets` names it or is not given";

const fn options(name: &'static str, schema: &'static str, meaning: &'static str) -> Field {
    field(name, List(schema, None), meaning, "").only(UNLESS_OTHERS)
}

const OPTIONS: &[Field] = &[
    options(
        "categories",
        "CategoryOption",
        "IDs for `categories`. As in every list, the greatest count comes first, then the smallest value.",
    ),
    options("countries", "FilterOption", "Values for `country`."),
    options("industries", "FilterOption", "Values for `industry`."),
    options("sizes", "FilterOption", "Values for `size`."),
    options(
        "fundingStages",
        "FilterOption",
        "Values for `fundingStage`.",
    ),
    options(
        "fundingCurrencies",
        "FilterOption",
        "Values for `fundingCurrency`.",
    ),
    options("hiringTypes", "FilterOption", "IDs for `hiringType`."),
    options("jobFunctions", "FilterOption", "IDs for `jobFunction`."),
    options("seniorities", "FilterOption", "IDs for `seniority`."),
    options(
        "employmentTypes",
        "FilterOption",
        "IDs for `employmentType`.",
    ),
    options(
        "workArrangements",
        "FilterOption",
        "IDs for `workArrangement`.",
    ),
];

const CATEGORY_OPTION: &[Field] = &[field("id", Text, "The ID of the category.", "\"funding\"")];

const FILTER_OPTION: &[Field] = &[field("value", Text, "The value.", "\"Germany\"")];

const OPTION_COUNT: &[Field] = &[field(
    "count",
    WholeFrom(1),
    "How many signals have it and match all filters but the list's own.",
    "69",
)];

const PAGE: &[Field] = &[
    field(
        "items",
        List("Signal", Some(50)),
        "The signals, newest id first. Empty for a count.",
        "",
    ),
    field(
        "nextCursor",
        TextUpTo(512),
        "The `cursor` of the next page.",
        "\"AQD_UAAAkU4\"",
    )
    .null("on the last page and for a count"),
    field("count", WholeFrom(0), "The exact number of matches.", "15")
        .only("with `countOnly=true`"),
];

const COMPANY_PAGE: &[Field] = &[
    field(
        "items",
        List("MatchedCompany", Some(50)),
        "The companies in `order`. Empty for a count.",
        "",
    ),
    field(
        "nextCursor",
        TextUpTo(2048),
        "The `cursor` of the next page.",
        COMPANY_CURSOR_EXAMPLE,
    )
    .null("on the last page and for a count"),
    field(
        "count",
        WholeFrom(0),
        "The exact number of companies.",
        "15",
    )
    .only("with `countOnly=true`"),
    field(
        "facets",
        Object("CompanyFacets"),
        "Numbers of companies by value.",
        "",
    )
    .only("with `facets`"),
];

const COMPANY_CURSOR_EXAMPLE: &str =
    "\"QAGaUAAA1ZYRaFv-fVLYZutZhIcKQwEFAAAAAAAAAGZlbm5tYXJrLW11dHVhbMeNEuk\"";

const MATCHES: &[Field] = &[field(
    "matches",
    List("ConditionMatches", Some(4)),
    "An entry for each condition of `has`, in the order given.",
    "",
)];

/// When a list of numbers of companies is there.
const NAMED_IN_FACETS: &str = "if `facets` names it";

const COMPANY_FACETS: &[Field] = &[
    company_facet("countries", "Values for `country`."),
    company_facet("industries", "Values for `industry`."),
    company_facet("sizes", "Values for `size`."),
];

const fn company_facet(name: &'static str, meaning: &'static str) -> Field {
    field(name, List("CompanyOption", None), meaning, "").only(NAMED_IN_FACETS)
}

const COMPANY_COUNT: &[Field] = &[field(
    "count",
    WholeFrom(1),
    "How many companies have it under everything but the list's own filter.",
    "12",
)];

const FEED: &[Field] = &[
    field(
        "changes",
        List("Change", Some(50)),
        "The changes, in the order of commits and within one by id. Empty without `since`.",
        "",
    ),
    field(
        "next",
        Text,
        "The position after them: the `since` of the next request.",
        "\"AZ3vX0…\"",
    ),
    field(
        "more",
        Flag,
        "Whether further changes are already there.",
        "false",
    ),
];

const UPSERT: &[Field] = &[
    field(
        "op",
        Constant("upsert"),
        "The signal was added or changed and matches: store it under its id.",
        "\"upsert\"",
    ),
    field("signal", Object("Signal"), "The signal as it is now.", ""),
];

const REMOVE: &[Field] = &[
    field(
        "op",
        Constant("remove"),
        "The signal was deleted or no longer matches: delete it, if you have it.",
        "\"remove\"",
    ),
    field("id", Id, "The id of the signal.", "\"7477456168553964859\""),
];

const SAVED_SEARCHES: &[Field] = &[field(
    "searches",
    List("SavedSearch", Some(1_000)),
    "The searches that the operator has saved for the key, oldest first.",
    "",
)];

const SAVED_SEARCH: &[Field] = &[
    field("id", Text, "The id of the search.", "\"srch_Zp1c0tZyNcQ\""),
    field(
        "name",
        Text,
        "The name of the search.",
        "\"robots in Germany\"",
    ),
    field(
        "query",
        Text,
        "What it searches for, as the query string of a search.",
        "\"all=robotics&country=germany\"",
    ),
    field(
        "status",
        Text,
        "`active` while matches can be pulled or are delivered; of a search with a webhook also `paused`, `failing`, `disabled`, `quota`, `key_ended` or `expired`. More statuses may be added.",
        "\"active\"",
    ),
];

const MATCH_PAGE: &[Field] = &[
    field(
        "matches",
        List("Match", Some(50)),
        "The matches, in the order of commits and within one by id.",
        "",
    ),
    field(
        "removed",
        List("SignalId", Some(50)),
        "Ids of signals that were deleted or no longer match, if the search is kept with removals; else empty.",
        "",
    ),
    field(
        "next",
        Text,
        "The position after them: the `since` of the next request.",
        "\"AZ3vX0…\"",
    ),
    field(
        "more",
        Flag,
        "Whether further matches may already be there.",
        "false",
    ),
];

const MATCH: &[Field] = &[
    field(
        "id",
        Text,
        "The id of the match. It is the same whenever the match is returned.",
        "\"mtch_vq0Y5kYgJ1u0mDkZy7Jc8Q\"",
    ),
    field(
        "isNew",
        Flag,
        "Whether the signal first appeared since the position; otherwise it changed, and may have matched before.",
        "true",
    ),
    field("signal", Object("Signal"), "The signal as it is now.", ""),
];

const HEALTH: &[Field] = &[field(
    "status",
    Constant("ok"),
    "The process answers.",
    "\"ok\"",
)];

const READINESS: &[Field] = &[
    field(
        "status",
        Constant("ready"),
        "Searches are answered.",
        "\"ready\"",
    ),
    field(
        "generation",
        WholeFrom(0),
        "The generation of the index.",
        "1",
    ),
    field(
        "damaged",
        True,
        "A request has failed because a file of the index is damaged or was overwritten.",
        "true",
    )
    .only("after such a request; a replica answers 503"),
    field(
        "following",
        Object("Following"),
        "The state of the store that the replica follows.",
        "",
    )
    .only("on a replica"),
];

const FOLLOWING: &[Field] = &[
    field(
        "newest",
        WholeFrom(0),
        "The newest generation in the store.",
        "7",
    ),
    field(
        "secondsSinceAnswer",
        WholeFrom(0),
        "Seconds since the store last answered.",
        "3",
    )
    .null("if it has not answered yet"),
    field(
        "error",
        Text,
        "Why the newest generation is not served.",
        "\"the store does not answer\"",
    )
    .null("if it is, or is being loaded"),
];

const PROBLEM: &[Field] = &[
    field(
        "type",
        Text,
        "A link to the error in the API reference.",
        "\"/docs#invalid_request\"",
    ),
    field(
        "title",
        Text,
        "The error in a few words, the same for every request.",
        "\"The request is invalid\"",
    ),
    field("status", Whole, "The status of the answer.", "400"),
    field(
        "detail",
        Text,
        "What was wrong with this request and what to do.",
        "\"One parameter is invalid; errors describes it.\"",
    ),
    field(
        "code",
        Named("ProblemCode"),
        "The error, for programs.",
        "\"invalid_request\"",
    ),
    field(
        "requestId",
        Text,
        "Identifies the request in the operator's log; also sent as `X-Request-Id`.",
        "\"5d0c3f1a0000000017\"",
    ),
    field(
        "errors",
        List("ParameterError", None),
        "Every error of the parameters.",
        "",
    )
    .only("with status 400"),
];

const PARAMETER_ERROR: &[Field] = &[
    field(
        "parameter",
        Text,
        "The parameter as it was sent; empty if the query string as a whole is wrong.",
        "\"limit\"",
    ),
    field(
        "code",
        Named("ParameterErrorCode"),
        "The error, for programs.",
        "\"invalid_value\"",
    ),
    field(
        "message",
        Text,
        "What was wrong, and what is allowed.",
        "\"limit is \\\"0\\\"; allowed are whole numbers from 1 to 50\"",
    ),
];
