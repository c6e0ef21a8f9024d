"""Logged requests whose keys no template writes, and values read from keys that the data does not have: signs of
templates that do not fit."""

from __future__ import annotations

from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.design.rows.logged.known_entities import ADDING, without_inserted
from pkadvisor.lazy import pl
from pkadvisor.numbers import percent
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import Operation, Workload

_ARTICLES = ("a", "an")
STRANGE_SHARE = 0.5
"""Requests for what is not there are usual up to this share of a class: for deleted, expired and new entities."""
FOREIGN_SHARE = 0.01
"""Share of a table's logged requests whose keys no template writes, from which the answer says so first."""


def strange_requests(workload: Workload, data: DataProfile | None, entities: int) -> tuple[str, ...]:
    """What of a log cannot be what the design says, one sentence each, the weightiest first."""
    foreign = workload.foreign
    if foreign.requests < FOREIGN_SHARE * foreign.logged or not foreign.requests:
        return strange_values(workload, data, entities)
    keys = ((name, key) for name, key in (("PartitionKey", foreign.partition_key), ("RowKey", foreign.row_key)))
    example = ", ".join(f"{name} '{shown_value(key)}'" for name, key in keys if key is not None)
    sentence = (
        f"{percent(foreign.requests / foreign.logged)} of the logged requests fit no key template; they are not "
        f"counted, such as {_ARTICLES[foreign.operation[:1] in 'iu']} {foreign.operation} of {example}"
    )
    return (sentence, *strange_values(workload, data, entities))


def strange_values(workload: Workload, data: DataProfile | None, entities: int) -> tuple[str, ...]:
    """For each property, the class of which most sampled requests name values outside of the data; the worst first.

    A value is strange where the complete data has no row with it, nor the log an insert of it; a bound, or a value
    beside a sample of the rows, and a value that is inserted, where it lies beyond the least and the greatest at hand
    by more than their distance. Of a window both bounds must: today's last moment lies ahead of the data.
    ``entities``: how many there are in the table. A class of few of the requests, such as the purge of an old day, is
    no sign of templates that do not fit.
    """
    if data is None or data.keys_of_log:
        return ()
    rates = {c.name: c.rate.mean_per_s for c in workload.classes}
    rare = {name for name, per_s in rates.items() if 0 < per_s < FOREIGN_SHARE * sum(rates.values())}
    complete = data.complete and entities <= data.rows
    worst: dict[str, tuple[float, str]] = {}
    elsewhere = {c.name for c in workload.classes if c.operation in (*ADDING, Operation.DELETE)}
    for name, frame in workload.instances.items():
        if name in rare:
            continue
        for column in frame.columns:
            source = column.removesuffix(LOW).removesuffix(HIGH)
            if source in data.hashed or source not in data.sample.columns:
                continue
            exact = column == source and name not in elsewhere  # what is new, or gone, has values of its own
            held = data.sample.get_column(source)
            asked = _without_overlaps(frame, column, source, held)
            strange = _strange(asked, held, complete, exact)
            if strange is None or frame.height == 0:
                continue
            strange = without_inserted(strange, source, workload) if exact else strange
            share = strange.len() / frame.height - (workload.absent.get(name, 0.0) if exact else 0.0)
            if share > STRANGE_SHARE and share > worst.get(source, (0.0, ""))[0]:
                pair = other_case(strange, data.sample.get_column(source))
                worst[source] = (share, _sentence(name, source, share, strange, complete and exact, pair))
    return tuple(sentence for _, sentence in sorted(worst.values(), key=lambda pair: (-pair[0], pair[1])))


def _without_overlaps(frame: pl.DataFrame, column: str, source: str, held: pl.Series) -> pl.Series:
    """What is asked for in a column; of the bounds of windows those of which the other bound is far from the data on
    the same side: a window from long before the data to long behind it holds all of it."""
    asked = frame.get_column(column)
    other = source + (HIGH if column.endswith(LOW) else LOW)
    if column == source or other not in frame.columns:
        return asked
    bound = frame.get_column(other)
    far = far_values(bound, held)
    if far is None:
        return asked
    least = held.drop_nulls().min()
    same_side = (asked < least) == (bound < least)
    return asked.filter(same_side & bound.is_in(far.unique().implode()))


def _strange(asked: pl.Series, held: pl.Series, complete: bool, exact: bool) -> pl.Series | None:
    """The values asked for that the data cannot have; None where the two cannot be compared."""
    present, values = asked.drop_nulls(), held.drop_nulls()
    if exact and complete and present.dtype == values.dtype and values.len():
        return present.filter(~present.is_in(values.unique().implode()))
    return far_values(asked, held)


def far_values(asked: pl.Series, held: pl.Series) -> pl.Series | None:
    """The numbers or times asked for that lie outside of those held by more than the distance of the least and the
    greatest; None where the two cannot be compared."""
    present, values = asked.drop_nulls(), held.drop_nulls()
    if present.dtype != values.dtype or not values.len():
        return None
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        return None
    least, most = values.min(), values.max()
    margin = most - least  # type: ignore[operator]
    try:
        return present.filter((present < least - margin) | (present > most + margin))  # type: ignore[operator]
    except OverflowError:  # times near the years 1 and 9999
        return present.filter((present < least) | (present > most))


def other_case(asked: pl.Series, held: pl.Series) -> tuple[str, str] | None:
    """A text that is asked for and one of the data that differs from it in the case of its letters alone, where most of
    those asked for have such a one; else None."""
    if asked.dtype != pl.String or held.dtype != pl.String:
        return None
    own = pl.DataFrame({"asked": asked.drop_nulls().unique(maintain_order=True)})
    values = pl.DataFrame({"held": held.drop_nulls().unique(maintain_order=True)})
    folded = values.unique(pl.col("held").str.to_lowercase(), keep="first", maintain_order=True)
    left, right = pl.col("asked").str.to_lowercase(), pl.col("held").str.to_lowercase()
    both = own.join(folded, left_on=left, right_on=right, how="inner", maintain_order="left")
    both = both.filter(pl.col("asked") != pl.col("held"))
    if not both.height or both.height <= STRANGE_SHARE * own.height:
        return None
    return shown_value(both["asked"][0]), shown_value(both["held"][0])


def _sentence(
    query: str, name: str, share: float, strange: pl.Series, complete: bool, pair: tuple[str, str] | None
) -> str:
    if pair is not None:
        return (
            f"'{query}' asks in {percent(share)} of its logged requests for values of {name} that the data has in "
            f"other letters alone: '{pair[0]}' in the log, '{pair[1]}' in the data; keys tell upper from lower case"
        )
    example = shown_value(strange[0])
    where = "in the data" if complete else "near the data"
    return (
        f"'{query}' asks in {percent(share)} of its logged requests for values of {name} that are not {where}, such as "
        f"'{example}': do data and log belong together, and are the keys read as they are made?"
    )


_UNQUOTED = str.maketrans("'{}", "’()")


def shown_value(value: object) -> str:
    """A value in at most 40 characters; times in whole seconds.

    It stands between quotes, which hide it in a redacted result: a value must not end them, nor look like a template.
    """
    from datetime import datetime

    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return str(value)[:40].translate(_UNQUOTED)
