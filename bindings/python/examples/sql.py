"""SQL over a snapshot, by PyPI's `datafusion`."""

from datafusion import SessionContext

from signaldex import sample


def main() -> None:
    snapshot = sample.index().snapshot()
    context = SessionContext()
    context.register_table("signals", snapshot.signals_table(sample.AS_OF))
    context.register_table("companies", snapshot.companies_table())
    rounds = context.sql(
        "SELECT c.city, count(*) AS rounds, sum(s.funding_amount) AS total "
        "FROM signals s JOIN companies c ON c.slug = s.company_slug "
        "WHERE s.query = 'q=\"series a\"' AND s.funding_currency = 'EUR' "
        "GROUP BY c.city ORDER BY total DESC LIMIT 3"
    )
    print(rounds.to_pandas())


if __name__ == "__main__":
    main()
