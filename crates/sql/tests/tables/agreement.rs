//! The same answers with and without what the index does for a statement.

use crate::fixture::{answer, corpora, database, plain_answer, plain_session, threads};

/// Statements over every column, with nulls, joins, searches, exact case, groups and windows.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM signals",
    "SELECT * FROM companies",
    "SELECT count(*) FROM signals",
    "SELECT count(*) FROM companies",
    "SELECT count(*), count(date), count(funding_amount), count(country) FROM signals",
    "SELECT count(*) FROM signals WHERE query = 'q=raises'",
    "SELECT count(*) FROM signals WHERE query = 'q=raises&country=germany' AND country = 'Germany'",
    "SELECT id, query FROM signals WHERE query = 'q=\"series a\"&days=90'",
    "SELECT id FROM signals WHERE query = 'country=germany'",
    "SELECT id FROM signals WHERE country = 'germany'",
    "SELECT id FROM signals WHERE country = 'Germany'",
    "SELECT id FROM signals WHERE country IN ('Germany', 'germany', 'Atlantis')",
    "SELECT id FROM signals WHERE country IN ('Germany', 'France') AND query = 'q=raises'",
    "SELECT id FROM signals WHERE country NOT IN ('Germany', 'France')",
    "SELECT id FROM signals WHERE country <> 'Germany'",
    "SELECT id FROM signals WHERE country IS NULL",
    "SELECT id FROM signals WHERE country IS NOT NULL AND size = '1-49'",
    "SELECT id FROM signals WHERE country = NULL",
    "SELECT id FROM signals WHERE country LIKE 'G%'",
    "SELECT id FROM signals WHERE country > 'M'",
    "SELECT id FROM signals WHERE category = 'funding'",
    "SELECT id FROM signals WHERE category = 'FUNDING' OR seniority = 'senior'",
    "SELECT id FROM signals WHERE category IN ('funding', 'hiring') AND query = 'categories=funding'",
    "SELECT id FROM signals WHERE date >= '2026-01-01'",
    "SELECT id FROM signals WHERE date > DATE '2026-01-01' AND date < DATE '2026-03-01'",
    "SELECT id FROM signals WHERE date BETWEEN '2025-01-01' AND '2025-06-30' AND query = 'days=90'",
    "SELECT id FROM signals WHERE date = '2026-02-02'",
    "SELECT id FROM signals WHERE date IS NULL",
    "SELECT id FROM signals WHERE date < '0001-01-01'",
    "SELECT id FROM signals WHERE funding_amount > 1000000",
    "SELECT id FROM signals WHERE funding_amount >= 10000000 AND funding_amount <= 25000000.0",
    "SELECT id FROM signals WHERE funding_amount = 0",
    "SELECT id FROM signals WHERE funding_amount < 0 OR funding_amount >= 0",
    "SELECT id FROM signals WHERE funding_amount >= -1",
    "SELECT id FROM signals WHERE funding_amount IS NULL AND category = 'funding'",
    "SELECT id FROM signals WHERE funding_amount < 'NaN'::double",
    "SELECT id, title FROM signals WHERE id = 9999999999999999999",
    "SELECT id, title FROM signals WHERE id IN (1, 2, 7152585685336981249, 0)",
    "SELECT id FROM signals WHERE id > 8000000000000000000 AND id <= 8500000000000000000",
    "SELECT id FROM signals WHERE id < 0",
    "SELECT id FROM signals WHERE id BETWEEN 1 AND 30 AND query = 'q=raises'",
    "SELECT id FROM signals WHERE company_slug = 'cpp-foundry'",
    "SELECT id FROM signals WHERE company_slug IN ('cpp-foundry', 'mueller-kjaer')",
    "SELECT id FROM signals WHERE company_name = 'C++ Foundry'",
    "SELECT name, signal_count FROM companies WHERE slug = 'cpp-foundry'",
    "SELECT name FROM companies WHERE slug IN ('cpp-foundry', 'no-such', 'alone')",
    "SELECT country, count(*) FROM signals GROUP BY country",
    "SELECT country, count(*) AS n FROM signals WHERE query = 'q=raises' GROUP BY country HAVING count(*) > 3",
    "SELECT country, count(*) FROM signals WHERE query = 'country=germany' GROUP BY country",
    "SELECT category, count(1), count(*) FROM signals WHERE date >= '2026-01-01' GROUP BY category",
    "SELECT size, count(*) FROM signals WHERE id > 8000000000000000000 GROUP BY size",
    "SELECT DISTINCT seniority FROM signals",
    "SELECT company_name, count(*), count(DISTINCT company_slug) FROM signals GROUP BY company_name",
    "SELECT country, date_trunc('month', date) AS month, count(*), sum(funding_amount) FROM signals GROUP BY country, month",
    "SELECT industry, avg(funding_amount), max(funding_amount) FROM signals WHERE funding_amount IS NOT NULL GROUP BY industry",
    "SELECT count(DISTINCT company_slug) FROM signals WHERE query = 'q=raises'",
    "SELECT c.city, count(*) FROM signals s JOIN companies c ON c.slug = s.company_slug WHERE s.query = 'q=robotics' GROUP BY c.city",
    "SELECT c.slug FROM companies c LEFT JOIN signals s ON s.company_slug = c.slug WHERE s.id IS NULL",
    "SELECT slug FROM companies WHERE signal_count > (SELECT avg(signal_count) FROM companies)",
    "SELECT a.id FROM signals a JOIN signals b ON a.company_slug = b.company_slug WHERE a.query = 'q=raises' AND b.query = 'q=hires'",
    "SELECT id FROM signals WHERE query = 'q=raises' UNION ALL SELECT id FROM signals WHERE query = 'q=hires'",
    "SELECT id, row_number() OVER (PARTITION BY country ORDER BY id) FROM signals WHERE query = 'q=raises'",
    "SELECT lower(title), published_at, updated_at FROM signals WHERE author_name IS NOT NULL",
    "WITH found AS (SELECT * FROM signals WHERE query = 'q=raises') SELECT max(date), min(date) FROM found",
    "SELECT extract(year FROM published_at) AS year, count(*) FROM signals GROUP BY year",
];

/// Statements whose rows have an order.
const ORDERED: &[&str] = &[
    "SELECT id FROM signals ORDER BY id DESC",
    "SELECT id FROM signals ORDER BY id DESC LIMIT 10",
    "SELECT id FROM signals ORDER BY id DESC LIMIT 10 OFFSET 995",
    "SELECT id, title FROM signals WHERE query = 'q=raises' ORDER BY id DESC LIMIT 7",
    "SELECT id FROM signals WHERE country = 'germany' ORDER BY id DESC LIMIT 3",
    "SELECT id FROM signals ORDER BY id LIMIT 10",
    "SELECT id, date FROM signals ORDER BY date DESC NULLS LAST, id LIMIT 20",
    "SELECT country, count(*) AS n FROM signals GROUP BY country ORDER BY n DESC, country LIMIT 5",
    "SELECT slug FROM companies ORDER BY slug LIMIT 12",
];

#[test]
fn what_the_index_does_changes_no_answer() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let (fast, plain) = (database(&snapshots), plain_session(&snapshots));
        for statement in STATEMENTS {
            let mut found = answer(&fast, &runtime, statement);
            let mut expected = plain_answer(&plain, &runtime, statement);
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{name}: {statement}");
        }
        for statement in ORDERED {
            let rows = answer(&fast, &runtime, statement);
            let expected = plain_answer(&plain, &runtime, statement);
            assert_eq!(rows, expected, "{name}: {statement}");
            assert!(
                !rows.is_empty() || statement.contains("germany"),
                "{name}: {statement}"
            );
        }
    }
}

/// A limit without an order takes any rows, as many as it says.
#[test]
fn limits_are_kept_over_segments() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let database = database(&snapshots);
        for limit in [0, 1, 50, 1999] {
            let total = snapshots
                .iter()
                .map(|snapshot| snapshot.signal_count())
                .sum::<u64>();
            let statement = format!("SELECT title FROM signals LIMIT {limit}");
            let rows = answer(&database, &runtime, &statement).len() as u64;
            assert_eq!(rows, total.min(limit), "{name}: {statement}");
        }
        let one = "SELECT name FROM companies LIMIT 1";
        assert_eq!(answer(&database, &runtime, one).len(), 1, "{name}");
    }
}
