"""Logs the plan of what is slow."""

import logging
from datetime import date, timedelta
from time import perf_counter

from signaldex import Page, Query, Snapshot, sample

#: From here on a search is slow. Real services take some milliseconds; here every search is.
SLOW = timedelta(0)

log = logging.getLogger("search")


def main() -> None:
    logging.basicConfig()
    snapshot = sample.index().snapshot()
    for text in ['q="series a"&country=germany', 'any=robotics "head of"&days=30', "country=Germny"]:
        page = search(snapshot, Query.parse(text), sample.AS_OF)
        print(f"{text}: {len(page)} signals")


def search(snapshot: Snapshot, query: Query, today: date) -> Page:
    """As ``Snapshot.search``; what is slow is searched again and logged with its plan."""
    started = perf_counter()
    page = snapshot.search(query, today)
    took = timedelta(seconds=perf_counter() - started)
    if took >= SLOW:
        # Several times the cost of the search itself: only for what is slow anyway.
        plan = snapshot.explain(query, today)
        log.warning("slow search: %s took %s\n%s", query.filter, took, plan)
        for hint in plan.hints:
            log.warning(hint)
    return page


if __name__ == "__main__":
    main()
