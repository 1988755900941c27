//! What reaches the index, seen in plans.

use crate::fixture::{corpora, database, threads};

/// The plan of a statement over the fresh sample.
fn plan(statement: &str) -> String {
    let (_, snapshots) = corpora().swap_remove(0);
    let plan = database(&snapshots).explain(&threads(), statement);
    plan.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

#[test]
fn conditions_reach_the_index() {
    for (condition, expected) in [
        ("country = 'Germany'", "index=[country=germany]"),
        (
            "query = 'q=robots' AND country = 'Germany'",
            "index=[all=robots&country=germany]",
        ),
        ("date > '2026-01-01'", "index=[dateFrom=2026-01-02]"),
        (
            "date >= '2026-01-01' AND date < '2026-02-01'",
            "index=[dateFrom=2026-01-01&dateTo=2026-01-31]",
        ),
        ("funding_amount >= 5", "index=[fundingMin=5]"),
        (
            "company_slug = 'cpp-foundry'",
            "index=[companySlug=cpp-foundry]",
        ),
        ("id = 17", "ids=17..=17"),
        ("id > 17", "ids=18..=9999999999999999999"),
        (
            "category IN ('funding', 'hiring')",
            "index=[categories=funding,hiring]",
        ),
        ("country IS NULL", "rows=[HasValue(Facet(Country), false)]"),
    ] {
        let plan = plan(&format!("SELECT id FROM signals WHERE {condition}"));
        assert!(plan.contains(expected), "{condition}: {plan}");
        assert!(!plan.contains("FilterExec"), "{condition}: {plan}");
    }
}

/// A label that the corpus has in another spelling only is looked for by the index, and compared by the scan.
#[test]
fn a_spelling_is_compared() {
    let plan = plan("SELECT id FROM signals WHERE country = 'germany'");
    assert!(
        plan.contains("index=[country=germany], rows=[Labels(Country"),
        "{plan}"
    );
}

#[test]
fn only_columns_that_are_needed_are_read() {
    let plan =
        plan("SELECT max(date) FROM signals WHERE query = 'q=robots' AND country = 'Germany'");
    assert!(plan.contains("columns=[date],"), "{plan}");
}

#[test]
fn counts_come_from_counters() {
    let plan =
        plan("SELECT country, count(*) FROM signals WHERE query = 'q=raises' GROUP BY country");
    assert!(
        plan.contains("CountsScan: facet=country, index=[all=raises]"),
        "{plan}"
    );
    assert!(!plan.contains("SignalsScan"), "{plan}");
}

#[test]
fn counters_are_not_used_where_they_would_count_others() {
    for statement in [
        "SELECT country, count(*) FROM signals WHERE query = 'country=germany' GROUP BY country",
        "SELECT country, count(*) FROM signals WHERE country = 'germany' GROUP BY country",
        "SELECT size, count(*) FROM signals WHERE country = 'germany' GROUP BY size",
        "SELECT country, count(title) FROM signals WHERE id > 5 GROUP BY country",
        "SELECT country, count(*) FROM signals WHERE id > 5 GROUP BY country",
        "SELECT country, count(DISTINCT size) FROM signals GROUP BY country",
        "SELECT country, count(date) FROM signals GROUP BY country",
        "SELECT country, count(*) FILTER (WHERE size = '1-49') FROM signals GROUP BY country",
        "SELECT country, size, count(*) FROM signals GROUP BY country, size",
        "SELECT company_name, count(*) FROM signals GROUP BY company_name",
    ] {
        let plan = plan(statement);
        assert!(!plan.contains("CountsScan"), "{statement}: {plan}");
    }
}

#[test]
fn groups_of_companies_are_groups_of_texts() {
    for (statement, expected) in [
        (
            "SELECT company_name, sum(funding_amount) FROM signals GROUP BY company_name",
            true,
        ),
        (
            "SELECT company_name, date, count(*) FROM signals GROUP BY company_name, date",
            true,
        ),
        ("SELECT DISTINCT company_slug, country FROM signals", true),
        (
            "SELECT country, sum(funding_amount) FROM signals GROUP BY country",
            false,
        ),
    ] {
        let plan = plan(statement);
        let are_texts = plan.contains("AS Utf8View) as company");
        assert_eq!(are_texts, expected, "{statement}: {plan}");
    }
}

#[test]
fn a_count_of_matches_reads_no_row() {
    for statement in [
        "SELECT count(*) FROM signals",
        "SELECT count(*) FROM signals WHERE query = 'q=raises' AND country = 'Germany'",
        "SELECT count(*) FROM companies",
    ] {
        let plan = plan(statement);
        assert!(plan.contains("PlaceholderRowExec"), "{statement}: {plan}");
    }
}

#[test]
fn the_order_of_ids_needs_no_sort() {
    let plan =
        plan("SELECT id, title FROM signals WHERE query = 'q=raises' ORDER BY id DESC LIMIT 5");
    assert!(!plan.contains("SortExec"), "{plan}");
    assert!(plan.contains("limit=5"), "{plan}");
}
