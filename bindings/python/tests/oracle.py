"""The meaning of a query in slow Python, written from the parameters' descriptions alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from signaldex import Company, Signal


def fold(text: str) -> str:
    """Case, marks of Latin letters and forms of apostrophes make no difference: enough for these tests' texts."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
    return "".join(letter for letter in text if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


def terms_of(quoted: str, word: str) -> list[str]:
    return [fold(word)] if word.endswith("*") else words(quoted or word)


def phrases(text: str) -> list[tuple[bool, list[str]]]:
    """The words and quoted phrases of a text, and whether each stands after a minus."""
    pieces = re.findall(r'(-?)(?:"([^"]*)"|(\S+))', text)
    return [(minus == "-", terms_of(quoted, word)) for minus, quoted, word in pieces]


def occurs(phrase: list[str], text: list[str]) -> bool:
    """Whether a phrase occurs, or a word that begins as a prefix word, whose only term ends with a star."""
    if phrase[-1:] and phrase[-1].endswith("*"):
        return any(word.startswith(phrase[-1][:-1]) for word in text)
    return any(text[start : start + len(phrase)] == phrase for start in range(len(text)))


def size_of(company: Company) -> str | None:
    employees = company.employees or 0
    for most, name in [(0, None), (49, "1-49"), (100, "50-100"), (500, "101-500")]:
        if employees <= most:
            return name
    return "501+"


@dataclass
class Row:
    signal: Signal
    company: Company

    def facet(self, name: str) -> tuple[str, str] | None:
        """The key and the label of a facet's value."""
        label, key = self._label(name)
        if label is None or not label.strip():
            return None
        return key(label), label

    def _label(self, name: str) -> tuple[str | None, Callable[[str], str]]:
        if name in ("country", "industry"):
            return getattr(self.company, name), fold
        if name == "size":
            return size_of(self.company), str
        if name == "category":
            return self.signal.category, str.lower
        if name in ("funding_stage", "funding_currency"):
            funding = self.signal.funding
            value = getattr(funding, name.removeprefix("funding_")) if funding else None
            return value, fold if name == "funding_stage" else str
        hiring = self.signal.hiring
        return (getattr(hiring, name) if hiring else None), str.lower


FACET_OF = {
    "country": "country",
    "industry": "industry",
    "size": "size",
    "funding_stage": "funding_stage",
    "funding_currency": "funding_currency",
    "categories": "category",
    "hiring_types": "hiring_type",
    "job_functions": "job_function",
    "seniorities": "seniority",
    "employment_types": "employment_type",
    "work_arrangements": "work_arrangement",
}


def matches(parameters: dict[str, Any], row: Row, today: date) -> bool:
    return all(holds(name, value, row, today) for name, value in parameters.items())


def holds(name: str, value: Any, row: Row, today: date) -> bool:
    signal, company = row.signal, row.company
    title = words(signal.title)
    if name == "keywords":
        return all(occurs(phrase, title) != excluded for excluded, phrase in phrases(value))
    if name == "all":
        return all(occurs(phrase, title) for _, phrase in phrases(value))
    if name == "any":
        return any(occurs(phrase, title) for _, phrase in phrases(value))
    if name == "exclude":
        return not any(occurs(phrase, title) for _, phrase in phrases(value))
    if name == "exact":
        return occurs(words(value), title)
    if name == "company":
        return all(word in words(company.name) for word in words(value))
    if name == "company_slug":
        return bool(company.slug == value)
    if name == "companies":
        return any(company.slug == one or fold(company.name) == fold(one) for one in value)
    if name in FACET_OF:
        wanted = [value] if isinstance(value, str) else value
        facet = row.facet(FACET_OF[name])
        key = fold if name in ("country", "industry", "funding_stage") else str
        if name.endswith(("ies", "types", "functions", "arrangements")):
            key = str.lower
        return facet is not None and facet[0] in [key(one) for one in wanted]
    if name in ("ids", "activity_ids"):
        return signal.id in value
    if name in ("funding_min", "funding_max"):
        amount = signal.funding.amount if signal.funding else None
        if amount is None:
            return False
        return bool(amount >= value) if name == "funding_min" else bool(amount <= value)
    return in_dates(name, value, signal.date, today)


def in_dates(name: str, value: Any, day: date | None, today: date) -> bool:
    if day is None:
        return False
    if name == "date_from":
        return bool(day >= value)
    if name == "date_to":
        return bool(day <= value)
    age = (today - day).days
    ranges = [value] if name == "days" else value
    return any(age >= 90 if one == "older" else 0 <= age < int(one) for one in ranges)


def facet_counts(
    parameters: dict[str, Any], facet: str, rows: list[Row], today: date
) -> list[tuple[str, int]]:
    """The values of a facet, without its own filter: the most frequent first, then by label."""
    lifted = {name: value for name, value in parameters.items() if FACET_OF.get(name) != facet}
    counts: Counter[str] = Counter()
    labels: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if (found := row.facet(facet)) and matches(lifted, row, today):
            counts[found[0]] += 1
            labels[found[0]].add(found[1])
    values = [(min(labels[key], key=str.encode), count) for key, count in counts.items()]
    return sorted(values, key=lambda value: (-value[1], value[0].encode()))
