"""What a log does not tell of an entity that it inserts: the properties that are in no key."""

from __future__ import annotations

from pkadvisor.design.rows.logged.one_period import with_texts, with_times
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import REQUESTS, SPAN, Operation, QueryClass, Workload

_ROW, _TURN = "#row", "#turn"


def with_unknown_properties(inserts: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
    """Logged inserts with the properties that their keys do not tell, taken from entities of the data like them.

    Without a value they would count as entities that miss the property, and index rows by it as not written. An insert
    takes the values of an entity that agrees with it on all that is known; else on the one known property with the
    most values that still repeat; else of any entity. Inserts that are alike take turns over the entities like them.
    """
    names = data.columns
    known = [n for n in inserts.columns if n in names and inserts.schema[n] == data.schema[n]]
    unknown = [n for n in names if n not in inserts.columns]
    if not unknown or not data.height or not inserts.height:
        return inserts
    distinct = {n: data.get_column(n).n_unique() for n in known}
    repeating = sorted((n for n in known if 1 < distinct[n] < data.height), key=lambda n: -distinct[n])
    rows = pl.Series(_ROW, [None] * inserts.height, dtype=pl.Int64)
    for names in [known, *([n] for n in repeating)]:
        if names and rows.null_count():
            rows = rows.zip_with(rows.is_not_null(), _entities_alike(inserts, data, names))
    anyone = pl.int_range(inserts.height, eager=True) * data.height // inserts.height
    rows = rows.zip_with(rows.is_not_null(), anyone.cast(pl.Int64))
    return inserts.hstack(data.select(pl.col(n).gather(rows) for n in unknown))


def _entities_alike(inserts: pl.DataFrame, data: pl.DataFrame, names: list[str]) -> pl.Series:
    """For each insert the row of an entity with the same values of some properties; null where there is none."""
    groups = data.select(names).with_row_index(_ROW).group_by(names, maintain_order=True).agg(pl.col(_ROW))
    asked = inserts.select(names).with_columns(pl.int_range(pl.len()).over(names).alias(_TURN))
    joined = asked.join(groups, on=names, how="left", nulls_equal=True, maintain_order="left")
    turn = pl.col(_TURN) % pl.col(_ROW).list.len()
    return joined.select(pl.col(_ROW).list.get(turn).cast(pl.Int64)).to_series()


Places = dict[str, tuple[int, int]]
"""Which rows below the data are those of a class: from, to."""


def logged_rows(workload: Workload, data: pl.DataFrame) -> tuple[pl.DataFrame | None, Places, Places]:
    """Logged parameters as rows below the data; where each class's lie, and those of its busiest spans below all."""
    frames: list[pl.DataFrame] = []
    start = data.height

    def put(query: QueryClass, frame: pl.DataFrame, places: Places) -> None:
        nonlocal start
        inserts = query.operation in (Operation.INSERT, Operation.UPSERT)
        frame = with_unknown_properties(frame, data) if inserts else frame
        frames.append(with_texts(with_times(frame, data), data))
        places[query.name] = (start, start + frame.height)
        start += frame.height

    instances, busy = Places(), Places()
    for query in workload.classes:
        frame = workload.instances.get(query.name)
        if frame is not None and frame.width > 1:
            put(query, frame.drop("_weight"), instances)
    for query in workload.classes:
        if query.name in workload.busy and query.name in instances:
            rows = workload.busy[query.name].rows.drop(SPAN, REQUESTS)
            if rows.width and rows.height:
                put(query, rows, busy)
    return (pl.concat(frames, how="diagonal_relaxed") if frames else None), instances, busy
