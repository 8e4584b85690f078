"""Exceptions and warnings of the library.

Every class derives from a built-in one, so `except ValueError` keeps working. A refused call changes nothing.
"""


class AdabypassError(Exception):
    """Base class of all errors that this library raises."""


class ShapeError(AdabypassError, ValueError):
    """An array has the wrong shape for the model."""


class NotANumberError(AdabypassError, TypeError):
    """A value is not a number, or not an array of numbers."""


class NotFiniteError(AdabypassError, ValueError):
    """A value is infinite, or nan where nan is not allowed."""


class ParameterError(AdabypassError, ValueError):
    """A hyperparameter or another argument is outside its domain."""


class NotEnoughDataError(AdabypassError, ValueError):
    """A series is empty, or too short for the requested operation."""


class NotReadyError(AdabypassError, ValueError):
    """The model has not seen the data that the requested operation needs."""


class ConcurrentUseError(AdabypassError, RuntimeError):
    """A model is in use by another call, in this or another thread."""


class StateError(AdabypassError, ValueError):
    """A saved model or the store of a stream is damaged, or has a format or kind that this version cannot read."""


class LockedError(AdabypassError, OSError):
    """A file or folder is being written by another process, or by another call in this process."""


class PointForecastError(AdabypassError, AttributeError):
    """A distribution was requested from a model that makes point forecasts."""


class PriceError(AdabypassError, ValueError):
    """Two price series cannot be traded: their times do not match, or a price is invalid."""


class UnknownNameError(AdabypassError, LookupError):
    """A name, of a data set for example, is unknown."""


class TableError(AdabypassError, ValueError):
    """A file or data frame is not a valid table: ragged, empty, without column names, or of an unknown type."""

    record: str = ""
    """The text of the record that is wrong, where it is known."""


class BadCellError(TableError):
    """A cell of a table has the wrong type for its column."""


class TimeOrderError(TableError):
    """Times are not in increasing order."""


class IrregularTimeError(AdabypassError, ValueError):
    """Times are not on a regular grid, or not on the requested one."""


class TimeRangeError(AdabypassError, ValueError):
    """A time is outside the range that can be represented."""


class BrokerError(AdabypassError, ConnectionError):
    """A Kafka broker cannot be reached, or rejects a request."""


class MissingExtraError(AdabypassError, ImportError):
    """An optional library is not installed."""


class SeriesWarning(UserWarning):
    """Some series could not be forecast and are missing from the result, or their scores are of too few forecasts."""
