//! What applies to all answers: in the API reference, the OpenAPI document and docs/api.md.

/// Sections: title, end of links to it, text with names in backticks.
pub(crate) const NOTES: [(&str, &str, &str); 3] = [
    (
        "Dates, amounts and plus signs",
        "dates-amounts-and-plus-signs",
        "`date` is the day of the event, and all that `days`, `dateRanges`, `dateFrom` and `dateTo` read; `publishedAt` is \
         when its source published it, `updatedAt` when the operator last changed the record. Today is the UTC date of the \
         first page; a cursor carries it. Amounts are in the signal's own currency and are not converted. In a URL, a `+` is \
         a space, so write a plus sign as `%2B` (`size=501%2B`).",
    ),
    (
        "Compression",
        "compression",
        "With `Accept-Encoding: gzip`, answers of 8 KB or more and all exports are compressed. Most HTTP libraries ask for \
         it and decompress by themselves; with curl, use `--compressed`. Entity tags, charges and what an `Idempotency-Key` \
         repeats do not depend on it.",
    ),
    (
        "Versions",
        "versions",
        "`/api/v1` only gains: parameters, endpoints, fields, headers, values and error codes. Ignore what you do not know. \
         Every other change is made in `/api/v2`; `/api/v1` then lives for at least 12 months, and its answers have the \
         headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), which say since when it is deprecated and when it ends.",
    ),
];

#[cfg(test)]
mod tests {
    use super::NOTES;
    use crate::documents::{assert_part, wrapped};

    #[test]
    fn the_guide_has_the_notes() {
        let sections =
            NOTES.map(|(title, _, text)| format!("## {title}\n\n{}", wrapped(text, "", "")));
        assert_part("docs/api.md", "notes", &sections.join("\n\n"));
    }
}
