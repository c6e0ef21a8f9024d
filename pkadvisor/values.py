"""``dataclass`` of the standard library for classes that are made at every start, in a tenth of the time.

The library compiles up to seven methods of each class when its module is imported: a third of the start of a command.
Here ``__init__`` is compiled when the first value is made, and all classes share the functions of the others.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """What ``dataclasses.dataclass`` makes of a class with these options; ``fields``, ``replace`` and ``match``
        work as with it. ``InitVar`` is not supported."""

        def made(cls):
            return _made(cls, frozen, slots, eq)

        return made if cls is None else made(cls)


def _made(cls: type, frozen: bool, slots: bool, eq: bool) -> type:
    documented = cls.__doc__ is not None
    if not documented:
        cls.__doc__ = cls.__name__  # the library would look for the signature, which takes long
    given, cls = cls, dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    if cls is not given:
        _let_super_know(given, cls)
    if not documented:
        cls.__doc__ = None
    own, fields = cls.__dict__, dataclasses.fields(cls)
    made: dict[str, Any] = {"__init__": _first_init(cls, frozen), "__repr__": _repr}
    if eq:
        made |= {"__eq__": _equality([f.name for f in fields if f.compare])}
        if own.get("__hash__") is None:
            members = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            made |= {"__hash__": _hashing(members) if frozen else None}
    if frozen:
        made |= {"__setattr__": _no_setattr, "__delattr__": _no_delattr}
        if slots:
            made |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, function in made.items():
        if own.get(name) is None:
            setattr(cls, name, function)
    return cls


def _let_super_know(given: type, made: type) -> None:
    """Let ``super()`` in the methods of a class mean the class with slots that has taken its place."""
    for member in vars(made).values():
        for function in (getattr(member, name, None) for name in ("fget", "__func__")):
            member = function or member
        for cell in getattr(member, "__closure__", None) or ():
            with suppress(ValueError):  # nothing is in the cell yet
                if cell.cell_contents is given:
                    cell.cell_contents = made  # one cell for all methods of the class
                    return


def _first_init(cls: type, frozen: bool) -> Any:
    """An ``__init__`` that compiles the one that takes its place."""

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        compiled = cls.__init__ = _compiled_init(cls, frozen)  # type: ignore[misc]
        compiled(self, *values, **named)

    return __init__


def _compiled_init(cls: type, frozen: bool) -> Any:
    """The ``__init__`` that the library would compile."""
    given: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    space: dict[str, Any] = {"_set": object.__setattr__, "_ABSENT": dataclasses.MISSING}
    for field in dataclasses.fields(cls):
        name = field.name
        value, default = name, f"_default_{name}"
        made = field.default_factory is not dataclasses.MISSING
        if made:
            space[default] = field.default_factory
            value = f"{default}() if {name} is _ABSENT else {name}" if field.init else f"{default}()"
        elif field.default is not dataclasses.MISSING:
            space[default] = field.default
            value = name if field.init else default
        elif not field.init:
            continue
        if field.init:
            optional = default in space
            text = name if not optional else f"{name}=_ABSENT" if made else f"{name}={default}"
            (named if field.kw_only else given).append(text)
        member = getattr(cls, name, None)
        if not frozen:
            lines.append(f" self.{name} = {value}")
        elif isinstance(member, MemberDescriptorType):
            space[f"_set_{name}"] = member.__set__
            lines.append(f" _set_{name}(self, {value})")
        else:
            lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    arguments = ", ".join(["self", *given, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n" + ("\n".join(lines) or " pass"), space)
    function = space.pop("__init__")
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    return function


def _tuple_of(names: list[str]) -> Any:
    """A function that gives some members of a value as a tuple."""
    if len(names) == 1:
        (name,) = names
        get = attrgetter(name)
        return lambda value: (get(value),)
    return attrgetter(*names) if names else lambda value: ()


def _equality(names: list[str]) -> Any:
    members = _tuple_of(names)

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is self.__class__:
            return members(self) == members(other)
        return NotImplemented

    return __eq__


def _hashing(names: list[str]) -> Any:
    members = _tuple_of(names)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(members(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _no_setattr(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
