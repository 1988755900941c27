#!/usr/bin/env python3
"""Writes the sample corpus, companies.jsonl and signals.jsonl, next to this file.

Deterministic: the same lists give the same bytes. Standard library only.
"""

import json
import random
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from unicodedata import normalize

from lists import (AWKWARD_COMPANIES, COUNTRIES, COUNTRY_WORDS, CURRENCY_FACTORS, FIRST_NAMES, HEADS,
                   INDUSTRIES, JOBS, LEVELS, OTHER_FUNDING, ROUNDS, STEMS, SURNAMES)
from stories import ABOUTS, AWARDS, FAIRS, LOCAL_TITLES, REMARKS, STORIES, TAGLINES

COMPANIES = 300
SIGNALS = 2000
# Companies at the end of the list that have no signal.
SILENT_COMPANIES = 12
AS_OF = date(2026, 6, 30)
FIRST_DAY = date(2024, 1, 1)
# Ids that no signed 64-bit number holds, for the newest signals.
HUGE_IDS = [9_300_000_000_000_000_017, 9_999_999_999_999_999_999]

LEGAL_FORMS = {
    "Germany": [" GmbH", " AG", ""], "Austria": [" GmbH"], "Switzerland": [" AG"],
    "United States": [", Inc.", ""], "United Kingdom": [" Ltd", ""], "France": [" SAS", ""],
    "Netherlands": [" B.V.", ""], "Sweden": [" AB"], "Finland": [" Oy"], "Denmark": [" ApS"],
    "Japan": [" K.K."], "Poland": [" Sp. z o.o."], "Italy": [" S.p.A."], "Canada": [" Inc.", ""],
}
SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}
HIRING_TYPES = [(50, "new-role"), (20, "team-growth"), (15, "replacement"), (8, "hiring-spree")]
EMPLOYMENT_TYPES = [(75, "full-time"), (10, "part-time"), (10, "contract"), (5, "temporary")]
ARRANGEMENTS = [(35, "on-site"), (35, "hybrid"), (30, "remote")]
# Where in the list of rounds a company stands at the beginning.
FIRST_ROUNDS = [(35, 0), (40, 1), (25, 2)]
SIZES = [(12, None), (40, (2, 49)), (16, (50, 100)), (18, (101, 500)), (14, (501, 9000))]

# Only `random()` is drawn from: the other methods may change from one Python to the next.
chance = random.Random(20260630).random


def below(bound):
    """A whole number from 0 to bound - 1."""
    return int(chance() * bound)


def pick(items):
    return items[below(len(items))]


def weighted(rows):
    """The rest of a row whose first column says how often it comes."""
    left = chance() * sum(row[0] for row in rows)
    for row in rows:
        left -= row[0]
        if left < 0:
            break
    return row[1] if len(row) == 2 else row[1:]


def maybe(percent, value):
    return value if chance() * 100 < percent else None


def person():
    return f"{pick(FIRST_NAMES)} {pick(SURNAMES)}"


def upper_first(text):
    return text[0].upper() + text[1:]


def possessive(name):
    return name + ("'" if name.endswith("s") else "'s")


def ascii_slug(text):
    plain = normalize("NFKD", text.replace("ø", "o").replace("ß", "ss").replace("'", ""))
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in plain
                    if ord(c) not in range(0x300, 0x370)).lower().split()
    return "-".join(words)


def companies():
    """Every company, with what its stories need in fields that are not written."""
    made = [company(name, slug, country, industry)
            for name, slug, country, industry in AWKWARD_COMPANIES]
    names = {c["short"] for c in made}
    round_of_stems = 0
    while len(made) < COMPANIES:
        stem = STEMS[round_of_stems % len(STEMS)]
        country = weighted([(often, name) for name, (often, _, _) in COUNTRIES.items()])
        industry = pick(list(INDUSTRIES))
        trade = pick(INDUSTRIES[industry][0])
        short = stem if round_of_stems % 9 == 4 and stem not in names else f"{stem} {trade}"
        if short in names:
            continue
        names.add(short)
        round_of_stems += 1
        legal_form = pick(LEGAL_FORMS.get(country, [""]))
        made.append(company(short + legal_form, ascii_slug(short), country, industry, short))
    return made


def company(name, slug, country, industry, short=None):
    _, currency, cities = COUNTRIES[country]
    _, products, aims, topics = INDUSTRIES[industry]
    size = weighted(SIZES)
    employees = size and size[0] + below(size[1] - size[0] + 1)
    return {
        "slug": slug, "name": name, "short": short or name, "country": country,
        "city": pick(cities), "industry": industry, "currency": currency, "products": products,
        "aims": aims, "topics": topics, "employees": employees, "ceo": person(),
        "round": weighted(FIRST_ROUNDS), "founded": 2025 - int(chance() ** 3 * 60),
    }


def company_record(c):
    facts = slots(c, c)
    updated = datetime(2026, 6, 29, 6) - timedelta(minutes=below(500_000))
    return without_absent({
        "slug": c["slug"],
        "name": c["name"],
        "about": maybe(92, pick(ABOUTS).format(**facts)),
        "tagline": maybe(80, pick(TAGLINES).format(**facts)),
        "logoUrl": maybe(85, f"https://logos.example/{c['slug']}.svg"),
        "country": maybe(97, c["country"]),
        "city": maybe(93, c["city"]),
        "employees": c["employees"],
        "industry": maybe(97, c["industry"]),
        "foundedYear": maybe(90, c["founded"]),
        "linkedinUrl": maybe(80, f"https://linkedin.example/company/{c['slug']}"),
        "updatedAt": maybe(97, instant(updated)),
    })


def slots(c, partner):
    """What the slots of sentences are filled with; one draw for a whole story."""
    product, topic = pick(c["products"]), pick(c["topics"])
    elsewhere = pick([name for name in COUNTRIES if name != c["country"]])
    return {
        "company": c["short"], "partner": partner["short"], "city": c["city"],
        "country": COUNTRY_WORDS.get(c["country"], c["country"]),
        "elsewhere": COUNTRY_WORDS.get(elsewhere, elsewhere),
        "elsewhere_city": pick(COUNTRIES[elsewhere][2]), "product": product,
        "product_start": upper_first(product), "aim": pick(c["aims"]), "topic": topic,
        "topic_start": upper_first(topic), "ceo": c["ceo"], "person": person(),
        "count": 20 + below(30) ** 2, "version": f"{1 + below(6)}.{below(10)}",
        "percent": 20 + below(60), "few": 3 + below(18), "investor": f"{pick(STEMS)} Ventures",
        "company_s": possessive(c["short"]), "partner_s": possessive(partner["short"]),
        "partner_city": partner["city"], "award": pick(AWARDS), "fair": pick(FAIRS), "head": pick(list(HEADS.values())),
    }


def funding(c):
    """The details of a round, and the words for its amount and stage."""
    if c["round"] < len(ROUNDS) and chance() < 0.88:
        stage, low, high = ROUNDS[c["round"]]
        c["round"] += 1
    else:
        stage, low, high = weighted(OTHER_FUNDING)
    currency = c["currency"] if chance() < 0.9 else "USD"
    factor = 1e6 * CURRENCY_FACTORS.get(currency, 1)
    amount = round_amount(low * (high / low) ** chance() * factor)
    known_amount, known_stage = maybe(93, amount), maybe(95, stage)
    details = without_absent({
        "stage": known_stage, "amount": known_amount,
        "currency": maybe(97, currency) if known_amount else maybe(50, currency)})
    return details, amount_words(known_amount, currency), known_stage or "funding"


def round_amount(amount):
    """Two significant digits, as announcements have them."""
    step = 10 ** (len(str(int(amount))) - 2)
    return int(amount / step) * step


def amount_words(amount, currency):
    if amount is None:
        return "undisclosed"
    symbol = SYMBOLS.get(currency, currency + " ")
    scale, unit = next(row for row in [(1e9, "B"), (1e6, "M"), (1e3, "K")] if amount >= row[0])
    return f"{symbol}{amount / scale:g}{unit}"


def hiring():
    """The attributes of an opening, and the words for its role and arrangement."""
    function, jobs = JOBS[int(chance() ** 1.5 * len(JOBS))]
    seniority, pattern = weighted(LEVELS)
    role = pattern.format(job=pick(jobs), head=HEADS[function])
    employment = "internship" if seniority == "intern" else weighted(EMPLOYMENT_TYPES)
    kind = "leadership-search" if role.startswith(("Head", "VP")) else weighted(HIRING_TYPES)
    arrangement = weighted(ARRANGEMENTS)
    details = without_absent({
        "hiringType": maybe(85, kind), "jobFunction": maybe(96, function),
        "seniority": maybe(92, seniority), "employmentType": maybe(90, employment),
        "workArrangement": maybe(85, arrangement)})
    return details, role, arrangement


def story(c, partner):
    """A category, a title, evidence, and the details the category has."""
    category = weighted([(often, name) for name, (often, _, _) in STORIES.items()])
    _, titles, evidence = STORIES[category]
    title = pick(titles)
    local = LOCAL_TITLES.get(c["country"], [])
    if local and chance() < 0.12:
        category, title = pick(local)
        _, _, evidence = STORIES[category]
    facts, details = slots(c, partner), {}
    if category == "funding":
        details["funding"], facts["amount"], facts["stage"] = funding(c)
    if category == "hiring":
        details["hiring"], facts["role"], facts["arrangement"] = hiring()
        article = "an" if facts["role"].startswith(("A", "E", "I", "O", "R&D")) else "a"
        facts["a_role"] = f"{article} {facts['role']}"
    title = upper_first(title.format(**facts))
    if facts.get("amount") == "undisclosed":
        facts["amount"] = "an undisclosed amount"
    text = upper_first(pick(evidence).format(**facts))
    if chance() < 0.65:
        text += " " + upper_first(pick(REMARKS).format(**slots(c, partner)))
    return category, title, text, details


def signals(made):
    """Every signal, in ascending order of ids, which grow with the time of publishing."""
    speaking = made[:-SILENT_COMPANIES]
    shares = [(1 / (rank + 40), c) for rank, c in enumerate(shuffled(speaking))]
    seen = set()
    days = (AS_OF - FIRST_DAY).days
    moments = sorted(datetime(2024, 1, 1) + timedelta(seconds=int(86400 * days * chance() ** 0.5))
                     for _ in range(SIGNALS - len(HUGE_IDS)))
    moments += [datetime(2026, 6, 30, 5, 10), datetime(2026, 6, 30, 5, 40)]
    ids = [unique_id(moment) for moment in moments[:-len(HUGE_IDS)]] + HUGE_IDS
    for number, published in zip(ids, moments):
        c = weighted(shares)
        others = [other for other in made if other is not c]
        told = story(c, pick(others))
        while (c["slug"], told[1]) in seen:
            told = story(c, pick(others))
        seen.add((c["slug"], told[1]))
        yield signal_record(number, published, c, *told)


def unique_id(moment):
    """Milliseconds since 1970 in the upper bits, chance in the lower ones."""
    milliseconds = int((moment - datetime(1970, 1, 1)).total_seconds() * 1000)
    return (milliseconds << 22) + below(1 << 22)


def shuffled(items):
    return [item for _, item in sorted(((chance(), n), item) for n, item in enumerate(items))]


def signal_record(number, published, c, category, title, evidence, details):
    delay = below(4) if chance() < 0.93 else below(120)
    if published.date() == AS_OF:
        delay = 0
    day = max(published.date() - timedelta(days=delay), FIRST_DAY)
    last = datetime(2026, 6, 30, 6)
    updated = min(published + timedelta(minutes=below(60_000)), last)
    by_ceo = chance() < 0.4
    author = maybe(70, c["ceo"] if by_ceo else person())
    slug = f"{ascii_slug(title)[:60].strip('-')}-{number % 100_000}".lstrip("-")
    place = {"hiring": "jobs", "funding": "press"}.get(category, "news")
    position = "Founder & CEO" if by_ceo else pick(["Reporter", "Investor", "Head of People",
                                                     "Talent Partner", "Editor, Markets"])
    return without_absent({
        "id": str(number),
        "slug": slug,
        "title": title,
        "evidence": maybe(96, evidence),
        "category": maybe(98.5, category),
        "date": maybe(98, day.isoformat()),
        "publishedAt": maybe(99, instant(published)),
        "updatedAt": maybe(75, instant(updated)),
        "companySlug": c["slug"],
        "activityUrl": maybe(85, f"https://{place}.example/{day.year}/{slug}"),
        "authorName": author,
        "authorTitle": author and maybe(90, position),
        "authorUrl": author and maybe(65, f"https://people.example/{ascii_slug(author)}"),
        **details,
    })


def instant(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def without_absent(record):
    return {field: value for field, value in record.items() if value is not None}


def write(name, records):
    path = Path(__file__).with_name(name)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main():
    made = companies()
    repeated = [slug for slug, count in Counter(c["slug"] for c in made).items() if count > 1]
    if repeated:
        raise SystemExit(f"two companies with one slug: {repeated}")
    records = list(signals(made))
    write("companies.jsonl", [company_record(c) for c in made])
    write("signals.jsonl", records)


if __name__ == "__main__":
    main()
