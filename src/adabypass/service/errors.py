"""Why a request is refused: a status, a word for programs, and a sentence for people."""


class RefusedError(Exception):
    """A request that cannot be answered.

    Parameters
    ----------
    status : int
        Of HTTP, from 400.
    code : str
        What programs ask for, such as `unknown_series`.
    message : str
        What came, what was expected, and what to do.
    retry_after : int, optional
        In how many seconds it may be sent again.
    """

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after


def unknown_series(id: str) -> RefusedError:
    """Return the refusal of a series that there is not."""
    return RefusedError(404, "unknown_series", f"there is no series {id!r}; GET /series lists those that there are.")
