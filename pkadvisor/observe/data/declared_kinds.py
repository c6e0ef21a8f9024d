"""Data sets by the kinds of entities that a design declares for their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkadvisor.errors import UsageError
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.kinds import detect_kinds, split_kinds


def by_kind(datasets: Sequence[Dataset], kinds: Mapping[str, Sequence[str]], *, designed: bool) -> tuple[Dataset, ...]:
    """The data sets with the declared kinds told apart, where the file of a table holds several.

    ``kinds`` are those of each table that has any; ``designed``: whether there is a design.
    """
    several = {table.lower(): tuple(names) for table, names in kinds.items() if names}
    out: list[Dataset] = []
    for dataset in datasets:
        if dataset.kind is None and len(datasets) == 1:
            out += _told_apart(dataset, [name for names in several.values() for name in names], designed)
        elif (dataset.kind or "").lower() in several:
            own = replace(dataset, table=dataset.kind or "")
            out += _told_apart(own, several[own.table.lower()], designed)
        else:
            out.append(dataset)
    return tuple(out)


def _told_apart(whole: Dataset, names: Sequence[str], designed: bool) -> tuple[Dataset, ...]:
    """A data set by the kinds of these names.

    Kinds that nobody declared are only noted: rows of an index and entities of another kind look alike from here.
    """
    wanted = {name.lower() for name in names}
    if not wanted and all(c.name != "RowKey" for c in whole.columns):
        return (whole,)
    rules = detect_kinds(whole)
    for rule in rules:
        if wanted and wanted <= {k.name.lower() for k in rule.kinds}:
            return tuple(d for d in split_kinds(whole, rule) if d.kind is not None and d.kind.lower() in wanted)
    if wanted:
        seen = "; ".join(", ".join(k.name for k in rule.kinds) for rule in rules) or "none"
        fix = f"give the data as KIND=PATH for each kind; kinds found in the data: {seen}"
        raise UsageError(f"the kinds {', '.join(sorted(wanted))} cannot be told apart in {whole.name}", fix=fix)
    judged = "judged as one kind" + (" unless their keys differ" if not designed else "")
    notes = tuple(
        f"{rule.sentence()}: {', '.join(f'{k.name} {k.row_count:,}' for k in rule.kinds[:4])}; {judged}"
        for rule in rules[:1]
    )
    return (replace(whole, notes=(*whole.notes, *notes)),)
