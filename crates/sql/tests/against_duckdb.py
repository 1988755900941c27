#!/usr/bin/env python3
"""Statements over an index have the rows that DuckDB finds in the records it was built from.

usage: crates/sql/tests/against_duckdb.py [PROGRAM] [SIGNALS]

PROGRAM (target/debug/signaldex, with the feature `sql`) generates SIGNALS (20,000) signals and builds an index of them; one
that three updates changed, so that it has deletions and several segments; and five shards with the same updates. DuckDB
reads the records as JSON; a search is a condition on their texts there. Our results are read back from Parquet. Installs
duckdb into target/duckdb, unless it is there. Prints what differs, and ends with 1 if anything does.
"""
import collections
import datetime
import decimal
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "benches"))
from environment import DUCKDB, with_packages  # noqa: E402

# The day that generated corpora are searched on.
AS_OF = "2026-06-30"

# Searches, and what they mean for a row of the table `signals`, whose columns follow {s}.
SEARCHES = {
    "q=raises": r"regexp_matches(lower({s}title), '\braises\b')",
    "q=robotics": r"regexp_matches(lower({s}title), '\brobotics\b')",
    'q="series a"': r"regexp_matches(lower({s}title), '\bseries a\b')",
    "q=raises -series": r"regexp_matches(lower({s}title), '\braises\b') AND NOT regexp_matches(lower({s}title), '\bseries\b')",
    "country=germany": "lower({s}country) = 'germany'",
    "categories=funding&days=90":
        f"lower({{s}}category) = 'funding' AND {{s}}date BETWEEN DATE '{AS_OF}' - 90 AND DATE '{AS_OF}'",
    "fundingMin=5000000&size=1-49": "{s}funding_amount >= 5000000 AND {s}size = '1-49'",
}

# Compared as sets of rows, or in order where the outermost statement says one.
STATEMENTS = """
SELECT * FROM signals
SELECT * FROM companies
SELECT id, date, funding_amount FROM signals ORDER BY id
SELECT category, funding_stage, funding_currency, hiring_type, job_function FROM signals ORDER BY id DESC
SELECT seniority, employment_type, work_arrangement, country, industry, size FROM signals ORDER BY id DESC LIMIT 500
SELECT slug, title, evidence, activity_url, author_name, author_title, author_url FROM signals ORDER BY id LIMIT 100 OFFSET 700
SELECT published_at, updated_at, query FROM signals ORDER BY id DESC LIMIT 40
SELECT count(*) FROM signals
SELECT count(*), count(date), count(funding_amount), count(country), count(seniority), count(author_name) FROM signals
SELECT count(*), sum(signal_count), min(latest_signal_date), max(latest_signal_date), count(employees) FROM companies
SELECT category, count(*) FROM signals GROUP BY category
SELECT country, count(*) AS n FROM signals GROUP BY country ORDER BY n DESC, country NULLS LAST LIMIT 7
SELECT country, count(*) FROM signals WHERE query = 'q=raises' GROUP BY country
SELECT size, count(1) FROM signals WHERE country = 'Germany' GROUP BY size
SELECT id FROM signals WHERE country = 'Germany'
SELECT id FROM signals WHERE country = 'germany'
SELECT id FROM signals WHERE country IN ('Germany', 'germany')
SELECT id FROM signals WHERE country IN ('France', 'Spain', 'Italy', 'Poland', 'Nowhere') AND query = 'q=raises'
SELECT id FROM signals WHERE country NOT IN ('Germany', 'France')
SELECT id FROM signals WHERE country <> 'Germany' OR country IS NULL
SELECT id FROM signals WHERE country IS NULL AND category IS NOT NULL
SELECT id FROM signals WHERE country LIKE 'G%' OR country LIKE '%land'
SELECT id FROM signals WHERE country > 'M' AND industry < 'M'
SELECT id FROM signals WHERE category = 'FUNDING' OR category = 'hiring'
SELECT id FROM signals WHERE query = 'country=germany'
SELECT id, country FROM signals WHERE query = 'country=germany' AND country = 'germany'
SELECT id FROM signals WHERE query = 'q=raises -series'
SELECT id FROM signals WHERE query = 'categories=funding&days=90' ORDER BY id DESC LIMIT 9
SELECT id FROM signals WHERE query = 'fundingMin=5000000&size=1-49' AND funding_amount < 20000000
SELECT count(DISTINCT company_slug) FROM signals WHERE query = 'q=raises'
SELECT id FROM signals WHERE date IS NULL
SELECT id FROM signals WHERE date >= '2026-01-01' AND date < '2026-03-01' AND query = 'q=raises'
SELECT id FROM signals WHERE date BETWEEN DATE '2025-01-01' AND DATE '2025-03-31'
SELECT id FROM signals WHERE NOT date > DATE '2021-06-01'
SELECT id FROM signals WHERE funding_amount = 0
SELECT id FROM signals WHERE funding_amount > 1000000 AND funding_amount <= 10000000
SELECT id FROM signals WHERE funding_amount IS NULL AND funding_stage IS NOT NULL
SELECT id, title FROM signals WHERE id IN (1000000175, 1000001229, 17)
SELECT id FROM signals WHERE id > 5000000000 AND id <= 900000000000 ORDER BY id LIMIT 25
SELECT title FROM signals WHERE title ILIKE '%series%' ORDER BY title DESC, id LIMIT 30
SELECT lower(category), length(evidence), upper(author_name) FROM signals WHERE author_name IS NOT NULL
SELECT coalesce(country, 'none') AS land, count(*) FROM signals GROUP BY land
SELECT CASE WHEN funding_amount IS NULL THEN 'none' WHEN funding_amount < 1e6 THEN 'small' ELSE 'large' END AS kind, count(*) FROM signals GROUP BY kind
SELECT date_trunc('month', date) AS month, country, count(*), sum(funding_amount) FROM signals WHERE query = 'q="series a"' GROUP BY month, country
SELECT extract(year FROM published_at) AS year, count(*), max(updated_at) FROM signals GROUP BY year
SELECT industry, avg(funding_amount), min(funding_amount), max(funding_amount), median(funding_amount) FROM signals GROUP BY industry
SELECT funding_stage, funding_currency, sum(funding_amount) AS total FROM signals GROUP BY funding_stage, funding_currency HAVING count(funding_amount) > 3
SELECT company_name, sum(funding_amount) AS total FROM signals WHERE funding_currency = 'EUR' GROUP BY company_name HAVING sum(funding_amount) > 0 ORDER BY total DESC, company_name LIMIT 10
SELECT DISTINCT job_function, seniority FROM signals WHERE category = 'hiring'
SELECT name, city, employees, founded_year FROM companies WHERE founded_year >= 2015 AND city IS NOT NULL ORDER BY employees DESC NULLS LAST, slug LIMIT 20
SELECT slug, about, tagline, logo_url, linkedin_url, updated_at FROM companies WHERE size = '1-49'
SELECT slug FROM companies WHERE signal_count = 0 OR country IS NULL
SELECT c.city, count(*) FROM signals s JOIN companies c ON c.slug = s.company_slug WHERE s.query = 'q=robotics' GROUP BY c.city
SELECT c.slug, count(s.id) FROM companies c LEFT JOIN signals s ON s.company_slug = c.slug AND s.category = 'funding' GROUP BY c.slug
SELECT a.id, b.id FROM signals a JOIN signals b ON a.company_slug = b.company_slug WHERE a.query = 'q=raises' AND b.query = 'q=robotics' AND a.id < b.id
SELECT count(*) FROM companies c WHERE EXISTS (SELECT 1 FROM signals s WHERE s.company_slug = c.slug AND s.query = 'q=raises')
SELECT slug FROM companies WHERE signal_count > (SELECT avg(signal_count) FROM companies)
SELECT id FROM signals WHERE query = 'q=raises' UNION ALL SELECT id FROM signals WHERE query = 'q=robotics'
SELECT id FROM signals WHERE query = 'q=raises' EXCEPT SELECT id FROM signals WHERE country = 'Germany'
WITH f AS (SELECT * FROM signals WHERE query = 'q=raises') SELECT country, max(date), min(date) FROM f GROUP BY country
SELECT id, row_number() OVER (PARTITION BY country ORDER BY id) FROM signals WHERE query = 'q=raises'
SELECT id, rank() OVER (ORDER BY funding_amount DESC NULLS LAST), lag(id) OVER (ORDER BY id) FROM signals WHERE funding_stage IS NOT NULL
SELECT id, sum(funding_amount) OVER (PARTITION BY company_slug ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM signals
SELECT size, date, title FROM (SELECT size, date, title, row_number() OVER (PARTITION BY size ORDER BY date DESC NULLS LAST, id DESC) AS n FROM signals) WHERE n <= 3
""".strip().splitlines()

TABLES = """
CREATE TABLE companies AS SELECT
    c.slug, name, about, tagline, logoUrl AS logo_url, country, city, industry,
    CASE WHEN employees < 1 THEN NULL WHEN employees < 50 THEN '1-49' WHEN employees <= 100 THEN '50-100'
         WHEN employees <= 500 THEN '101-500' WHEN employees > 500 THEN '501+' END AS size,
    linkedinUrl AS linkedin_url, employees, foundedYear AS founded_year, coalesce(n, 0) AS signal_count,
    latest AS latest_signal_date, updatedAt AS updated_at
FROM read_json('{folder}/companies.jsonl', format = 'newline_delimited', columns = {{slug: 'VARCHAR', name: 'VARCHAR',
    about: 'VARCHAR', tagline: 'VARCHAR', logoUrl: 'VARCHAR', country: 'VARCHAR', city: 'VARCHAR', industry: 'VARCHAR',
    employees: 'BIGINT', foundedYear: 'BIGINT', linkedinUrl: 'VARCHAR', updatedAt: 'TIMESTAMP'}}) c
LEFT JOIN (SELECT companySlug, count(*) AS n, max(date) AS latest FROM records GROUP BY companySlug) s ON companySlug = c.slug;
CREATE TABLE signals AS SELECT
    id, date, funding.amount AS funding_amount, category, funding.stage AS funding_stage,
    funding.currency AS funding_currency, hiring.hiringType AS hiring_type, hiring.jobFunction AS job_function,
    hiring.seniority AS seniority, hiring.employmentType AS employment_type, hiring.workArrangement AS work_arrangement,
    c.country, c.industry, c.size, companySlug AS company_slug, c.name AS company_name, r.slug, title, evidence,
    activityUrl AS activity_url, authorName AS author_name, authorTitle AS author_title, authorUrl AS author_url,
    publishedAt AS published_at, updatedAt AS updated_at, NULL::VARCHAR AS query
FROM records r JOIN companies c ON c.slug = companySlug;
"""
RECORDS = """
CREATE TABLE records AS FROM read_json('{folder}/signals.jsonl', format = 'newline_delimited', columns = {{id: 'UBIGINT',
    slug: 'VARCHAR', title: 'VARCHAR', evidence: 'VARCHAR', category: 'VARCHAR', date: 'DATE', publishedAt: 'TIMESTAMP',
    updatedAt: 'TIMESTAMP', companySlug: 'VARCHAR', activityUrl: 'VARCHAR', authorName: 'VARCHAR', authorTitle: 'VARCHAR',
    authorUrl: 'VARCHAR', funding: 'STRUCT(stage VARCHAR, amount DOUBLE, currency VARCHAR)',
    hiring: 'STRUCT(hiringType VARCHAR, jobFunction VARCHAR, seniority VARCHAR, employmentType VARCHAR,
    workArrangement VARCHAR)'}});
"""


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(path, records):
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def change(corpus, folder):
    """Writes the files of three updates to a corpus, and the records after them. Returns the options of each update."""
    companies = {record["slug"]: record for record in read(corpus / "companies.jsonl")}
    signals = {record["id"]: record for record in read(corpus / "signals.jsonl")}
    slugs, ids = list(companies), list(signals)
    spelled = []
    for slug in slugs[::37]:
        record = companies[slug]
        companies[slug] = {**record, "country": record["country"] and record["country"].lower(), "name": "Same Name"}
        spelled.append(companies[slug])
    write(folder / "spelled.jsonl", spelled)
    changed = []
    for number, key in enumerate(ids[::53]):
        record = dict(signals[key])
        if number % 2 == 0:
            record["date"] = None
        if record["funding"]:
            record["funding"] = {**record["funding"], "amount": [None, 0, 12500000.5][number % 3]}
        record["category"] = record["category"] and record["category"].upper()
        signals[key] = record
        changed.append(record)
    write(folder / "changed.jsonl", changed)
    gone = slugs[3]
    (folder / "companies.txt").write_text(gone + "\n", encoding="utf-8")
    deleted = [key for key in ids[::61] if signals[key]["companySlug"] != gone]
    (folder / "signals.txt").write_text("".join(f"{key}\n" for key in deleted), encoding="utf-8")
    del companies[gone]
    kept = set(ids) - set(deleted)
    write(folder / "after" / "companies.jsonl", companies.values())
    kept = [signals[key] for key in ids if key in kept and signals[key]["companySlug"] != gone]
    write(folder / "after" / "signals.jsonl", kept)
    return [
        ["--companies", folder / "spelled.jsonl"],
        ["--signals", folder / "changed.jsonl"],
        ["--delete-signals", folder / "signals.txt", "--delete-companies", folder / "companies.txt", "--with-signals"],
    ]


def theirs(statement):
    """The statement as DuckDB understands it: what a search means instead of the search."""
    def meaning(match):
        return "(" + SEARCHES[match[2]].format(s=match[1] or "") + ")"
    return re.sub(r"(\w+\.)?query = '([^']*)'", meaning, statement)


def plain(value):
    """A value of either side as one that both have."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value


def is_equal(one, other):
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9)
    return one == other


def differences(ours, expected):
    """What differs between two lists of rows."""
    if len(ours) != len(expected):
        missing = collections.Counter(map(str, expected)) - collections.Counter(map(str, ours))
        return f"{len(ours)} rows, expected {len(expected)}, such as {list(missing)[:2]}"
    for number, (row, wanted) in enumerate(zip(ours, expected)):
        if len(row) != len(wanted) or not all(map(is_equal, row, wanted)):
            return f"row {number}: {row}, expected {wanted}"
    return None


def told(statement, rows, expected):
    """What differs between the rows of a statement and those of DuckDB."""
    # An order within OVER (…) or a subquery is none of the result.
    if "ORDER BY" not in re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", statement):
        rows.sort(key=str)
        expected.sort(key=str)
    return differences(rows, expected)


def oracle(records):
    """A database of DuckDB with the records of a folder."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(RECORDS.format(folder=records))
    database.execute(TABLES.format(folder=records))
    return database


def compare(program, asked, other, folder):
    """Compares all statements over an index or shards. Returns how many differ and how many found no row."""
    wrong, empty = 0, 0
    for statement in STATEMENTS:
        out = folder / "result.parquet"
        out.unlink(missing_ok=True)
        command = [program, "sql", *asked, statement, "--as-of", AS_OF, "--format", "parquet", "--out", out]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{statement}: {run.stderr.strip()}")
            wrong += 1
            continue
        rows = other.sql(f"FROM '{out}'").fetchall()
        expected = other.sql(theirs(statement)).fetchall()
        rows, expected = ([tuple(map(plain, row)) for row in side] for side in (rows, expected))
        empty += not expected
        found = told(statement, rows, expected)
        if found:
            print(f"{statement}: {found}")
            wrong += 1
    return wrong, empty


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "debug" / "signaldex").resolve()
    signals = sys.argv[2] if len(sys.argv) > 2 else "20000"

    def signaldex(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus = folder / "corpus"
        signaldex("generate", "--signals", signals, "--seed", "7", "--out", corpus)
        files = ["--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl"]
        signaldex("build", *files, "--out", folder / "fresh")
        signaldex("build", *files, "--out", folder / "changed")
        signaldex("shard", *files, "--shards", "5", "--out", folder / "shards")
        for update in change(corpus, folder):
            signaldex("update", folder / "changed", *update)
            signaldex("update", "--shards", folder / "shards", *update)
        changed = json.loads(signaldex("stats", folder / "changed"))
        if changed["segments"] < 2 or changed["deletedRows"] == 0:
            sys.exit(f"an index with deletions and several segments is needed: {changed}")
        total = 0
        for name, asked, records in [
            ("fresh", [folder / "fresh"], corpus),
            ("changed", [folder / "changed"], folder / "after"),
            ("shards", ["--shards", folder / "shards"], folder / "after"),
        ]:
            wrong, empty = compare(program, asked, oracle(records), folder)
            print(f"{name}: {len(STATEMENTS)} statements, {empty} without rows, {wrong} differ from DuckDB {duckdb.__version__}")
            total += wrong
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    try:
        import duckdb
        import pytz  # noqa: F401  DuckDB needs it for points in time.
    except ImportError:
        with_packages("duckdb", DUCKDB)
    main()
