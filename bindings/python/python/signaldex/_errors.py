"""What can go wrong: one class for each question that the library's error answers."""

from __future__ import annotations

from ._records import ParameterError


class SignaldexError(Exception):
    """The base of all exceptions of this package.

    Arguments of a wrong type are a ``TypeError``, as everywhere in Python.
    """

    path: str | None = None
    """The file that the error is about, if any."""


class InvalidQuery(SignaldexError, ValueError):
    """A query that cannot be answered, with all its errors."""

    errors: list[ParameterError]

    def __init__(self, message: str, errors: list[ParameterError] | None = None) -> None:
        super().__init__(message)
        self.errors = [] if errors is None else errors

    def __reduce__(self) -> tuple[type[InvalidQuery], tuple[str, list[ParameterError]]]:
        return type(self), (str(self), self.errors)


class InvalidRecord(SignaldexError, ValueError):
    """A record or an argument is invalid; nothing was changed."""

    field: str | None = None
    """The invalid field, if a line of JSON was read."""


class UnknownCompany(InvalidRecord):
    """A signal names a company that is not known; it was not added."""


class InvalidCursor(SignaldexError, ValueError):
    """A text is not a cursor, damaged, or of a later release."""


class InvalidPosition(SignaldexError, ValueError):
    """A text is not a position, damaged, or of a later release."""


class PositionError(SignaldexError):
    """An index cannot tell what has changed since a position."""


class PositionOfOtherIndex(PositionError):
    """The position is of another index, or of one that has been built anew since: copy everything again."""


class PositionExpired(PositionError):
    """Deletions since the position are forgotten: copy everything again."""


class PositionDiverged(PositionError):
    """The position is of commits that are not in the history of this index: copy everything again."""


class PositionAhead(PositionError):
    """The position is ahead of this snapshot."""


class IndexMissing(SignaldexError, FileNotFoundError):
    """There is no index at that path."""


class ForeignFile(SignaldexError):
    """The file was not written by signaldex."""


class NewerFormat(SignaldexError):
    """The file was written by a later release; it has been left untouched."""


class CorruptIndex(SignaldexError):
    """The file is damaged: truncated, altered, or breaking a rule of its format."""


class IndexLocked(SignaldexError):
    """Another writer holds the index."""


class IndexFull(SignaldexError):
    """A bound of the format was reached, such as the rows of one segment."""


class WriterPoisoned(SignaldexError):
    """The writer has failed before and has to be opened again."""


class IndexIoError(SignaldexError, OSError):
    """The operating system refused to read or write. ``errno`` says why, if known."""


class Closed(SignaldexError, ValueError):
    """The writer is closed, or the builder has finished."""


class DataFusionMismatch(SignaldexError, ImportError):
    """This package has no tables for the ``datafusion`` that asks for them; the message says which it has."""
