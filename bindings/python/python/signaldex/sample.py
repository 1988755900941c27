"""The sample corpus: two thousand made-up signals, to try things out."""

from ._native import SAMPLE_AS_OF as AS_OF
from ._native import SAMPLE_COMPANIES as COMPANIES
from ._native import SAMPLE_SIGNALS as SIGNALS
from ._native import sample_index as index

__all__ = ["AS_OF", "COMPANIES", "SIGNALS", "index"]
