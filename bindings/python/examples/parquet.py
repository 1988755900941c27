"""Parquet out and in: matches as a file, the file as an index, a frame without copies."""

import tempfile
from dataclasses import asdict
from pathlib import Path

import polars
import pyarrow
import pyarrow.parquet

from signaldex import IndexBuilder, sample


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    snapshot = sample.index().snapshot()

    # Out: batch by batch, whatever matches.
    matches = snapshot.matches("categories=funding", sample.AS_OF)
    reader = pyarrow.RecordBatchReader.from_stream(matches)
    with pyarrow.parquet.ParquetWriter(folder / "funding.parquet", reader.schema) as file:
        for batch in reader:
            file.write_batch(batch)
    companies = pyarrow.Table.from_pylist([asdict(company) for company in snapshot.scan_companies()])
    pyarrow.parquet.write_table(companies, folder / "companies.parquet")

    # In: columns have the names of the dataclasses' fields.
    builder = IndexBuilder.in_directory(folder / "index")
    builder.add_companies(pyarrow.parquet.read_table(folder / "companies.parquet"))
    added = builder.add_signals(pyarrow.parquet.read_table(folder / "funding.parquet"))
    index = builder.finish()
    assert added == index.snapshot().signal_count == snapshot.count("categories=funding", sample.AS_OF)

    # A frame of some columns, without a copy of the texts.
    frame = polars.DataFrame(index.matches("", sample.AS_OF).arrow(["date", "funding_amount"]))
    by_month = frame.group_by(polars.col("date").dt.truncate("1mo")).agg(polars.col("funding_amount").sum())
    print(by_month.sort("date").tail(3))


if __name__ == "__main__":
    main()
