"""What this package needs of typing, which took longer to load than any other module of a move.

A type checker sees typing's own. At run time annotations are never looked at, and a named tuple
takes no time to define: for one of typing's the interpreter compiles a function and every
annotation, a quarter of a millisecond in all, and a move loads more than thirty classes.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO as IO
    from typing import Any as Any
    from typing import NamedTuple as NamedTuple
    from typing import NoReturn as NoReturn
    from typing import Self as Self
    from typing import TextIO as TextIO
    from typing import overload as overload
else:
    Any = IO = NoReturn = Self = TextIO = object

    def overload(function):
        return function

    class _Definition(type):
        """Makes the annotated names of a class the fields of a tuple."""

        def __new__(cls, name, bases, members):
            fields = tuple(members.get("__annotations__", ()))
            defaults = {field: members[field] for field in fields if field in members}
            getters = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
            known = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return super().__new__(cls, name, bases, members | getters | known | {"__slots__": ()})

    class NamedTuple(tuple, metaclass=_Definition):
        """typing.NamedTuple, as far as it is needed here."""

        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = _completed(cls, values, named)
            return tuple.__new__(cls, values)

        _make = classmethod(tuple.__new__)  # of all values in order, which are not counted

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            values = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({values})"

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named):
            return type(self)(**(self._asdict() | named))

    def _completed(cls, values, named):
        """All values of a tuple, of which some were given by name and some have a default."""
        rest = cls._fields[len(values) :]
        given = cls._field_defaults | named
        wrong = {*named}.difference(rest) or {*rest}.difference(given)
        if wrong or len(values) > len(cls._fields):
            raise TypeError(f"{cls.__name__}{cls._fields}: {values}, {named}")
        return (*values, *(given[field] for field in rest))
