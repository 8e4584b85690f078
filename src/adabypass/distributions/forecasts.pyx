"""Many forecasts, kept as components, as records (packing.pyx), or as pools of several of these."""

from libc.math cimport INFINITY, NAN, exp, isnan, log, log1p
from libc.stdlib cimport free

from adabypass.distributions.component cimport IDENTITY, N_TARGETS, Component
from adabypass.distributions.component_sums cimport is_known, mix_log_density
from adabypass.distributions.families cimport STUDENT
from adabypass.distributions.lanes cimport (
    Mix, add_components, add_record, count_transformed, drop_negligible, empty_mix, finish_mix, make_room, tail_of,
)
from adabypass.distributions.packing cimport Packing
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef double LARGEST = limits.LARGEST


cdef class Forecasts:
    """Many forecasts, whichever way they are kept, and the room in which one of them is evaluated.

    Parameters
    ----------
    forecasts : array of `COMPONENT` (n, n_components), or records (n, size) of a packing
    packing : Packing or None
    extras : MixtureExtras or None
        Atoms at 0, bounds, and other forecasts with which these are pooled.
    """

    def __cinit__(self, forecasts, Packing packing, extras=None):
        cdef Py_ssize_t n_transformed = 0, n_students = 0
        cdef Forecasts each
        self.packing, self.pool = packing, []
        self.low, self.high = -INFINITY, INFINITY
        self.atom_share = self.share = self.pooled_at = None       # a view that was never set is not None
        if packing is None:
            self.parts = forecasts
            self.n, self.n_room = self.parts.shape[0], self.parts.shape[1]
            n_transformed = self.n_room if _any_target(self.parts, &n_students) else 0
        else:
            self.records = forecasts
            self.n, self.n_room = self.records.shape[0], packing.n_components
            if self.records.shape[1] != packing.size:
                raise ValueError(f"a record of this packing has {packing.size} numbers")
            n_transformed = count_transformed(packing)
        if extras is not None:
            self._take(extras)
            for each in self.pool:
                self.n_room += each.n_room
                n_transformed += each.n_transformed
                n_students += each.n_students
        self.n_transformed, self.n_students = n_transformed, n_students
        make_room(&self.mix, self.n_room, n_transformed, n_students)

    def __dealloc__(self):
        free(self.mix.memory)

    def _take(self, extras):
        """Keep what a forecast may have besides its own components."""
        cdef Py_ssize_t t
        self.low, self.high = extras.support
        self.atom_share = extras.zero_share
        if self.atom_share.shape[0] != self.n:
            raise ValueError("as many atoms as forecasts are needed")
        if extras.share is None:
            return
        self.share, self.pooled_at = extras.share, extras.pooled_at
        if any(part.extras is not None for part in extras.parts):
            raise ValueError("the parts of a pool have components alone")
        self.pool = [Forecasts(part._table, part.packing) for part in extras.parts]
        if self.share.shape[1] != 1 + len(self.pool) or self.pooled_at.shape[0] != self.n:
            raise ValueError("every forecast of a pool needs a share")
        if any((<Forecasts>each).n != self.share.shape[0] for each in self.pool):
            raise ValueError("the parts of a pool need as many forecasts as it has")
        for t in range(self.n):
            if not -1 <= self.pooled_at[t] < self.share.shape[0]:
                raise IndexError(f"there is no pooled forecast {self.pooled_at[t]}")

    cdef bint lay_out(self, Py_ssize_t t, double negligible) noexcept nogil:
        """Make forecast t the one that is evaluated; return whether anything is known about it.

        Components of no more than the negligible weight are left out.
        """
        cdef Py_ssize_t row = self.pooled_at[t] if self.share is not None else -1
        empty_mix(&self.mix)
        if not self._add(t, self.share[row, 0] if row >= 0 else 1.0, &self.mix):
            return False
        if row >= 0:
            with gil:
                if not self._add_pool(row):
                    return False
        if negligible > 0.0:
            drop_negligible(&self.mix, negligible)
        finish_mix(&self.mix)
        if self.atom_share is not None:
            self.mix.atom_share, self.mix.low, self.mix.high = self.atom_share[t], self.low, self.high
        return True

    cdef bint _add(self, Py_ssize_t t, double share, Mix* mix) noexcept nogil:
        """Add the components of forecast t to a mixture, in which they have a share; return whether any are known."""
        if self.packing is None:
            if is_known(&self.parts[t, 0]):
                add_components(&self.parts[t, 0], self.parts.shape[1], share, mix)
                return True
        elif not isnan(self.packing.open(&self.records[t, 0]).mean[0]):
            add_record(&self.records[t, 0], self.packing, share, mix)
            return True
        return False

    cdef bint _add_pool(self, Py_ssize_t row) noexcept:
        """Add what the others in the pool say; return whether all that have a share are known."""
        cdef Py_ssize_t k
        for k in range(len(self.pool)):
            if self.share[row, 1 + k] > 0.0 and not (<Forecasts>self.pool[k])._add(
                row, self.share[row, 1 + k], &self.mix
            ):
                return False
        return True

    cdef double log_density(self, Py_ssize_t t, double y) noexcept nogil:
        """Log density of forecast t at y; of a value that has a probability of its own, the log of that.

        nan if nothing is known.
        """
        cdef double atom, found = 0.0, low = self.low, high = self.high
        if self.atom_share is None:
            return self._pooled_log_density(t, y)
        if (self.packing is None and not is_known(&self.parts[t, 0])):
            return NAN
        atom = larger(smaller(0.0, high), low)
        if y <= low or y >= high or (y == atom and self.atom_share[t] > 0.0):
            if y < low or y > high or not self.lay_out(t, 0.0):
                return -LARGEST
            if y == low:
                found = tail_of(&self.mix, &self.mix.lanes[IDENTITY], y, True, False).tail
            elif y == high:
                found = tail_of(&self.mix, &self.mix.lanes[IDENTITY], y, False, False).tail
            found = (1.0 - self.atom_share[t]) * found + self.atom_share[t] * (y == atom)
            return log(found) if found > 0.0 else -LARGEST
        found = self._pooled_log_density(t, y) + log1p(-self.atom_share[t])
        return found if isnan(found) else larger(found, -LARGEST)

    cdef double _pooled_log_density(self, Py_ssize_t t, double y) noexcept nogil:
        """Log density of the components of forecast t, and of those it is pooled with."""
        cdef Py_ssize_t row = self.pooled_at[t] if self.share is not None else -1
        cdef double found = self._own_log_density(t, y, self.mix.parts)
        if row >= 0:
            with gil:
                found = self._pool_log_density(row, y, found)
        return found

    cdef double _own_log_density(self, Py_ssize_t t, double y, Component* room) noexcept nogil:
        if self.packing is None:
            if not is_known(&self.parts[t, 0]):
                return NAN
            return mix_log_density(&self.parts[t, 0], self.parts.shape[1], y)
        if isnan(self.packing.open(&self.records[t, 0]).mean[0]):
            return NAN
        self.packing.expand_one(&self.records[t, 0], room, self.packing.transformed is not None)
        return mix_log_density(room, self.packing.n_components, y)

    cdef double _pool_log_density(self, Py_ssize_t row, double y, double own) noexcept:
        """log Σ share p(y), the sum carried relative to the largest term so far."""
        cdef double top = own, total = self.share[row, 0], each
        cdef Py_ssize_t k
        if total == 0.0:
            top = -INFINITY
        for k in range(len(self.pool)):
            if self.share[row, 1 + k] == 0.0:
                continue
            each = (<Forecasts>self.pool[k])._own_log_density(row, y, self.mix.parts)
            if isnan(each):
                return NAN
            if each > top:
                total *= exp(top - each)
                top = each
            total += self.share[row, 1 + k] * exp(each - top)
        return larger(top + log(total), -LARGEST)


cdef bint _any_target(const Component[:, ::1] parts, Py_ssize_t* n_students):
    """Whether any component is about the log or the root of y; each must be about y or one of these.

    If any is a Student's t distribution, all may be.
    """
    cdef Py_ssize_t t, k
    cdef bint found = False
    for t in range(parts.shape[0]):
        for k in range(parts.shape[1]):
            if not IDENTITY <= parts[t, k].target < N_TARGETS:
                raise ValueError(f"there is no target {parts[t, k].target}")
            if parts[t, k].family == STUDENT:
                n_students[0] = parts.shape[1]
            else:
                found = found or parts[t, k].target != IDENTITY
    return found
