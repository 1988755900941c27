"""Builds an index, asks it, reads records, and changes it."""

from datetime import date

from signaldex import Company, IndexBuilder, Query, Signal


def main() -> None:
    # Build. `IndexBuilder.in_directory` keeps the index on disk; nothing else changes.
    builder = IndexBuilder.in_memory()
    builder.add_company(Company("acme", "Acme GmbH", country="Germany"))
    builder.add_signal(Signal(1, "acme", "Acme raises €12M Series A", date=date(2026, 6, 12)))
    index = builder.finish()

    # Search. Optional inputs are handed on as they are: `None` is no filter.
    country, industry = "Germany", None
    query = Query(keywords='"series a"', country=country, industry=industry, limit=10)
    today = date(2026, 6, 30)
    before = index.snapshot()
    page = before.search(query, today)
    for item in page.records():
        print(f"{item.signal.title} by {item.company_name}")
    print(f"{before.count(query, today)} in all")

    # Change. A commit is visible to the next snapshot; those taken before stay as they are.
    with index.writer() as writer:
        writer.upsert_signal(Signal(2, "acme", "Acme extends its Series A"))
        writer.delete_signal(1)
        report = writer.commit()
    print(f"{report.signals_written} written")
    assert index.search(query, today).ids == [2]
    assert before.search(query, today).ids == [1]


if __name__ == "__main__":
    main()
