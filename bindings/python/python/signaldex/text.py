"""The one analysis of text: titles, company names and text filters all go through it."""

from ._native import ANALYSIS_VERSION, fold_value, terms, tidy, words

__all__ = ["ANALYSIS_VERSION", "fold_value", "terms", "tidy", "words"]
