"""``pkadvisor.values.dataclass`` makes the classes that the standard library makes."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pkadvisor.values import dataclass

ROOT = Path(__file__).resolve().parent.parent
OPTIONS: tuple[dict[str, bool], ...] = (
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "eq": False},
)


def _family(make: Any, options: dict[str, bool]) -> dict[str, type]:
    """Classes of every kind that the package has, made by one of the two decorators."""

    @make(**options)
    class Plain:
        """Documented."""

        a: int
        b: str = "x"
        KINDS: ClassVar[int] = 3

    @make(**options)
    class One:
        only: float

    @make(**options)
    class Nothing:
        pass

    @make(**options)
    class Fields:
        a: int
        listed: list[int] = field(default_factory=list)
        hidden: int = field(default=4, compare=False, repr=False)
        kept: dict[str, int] = field(default_factory=dict, init=False, compare=False, repr=False)
        named: int = field(default=1, kw_only=True)

        def __post_init__(self) -> None:
            self.listed.append(self.a)

    @make(**options)
    class Child(Plain):
        c: int = 5

    @make(**options)
    class OwnEquality:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "mine"

    @make(**options)
    class OwnHash:
        a: int

        def __hash__(self) -> int:
            return 7

    return {c.__name__: c for c in (Plain, One, Nothing, Fields, Child, OwnEquality, OwnHash)}


CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Plain", (1,), {}),
    ("Plain", (1, "y"), {}),
    ("Plain", (), {"b": "z", "a": 2}),
    ("Plain", (), {}),
    ("Plain", (1, 2, 3), {}),
    ("Plain", (1,), {"c": 3}),
    ("One", (2.5,), {}),
    ("One", (float("nan"),), {}),
    ("Nothing", (), {}),
    ("Fields", (1,), {}),
    ("Fields", (1, [5]), {"named": 9}),
    ("Fields", (1, [5], 6, 9), {}),
    ("Child", (1,), {}),
    ("Child", (1, "b", 3), {}),
    ("OwnEquality", (1,), {}),
    ("OwnHash", (1,), {}),
)


def _outcome(act: Callable[[], Any]) -> Any:
    """What an act gives, or the kind of its error."""
    try:
        return act()
    except (TypeError, AttributeError) as error:
        return type(error)


def _observed(make: Any, options: dict[str, bool], call: int) -> list[Any]:
    """What can be seen of a value, but for the class itself and the number that is its hash."""
    name, values, named = CALLS[call]
    cls: Any = _family(make, options)[name]
    seen = [cls.__doc__ if name == "Plain" else "", cls.__match_args__, [f.name for f in fields(cls)]]
    value = _outcome(lambda: cls(*copy.deepcopy(values), **named))
    if isinstance(value, type):
        return [*seen, value]
    first = next(iter(cls.__match_args__), "none")
    twin = copy.copy(value)
    return [
        *seen,
        repr(value).rpartition(".")[2],
        [repr(getattr(value, f.name)) for f in fields(cls)],
        (value == twin, value == object(), value != twin),
        _outcome(lambda: value == replace(value, **{first: 8})),
        _outcome(lambda: hash(value) == hash(twin)),
        _outcome(lambda: len({value, twin})),
        isinstance(_outcome(lambda: setattr(twin, first, 3)), type),
        isinstance(_outcome(lambda: delattr(twin, first)), type),
        hasattr(value, "__dict__"),
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_a_value_is_what_the_standard_library_makes(options: dict[str, bool], call: int) -> None:
    assert _observed(dataclass, options, call) == _observed(dataclasses.dataclass, options, call)


@dataclass(frozen=True, slots=True)
class Stored:
    """A value that another process is given."""

    a: int
    b: tuple[str, ...] = ()


def test_a_value_survives_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Stored(1, ("x",)))) == Stored(1, ("x",))


@dataclass(frozen=True, slots=True)
class _Base:
    a: int

    def shown(self) -> str:
        return f"base {self.a}"

    @property
    def twice(self) -> int:
        return 2 * self.a


def test_super_is_the_class_with_slots() -> None:
    @dataclass(frozen=True, slots=True)
    class ByMethod(_Base):
        def shown(self) -> str:
            return f"child of {super().shown()}"

    @dataclass(frozen=True, slots=True)
    class ByProperty(_Base):
        @property
        def twice(self) -> int:
            return super().twice + 1

    assert ByMethod(1).shown() == "child of base 1"
    assert ByProperty(1).twice == 3


def test_no_module_has_its_classes_made_by_the_standard_library() -> None:
    slow = []
    for path in sorted((ROOT / "pkadvisor").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                slow += [path.name for name in node.names if name.name == "dataclass"]
    # One class has an order, and the module itself names the other for mypy.
    assert slow == ["conflicts.py", "values.py"]
