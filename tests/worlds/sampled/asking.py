"""What is asked of the tables, and by which keys: each query under the shape by which its cases are told apart."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import parse_template
from pkadvisor.observe.workload import Draw, DrawBy, Operation
from tests.design.support import query

DISTINCT = Draw(DrawBy.DISTINCT, of=("thing",), stated=True)
ZIPF = Draw(DrawBy.ZIPF, of=("thing",), exponent=1.0, stated=True)
NEWEST = Draw(DrawBy.NEWEST, share=0.8, window_s=60.0, stated=True)
OF_THING = "thing eq {thing}"

CLASSES = (
    query("equal", OF_THING),
    query("equal, distinct", OF_THING, draw=DISTINCT),
    query("equal, zipf", OF_THING, draw=ZIPF),
    query("newest n", OF_THING, order=["n"], top=10),
    query("newest n, distinct", OF_THING, order=["n"], top=10, draw=DISTINCT),
    query("newest n, zipf", OF_THING, order=["n"], top=10, draw=ZIPF),
    query("equal and range, its own row in", f"{OF_THING} and n ge {{n}}"),
    query("equal and range, its own row out", f"{OF_THING} and n lt {{n}}"),
    query("newest n and range, its own row out", f"{OF_THING} and n lt {{n}}", order=["n"], top=10),
    query("equal and filter", f"{OF_THING} and kind eq {{kind}}"),
    query("newest n and filter", f"{OF_THING} and kind eq {{kind}}", order=["n"], top=5),
    query("constant", "kind eq 'a'"),
    query("or", f"{OF_THING} or thing eq 3"),
    query("whole key", f"{OF_THING} and n eq {{n}}"),
    query("write", None, operation=Operation.INSERT),
)

NEWEST_CLASSES = (query("equal, newest", OF_THING, draw=NEWEST), query("write", None, operation=Operation.INSERT))
"""Apart, since what rests on one row leaves the sums over all classes unknown."""


def scheme(partition: str, row: str) -> KeyScheme:
    """A scheme without index rows."""
    return KeyScheme(Key(parse_template(partition), parse_template(row)))


SCHEMES = (
    scheme("{thing}", "{pad(n,6)}"),
    scheme("{owner}", "{pad(n,6)}"),
    scheme("{kind}", "{thing}_{pad(n,6)}"),
    scheme("{hash(thing,8)}", "{thing}_{pad(n,6)}"),
)
