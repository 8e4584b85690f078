"""Regular grids of time: the observations' positions on one, which times follow, and their place in the calendar.

A model that steps from one observation to the next needs steps of one length. The policy: times lie on a grid, whose
frequency is given or is the most common difference; grid times without an observation are missing; an observation off
the grid is an error that names it, never moved in silence by more than a hundredth of a step.
"""

from adabypass.timegrid.calendar import calendar
from adabypass.timegrid.grid import Grid, following, regular

__all__ = ["Grid", "calendar", "following", "regular"]
