"""Whether the classes of a workload can be judged on the data at hand."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.design.choice.sections import Section
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.rows.logged.choices import plain_name
from pkadvisor.errors import UsageError
from pkadvisor.observe.workload import DrawBy, Workload
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import MAX_COMPARISONS, comparison_count, format_filter, mismatches

_HOW = {
    EdmType.STRING: "'text' or '{x}'",
    EdmType.INT32: "5 or {x}",
    EdmType.INT64: "5L or {x}",
    EdmType.DOUBLE: "5.0 or {x}",
    EdmType.BOOLEAN: "true or {x}",
    EdmType.DATETIME: "datetime'2026-01-31T00:00:00Z' or datetime'{x}'",
    EdmType.GUID: "guid'…' or guid'{x}'",
    EdmType.BINARY: "X'…' or X'{x}'",
}
"""How a filter writes a constant of each type."""


def check_classes(workload: Workload, section: Section) -> None:
    """UsageError for declared classes that cannot be judged: filters over keys, of other types or longer than the
    service takes, weights that are no numbers.
    """
    assert section.data is not None
    types = section.data.types
    where = section.design_path
    for query in workload.classes:
        if query.draw.by is DrawBy.LOG:
            continue
        for name in conditions(query.filter).properties:
            if name in KEYS and name not in types:
                what = f"the filter of '{query.name}' is over {name}, which changes with the key"
                raise UsageError(what, where=where, fix="declare it over the properties that the key is made of")
        if query.filter is not None and (count := comparison_count(query.filter)) > MAX_COMPARISONS:
            what = f"the filter of '{query.name}' has {count} comparisons, and the service takes {MAX_COMPARISONS}"
            raise UsageError(what, where=where, fix="split it into several queries")
        for wrong in mismatches(query.filter, types) if query.filter is not None else ():
            edm = types[wrong.property]
            what = (
                f"'{query.name}' compares {wrong.property}, which is {edm}, with {wrong.operand.type}: it never holds"
            )
            raise UsageError(what, where=where, fix=f"write it as {_HOW[edm]}, not as in {format_filter(wrong)}")
        if query.draw.by is DrawBy.WEIGHT and not types.get(query.draw.column, EdmType.STRING).numeric:
            what = f"'{query.name}' is drawn by the weight {query.draw.column}, which is not a number"
            raise UsageError(what, where=where, fix="name a numeric property")


def of_known_properties(workload: Workload, section: Section) -> tuple[Workload, tuple[str, ...]]:
    """Without the classes over properties that no file holds, logged or declared: what these select is not known."""
    if section.data is None:
        return workload, ()
    known = {*section.data.types} if section.data.keys_of_log else {*section.data.types, *KEYS}
    missing = _declared(section) - {*section.data.types}
    left: dict[str, list[str]] = {}
    for query in workload.classes:
        asked = (
            {plain_name(name) for name in conditions(query.filter).properties} if query.filter is not None else set()
        )
        if query.draw.by is DrawBy.LOG:
            lacking = asked - known
        else:
            asked |= {by.property for by in query.order_by} | {*query.draw.of, query.draw.column}
            lacking = asked & missing
        if lacking:
            left[query.name] = sorted(lacking)
    give = "an export of the table" if section.data.keys_of_log or not missing else "rows that have it"
    notes = tuple(
        f"'{name}' is left out of the cost: nothing is known of {', '.join(names)}; give {give}"
        for name, names in left.items()
    )
    priced = tuple(c for c in workload.classes if c.name not in left)
    return replace(workload, classes=priced, unpriced=tuple(c for c in workload.classes if c.name in left)), notes


def _declared(section: Section) -> set[str]:
    """The properties that the design declares for the entities of a section."""
    table = section.declared
    if table is None:
        return set()
    kinds = [kind.properties for kind in table.kinds if section.kind in (None, kind.name)]
    return {name for declared in (table.properties, *kinds) for name, _ in declared}
