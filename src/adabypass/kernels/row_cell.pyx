"""What moves rows: the one interface through which a panel steps through the rows of its series.

A cell is bound to a row of the size and layout that it was made for, takes steps there, and goes on to the next row. It
has scratch memory of its own, so each thread has a cell of its own. A new kind of model works in a panel as soon as its
cell has these methods; none of them needs the interpreter's lock.
"""

from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.running cimport Running
from adabypass.distributions.component cimport Component


cdef class RowCell(Running):
    """A kernel that goes from row to row."""

    cdef void bind(self, double* row) noexcept nogil:
        """Go on with this row; the newest forecast of the row before is forgotten."""

    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil:
        """Forecast the next observation, and return whether that is possible yet.

        `x` holds n_inputs numbers; `record` is room for n_record, or NULL if it is not wanted.
        """
        return False

    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil:
        """Forecast the next observation, then learn that it was `y` (nan: missing); return whether it was forecast."""
        return False

    cdef void flush_row(self) noexcept nogil:
        """Make the updates that wait, so that the row says all that was learned."""

    cdef MultistepForecaster new_multistep(self, Py_ssize_t n_steps):
        """Return the scratch memory of a forecast of so many steps; None if it is not possible."""
        return None

    cdef bint forecast_ahead(self, MultistepForecaster ahead, const double* x, Component* parts) noexcept nogil:
        """Forecast many steps: `x` (n_steps, n_inputs), `parts` (n_steps, n_components). Return whether it could."""
        return False
