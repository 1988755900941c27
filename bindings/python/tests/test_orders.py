"""Orders by date and amount are those of a sort in Python."""

from collections.abc import Callable
from typing import Any

import pytest
from signaldex import Cursor, InvalidQuery, Query, sample

USD = "fundingCurrency=USD"

KEYS: dict[str, Callable[[Any], Any]] = {
    "newest": lambda signal: 0,
    "-date": lambda signal: -signal.date.toordinal() if signal.date else float("inf"),
    "date": lambda signal: signal.date.toordinal() if signal.date else float("inf"),
    "-amount": lambda signal: -amount(signal) if amount(signal) is not None else float("inf"),
    "amount": lambda signal: amount(signal) if amount(signal) is not None else float("inf"),
}


def amount(signal: Any) -> float | None:
    return signal.funding.amount if signal.funding else None


@pytest.mark.parametrize("order", KEYS)
@pytest.mark.parametrize("query", [USD, f"{USD}&q=raises"])
def test_matches_and_pages_come_in_the_order(order: str, query: str) -> None:
    snapshot = sample.index().snapshot()
    signals = [item.signal for item in snapshot.matches(query, sample.AS_OF)]
    expected = [signal.id for signal in sorted(signals, key=lambda signal: (KEYS[order](signal), -signal.id))]
    assert list(snapshot.matches(query, sample.AS_OF, order).ids()) == expected
    parsed = Query.parse(f"{query}&order={order}&limit=7")
    walked, cursor = [], None
    while True:
        page = snapshot.search(parsed.replace(cursor=cursor) if cursor else parsed, sample.AS_OF)
        walked += page.ids
        cursor = page.next_cursor
        if cursor is None:
            break
        rest = snapshot.matches(query, sample.AS_OF, order).after(Cursor.parse(cursor).last)
        assert list(rest.ids()) == expected[len(walked) :]
    assert walked == expected


def test_amounts_of_several_currencies_have_no_order() -> None:
    snapshot = sample.index().snapshot()
    with pytest.raises(InvalidQuery, match="fundingCurrency"):
        snapshot.matches("q=raises", sample.AS_OF, "-amount")
    with pytest.raises(ValueError, match="-amount, amount"):
        snapshot.matches("q=raises", sample.AS_OF, "amounts")
    with pytest.raises(TypeError, match="VALUE,ID"):
        snapshot.matches("q=raises", sample.AS_OF, "date").after(7)
