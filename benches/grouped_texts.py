#!/usr/bin/env python3
"""How long the engine takes to group a million rows by a dictionary of texts and by the same as views, one core.

usage: benches/grouped_texts.py

Installs PyPI's datafusion, of the version that statements run on, into target/grouped-texts. Prints medians of nine runs in
milliseconds. `crates/sql/src/grouped_texts.rs` groups by views where they are faster.
"""
import random
import statistics
import time

from environment import with_packages

ROWS, COMPANIES, INDUSTRIES, BATCH_ROWS, RUNS = 1_000_000, 50_000, 40, 16_384, 9

# What is asked, the statement, the column of its groups.
QUESTIONS = [
    ("ten companies by sum", "SELECT {} AS g, sum(amount) AS total FROM signals GROUP BY g ORDER BY total DESC NULLS LAST "
     "LIMIT 10", "company"),
    ("companies and days", "SELECT {} AS g, date, count(*) FROM signals GROUP BY g, date", "company"),
    ("average and maximum by industry", "SELECT {} AS g, avg(amount), max(amount) FROM signals GROUP BY g", "industry"),
    ("industries and months", "SELECT {} AS g, date_trunc('month', date) AS m, count(*), sum(amount) FROM signals "
     "GROUP BY g, m", "industry"),
]


def dictionary(numbers, text):
    """Texts by number, with a dictionary of those that occur, as scans have it."""
    values = {}
    keys = [values.setdefault(number, len(values)) for number in numbers]
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(keys, pyarrow.uint32()), [text(number) for number in values])


def batch(rows):
    """Random rows; one in eight has an amount."""
    companies = [random.randrange(COMPANIES) for _ in range(rows)]
    amounts = [float(random.randrange(10**6)) if random.random() < 0.125 else None for _ in range(rows)]
    days = pyarrow.array([20_000 + random.randrange(400) for _ in range(rows)], pyarrow.int32())
    return pyarrow.record_batch(
        {
            "company": dictionary(companies, lambda number: f"Nordic Robotics {number}"),
            "industry": dictionary([number % INDUSTRIES for number in companies], lambda number: f"Industry of {number}"),
            "amount": pyarrow.array(amounts, pyarrow.float64()),
            "date": days.cast(pyarrow.date32()),
        }
    )


def main():
    random.seed(1)
    starts = range(0, ROWS, BATCH_ROWS)
    batches = [batch(min(BATCH_ROWS, ROWS - start)) for start in starts]
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    context.register_record_batches("signals", [batches])
    print("| question | dictionaries, ms | views, ms | ratio |\n|---|--:|--:|--:|")
    for name, statement, column in QUESTIONS:
        forms = [column, f"arrow_cast({column}, 'Utf8View')"]
        times = [[] for _ in forms]
        for _ in range(RUNS + 1):
            for form, measured in zip(forms, times, strict=True):
                started = time.perf_counter()
                context.sql(statement.format(form)).collect()
                measured.append((time.perf_counter() - started) * 1e3)
        dictionaries, views = (statistics.median(measured[1:]) for measured in times)
        print(f"| {name} | {dictionaries:.0f} | {views:.0f} | {views / dictionaries:.2f} |")


if __name__ == "__main__":
    try:
        import datafusion
        import pyarrow
    except ImportError:
        with_packages("grouped-texts", ["datafusion==55.*", "pyarrow"])
    main()
