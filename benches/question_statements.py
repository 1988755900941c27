"""The questions of benches/questions.py: what each engine is asked, and how answers become rows that compare."""
from typing import NamedTuple


class Question(NamedTuple):
    """A task of `benches/questions`."""
    task: str
    # The command of PROGRAM, and its query.
    command: str
    query: str
    # Statements of each peer, of which the fastest counts; {rows} is how many rows the groups have that ours shows.
    duckdb: list
    sqlite: list
    # Makes rows of the answer of PROGRAM, as peers give them.
    read: object
    # How many times as fast as each peer ours has to be.
    goals: dict = {}


# What makes a search, and what orders by value, find rows without reading the table.
SQLITE_INDEXES = [
    "by_date ON signals (date)",
    "by_amount ON signals (funding_currency, funding_amount)",
    "by_month ON signals (month, country, funding_currency, funding_amount)",
    "by_category ON signals (category, date, company_slug)",
    "by_stage ON signals (funding_stage, company_slug, date)",
    "by_company ON signals (company_slug, category, date)",
    "by_company_stage ON signals (company_slug, funding_stage, date)",
]

SUMS = "funding_currency AS currency, count(*), count(funding_amount), sum(funding_amount)"
MONTH = "date_trunc('month', date) AS month"
BY_MONTH = "ORDER BY month NULLS LAST, currency NULLS LAST LIMIT {rows}"
BY_MONTH_AND_COUNTRY = "ORDER BY month NULLS LAST, country NULLS LAST, currency NULLS LAST LIMIT {rows}"


def having(words):
    """DuckDB's condition for words next to each other."""
    return f"contains(words, ' {words} ')"


def found(words):
    """SQLite's tables and condition for the same: signals looked up as FTS5 finds them."""
    return f"FROM titles CROSS JOIN signals ON signals.number = titles.rowid WHERE titles MATCH '\"{words}\"'"


def groups(answer):
    """Of each group its keys, its signals, and for each currency the amounts and their sum."""
    return [[*group["key"].values(), group["count"],
             [[amount["currency"], amount["count"], amount["sum"]] for amount in group["amounts"]]]
            for group in answer["groups"]]


def folded(rows):
    """The same of rows by keys and currency, in order; a currency without amounts only counts signals."""
    made = []
    for *keys, currency, signals, amounts, total in rows:
        if not made or made[-1][:-2] != keys:
            made.append([*keys, 0, []])
        made[-1][-2] += signals
        if amounts:
            made[-1][-1].append([currency, amounts, total])
    return made


def companies_by_matches(answer):
    return [[group["key"]["company"]["slug"], group["count"]] for group in answer["groups"]]


def number_of_companies(answer):
    return [[answer["totals"]["count"], answer["totals"]["companies"]]]


def ids(answer):
    return [[int(item["id"]) for item in answer["items"]]]


def companies(answer):
    names = ["slug", "name", "about", "tagline", "logoUrl", "country", "city", "industry", "linkedinUrl", "employees",
             "foundedYear", "signalCount", "latestSignalDate"]
    matches = [[value for match in item["matches"] for value in (match["count"], match["latestDate"])]
               for item in answer["items"]]
    return [[*(item[name] for name in names), *of_item] for item, of_item in zip(answer["items"], matches)]


def sums(words, goals):
    """Sums by month and country, of a search or of everything."""
    where, tables = (f"WHERE {having(words)}", found(words)) if words else ("", "FROM signals")
    name = f' of "{words}"' if words else ""
    query = f'q="{words}"&' if words else ""
    return Question(
        f"sums by month and country{name}", "aggregate", f"{query}by=month,countries&measures=sum",
        [f"SELECT {MONTH}, country, {SUMS} FROM signals {where} GROUP BY ALL {BY_MONTH_AND_COUNTRY}"],
        [f"SELECT month, country, {SUMS} {tables} GROUP BY month, country, currency {BY_MONTH_AND_COUNTRY}"],
        groups, goals)


def ten_companies(name, word):
    return Question(
        f"ten companies of {name}", "aggregate", f"q={word}&by=company&limit=10",
        [f"SELECT company_slug, count(*) AS n FROM signals WHERE {having(word)} GROUP BY company_slug "
         "ORDER BY n DESC, company_slug LIMIT 10"],
        [f"SELECT company_slug, count(*) AS n {found(word)} GROUP BY company_slug "
         "ORDER BY n DESC, company_slug LIMIT 10"],
        companies_by_matches)


def count_companies(name, word):
    return Question(
        f"number of companies of {name}", "aggregate", f"q={word}&measures=companies",
        [f"SELECT count(*), count(DISTINCT company_slug) FROM signals WHERE {having(word)}"],
        [f"SELECT count(*), count(DISTINCT company_slug) {found(word)}"],
        number_of_companies)


def page(name, query, condition, value):
    """A page of 50 by a value: SQLite sorts all matches, or walks the index of values and probes FTS5."""
    order = f"ORDER BY {value} DESC NULLS LAST, id DESC LIMIT 50"
    return Question(
        f"page by {name} of a word", "search", query,
        [f"SELECT id FROM signals WHERE {having('in')} {condition} {order}"],
        [f"SELECT id {found('in')} {condition} ORDER BY {value} DESC, number DESC LIMIT 50",
         "SELECT id FROM signals CROSS JOIN titles ON titles.rowid = signals.number WHERE titles MATCH '\"in\"' "
         f"{condition} ORDER BY {value} DESC, number DESC LIMIT 50"],
        ids)


COMPANY = ("slug, name, about, tagline, logo_url, country, city, industry, linkedin_url, employees, founded_year, "
           "signal_count, latest_signal_date")
HIRING = "category = 'hiring' AND date BETWEEN '2026-04-02' AND '2026-06-30'"
ROUND = "funding_stage = 'Series A'"
TWO_SETS = f"""
    WITH hiring AS (SELECT company_slug AS slug, count(*) AS hires, max(date) AS hired FROM signals WHERE {HIRING}
                    GROUP BY company_slug HAVING count(*) >= 2),
         rounds AS (SELECT company_slug AS slug, count(*) AS rounds, max(date) AS raised FROM signals WHERE {ROUND}
                    GROUP BY company_slug)
    SELECT {COMPANY}, hires, hired, rounds, raised FROM companies JOIN hiring USING (slug) JOIN rounds USING (slug)
    ORDER BY slug LIMIT 50"""


def of_company(what, condition):
    return f"(SELECT {what} FROM signals WHERE company_slug = slug AND {condition})"


# A walk over companies by slug that ends when the page is full.
BY_COMPANY = f"""
    SELECT {COMPANY}, hires, {of_company("max(date)", HIRING)}, {of_company("count(*)", ROUND)},
           {of_company("max(date)", ROUND)}
    FROM (SELECT *, {of_company("count(*)", HIRING)} AS hires FROM companies
          WHERE EXISTS {of_company("1", ROUND)} ORDER BY slug)
    WHERE hires >= 2 ORDER BY slug LIMIT 50"""

QUESTIONS = [
    Question(
        "sums by month of a word", "aggregate", "q=in&by=month&measures=sum",
        [f"SELECT {MONTH}, {SUMS} FROM signals WHERE {having('in')} GROUP BY ALL {BY_MONTH}"],
        [f"SELECT month, {SUMS} {found('in')} GROUP BY month, currency {BY_MONTH}"],
        groups),
    sums("series a", {"duckdb": 200}),
    sums("", {"duckdb": 3}),
    ten_companies("a word", "in"),
    ten_companies('"raises"', "raises"),
    count_companies("a word", "in"),
    count_companies('"raises"', "raises"),
    Question(
        "companies, two conditions", "companies", "has=(categories=hiring;days=90;min=2),(fundingStage=series a)&limit=50",
        [TWO_SETS], [TWO_SETS, BY_COMPANY], companies, {"duckdb": 20, "sqlite": 20}),
    page("date", "q=in&order=-date", "", "date"),
    page("amount", "q=in&fundingCurrency=USD&order=-amount", "AND funding_currency = 'USD'", "funding_amount"),
]
