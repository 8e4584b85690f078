"""Errors that the library raises on purpose, each with its own class.

Every class derives from a built-in one, so `except ValueError` keeps working. A refused call changes nothing.
"""


class AdabypassError(Exception):
    """Base of every error this library raises on purpose."""


class ShapeError(AdabypassError, ValueError):
    """An array has another length or number of dimensions than the model."""


class NotANumberError(AdabypassError, TypeError):
    """Something that should be a number, or an array of numbers, is not."""


class NotFiniteError(AdabypassError, ValueError):
    """A value is infinite, or is nan where nan has no meaning."""


class ParameterError(AdabypassError, ValueError):
    """A hyperparameter, or another argument, lies outside its domain."""


class NotEnoughDataError(AdabypassError, ValueError):
    """A series is empty, or too short for what is asked of it."""


class NotReadyError(AdabypassError, ValueError):
    """Something was asked that the model can only tell after it has met a feature vector."""


class ConcurrentUseError(AdabypassError, RuntimeError):
    """A model was to be changed while another call, in this or another thread, runs it."""


class StateError(AdabypassError, ValueError):
    """A saved model or journal is damaged, or of another format or kind than this version of the library reads."""


class LockedError(AdabypassError, OSError):
    """A file or a folder is being written by another process, or by another call in this one."""


class PointForecastError(AdabypassError, AttributeError):
    """A distribution was asked of a model that forecasts a point."""


class PriceError(AdabypassError, ValueError):
    """Two series of prices cannot be traded: they do not fit each other, or a price is not one."""


class UnknownNameError(AdabypassError, LookupError):
    """A name (of a data set, say) is not among the known ones."""


class TableError(AdabypassError, ValueError):
    """A file or a data frame is not a table: ragged, empty, without usable names, or of an unknown kind."""


class BadCellError(TableError):
    """A cell of a table holds something else than its column should."""


class TimeOrderError(TableError):
    """Times do not increase from row to row."""


class IrregularTimeError(AdabypassError, ValueError):
    """Times lie on no regular grid, or on another one than was asked for."""


class TimeRangeError(AdabypassError, ValueError):
    """A time lies beyond the range that can be represented."""


class BrokerError(AdabypassError, ConnectionError):
    """A broker of Kafka cannot be reached, or refuses what it is asked."""


class MissingExtraError(AdabypassError, ImportError):
    """An optional library is not installed."""


class SeriesWarning(UserWarning):
    """Some series of a table could not be forecast, and are left out of the answer."""
