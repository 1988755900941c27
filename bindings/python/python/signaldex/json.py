"""Records as lines of JSON, as ``IndexBuilder.load`` reads them."""

from ._native import parse_company, parse_signal, write_company, write_signal

__all__ = ["parse_company", "parse_signal", "write_company", "write_signal"]
