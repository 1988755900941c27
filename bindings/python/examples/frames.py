"""Matches and pages as frames of pandas and polars, with columns of companies."""

from signaldex import sample


def main() -> None:
    snapshot = sample.index().snapshot()

    # All matches, in columns that you name.
    rounds = snapshot.matches("categories=funding", sample.AS_OF)
    frame = rounds.to_pandas(["date", "company_name", "company_country", "funding_amount", "title"])
    assert len(frame) == len(rounds)
    print(frame["company_country"].value_counts().head(3))

    # A page, the same way.
    page = snapshot.search("robotics", sample.AS_OF)
    print(page.to_polars(columns=["date", "company_industry", "title"]).head(3))


if __name__ == "__main__":
    main()
