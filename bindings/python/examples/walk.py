"""Walks through every match: lazily, and page by page as the client of an API does."""

from signaldex import Query, sample


def main() -> None:
    index = sample.index()
    snapshot = index.snapshot()

    # An export: an iterator that holds some hundred signals, whatever matches.
    exported = 0
    for item in snapshot.matches("q=raises", sample.AS_OF, "oldest"):
        print(item.signal.id, item.signal.title, sep="\t")
        exported += 1
    assert exported == snapshot.count("q=raises", sample.AS_OF)

    # Pages: each request has the cursor of the page before and is answered from the newest snapshot.
    # A signal that matches throughout is seen once, whatever is committed in between.
    cursor, seen = None, 0
    while True:
        page = index.search(Query(keywords="raises", cursor=cursor), sample.AS_OF)
        seen += len(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == exported
    print(f"{seen} signals, twice")


if __name__ == "__main__":
    main()
