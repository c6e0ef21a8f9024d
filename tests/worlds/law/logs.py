"""The law *logs*: a workload as declared, and the same as a log of the requests that clients send for it, say the same.

The keys in use are invertible. The declared queries have the parameters of every entity equally often; the log holds
just these requests, under the printed plans for the keys in use, in one format drawn for the world: with the pages of
long answers, attempts that the service throttled and their retries, and inserts in group transactions. Held are: the
log has a class of each shape (property by property: fixed, a range, or a choice) with the declared rate; entities
returned of each; and the same recommended keys, or keys that the declared workload, too, puts within every goal's
tolerance of its own best.

Queries that a client sends as several requests are left out (buckets, periods, values of a choice in a key): the log
shows the requests of one query as several, which is documented. ``order_by`` and ``top`` are declared in both, since
the logs of the service show no order; what a log has under ``or`` is an upper bound. Rates are held within ``RATE``: a
log of ten minutes tells its length by its first and last request. Updates and deletes name the whole key.

A log's parameters are a sample of at most 5,000 for a class and 20,000 for a table: the tables of this law are cut so
that all of them are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from math import gcd
from pathlib import Path
from random import Random

from tests.worlds.answers import operand_value
from tests.worlds.key_text import properties, read_by
from tests.worlds.law.best import beaten, printed_goals
from tests.worlds.law.log_lines import FORMATS, SUFFIX, Line, log_text
from tests.worlds.law.sent_text import request_text
from tests.worlds.model import AnyOf, Asked, Compare, Kind, Negated, Parameter, Scheme, Transaction, World
from tests.worlds.printed import Tree, key_parts, read_filter
from tests.worlds.requests import Requests, plan_of
from tests.worlds.rows import Layout, lay_out
from tests.worlds.running import Document, analyzed, scheme_of, schemes_of, scored
from tests.worlds.truth import PAGE, Broken
from tests.worlds.values import BINARY, DATETIME, DOUBLE, INT32, INT64, Row

NAME = "logs"
LENGTH_S = 600
RATE = 0.02
COUNTS = 1e-3
"""A log names each parameter as often as the declared distribution does; sums run in another order."""
ROUNDS = (1, 1, 2, 3)
CLASS_LINES, TABLE_LINES = 5_000, 20_000
"""Requests of which a log keeps the parameters."""
ROWS = 2_000
THROTTLED = 0.05
GROUPS = (2, 3, 5)
"""Entities of a group transaction."""


def invertible(random: Random, kind: Kind) -> Scheme:
    """Keys that tell every property in them: a group, a time perhaps, and what is unique."""

    def part(name: str) -> str:
        edm = kind.types[name]
        if edm in (INT32, INT64):
            numbers = [abs(v) for row in kind.rows if isinstance(v := row[name], int)]
            width = len(str(max(numbers, default=1))) + 1
            return random.choice((f"{{pad({name},{width})}}", f"{{sortable({name})}}", f"{{{name}}}"))
        if edm == DOUBLE:
            return f"{{sortable({name})}}"
        if edm == DATETIME:
            return random.choice((f"{{ticks({name})}}", f"{{reverse_ticks({name})}}", f"{{{name}}}"))
        return f"{{{name}}}"

    groups = [n for n in ("city", "team", "status") if n in kind.types and kind.types[n] != BINARY]
    row = [part("at")] if "at" in kind.types and random.random() < 0.7 else []
    return Scheme(part(random.choice(groups)) if groups else "all", "_".join([*row, part("id")]))


def sendable(asked: Asked, kind: Kind) -> bool:
    """Whether its parameters are those of the entities, and the log can show the shape of a query.

    No log shows a condition on one value of a list that no key has: the caller keeps the rows that satisfy it; nor
    that a range over one whole number is no equality, or a choice among equal values a choice. Keys that tell every
    property serve no text of which the lower case alone is known.
    """
    conditions = asked.conditions()
    alike = all(not isinstance(c, AnyOf) or len({i.name for i in c.items}) == 1 for c in conditions)
    of_list = any(c.name in kind.several for c in asked.comparisons())
    folded = any(c.operator == "lower" for c in asked.comparisons())
    shown = alike and not of_list and not folded and not any(_of_one_number(asked, name) for name in kind.types)
    shown = shown and not any(_of_one_value(c, kind) for c in conditions if isinstance(c, AnyOf))
    return asked.operation == "query" and shown and bool(asked.parameters())


def _of_one_number(asked: Asked, name: str) -> bool:
    """Whether bounds leave one whole number: ``n ge {n} and n lt {n+1}``."""
    step = {"ge": 0, "gt": 1, "le": 0, "lt": -1}
    ends = {
        c.operator[0]: c.operand.offset + step[c.operator]
        for c in asked.comparisons()
        if c.name == name and c.operator in step and isinstance(c.operand, Parameter)
    }
    return len(ends) == 2 and ends["g"] == ends["l"]


def _of_one_value(condition: AnyOf, kind: Kind) -> bool:
    """Whether a choice names one value alone for every entity: ``n eq {n} or n eq 5`` where all are 5."""
    edm = kind.types[condition.items[0].name]
    return all(len({operand_value(item.operand, row, edm) for item in condition.items}) == 1 for row in kind.rows)


def declared(world: World, random: Random, form: str) -> World:
    """The world with invertible keys, and queries and writes whose requests a log shows one by one."""
    kind = replace(world.kinds[0], rows=world.kinds[0].rows[:ROWS])
    asked = [
        Asked(f"q{n}", kind.name, "query", each.where, 1.0, order_by=each.order_by, top=each.top)
        for n, each in enumerate(a for a in world.asked if sendable(a, kind))
    ]
    scheme = invertible(random, kind)
    whole = tuple(dict.fromkeys((*read_by(scheme.partition), *read_by(scheme.row))))
    keyed = tuple(Compare(name, "eq", Parameter(name)) for name in whole)
    asked += [Asked(op, kind.name, op, keyed, 1.0) for op in ("update", "delete") if random.random() < 0.3]
    together = tuple(read_by(scheme.partition))
    size = random.choice(GROUPS) if form != "exchanges" and together and random.random() < 0.3 else 1
    kind = replace(kind, rows=_in_groups(kind, scheme, size), schemes=(), arrival=None)
    asked.append(Asked("insert", kind.name, "insert", None, 1.0, entities_per_request=size))
    unlike = {shape_of(a): a for a in asked}
    most = min(CLASS_LINES, TABLE_LINES // len(unlike)) // max(1, len(kind.rows))
    rated = []
    for each in unlike.values():
        rounds = min(random.choice(ROUNDS), max(1, most))
        lines = sum(1 for _ in _instances(each, kind)) * rounds
        rated.append(replace(each, rate=lines / LENGTH_S / each.entities_per_request))
    return replace(
        world,
        kinds=(kind,),
        asked=tuple(rated),
        current=scheme,
        transactions=(Transaction("insert together", ("insert",), together),) if size > 1 else (),
        growth=None,
        retention_days=None,
        extra={},
    )


def _in_groups(kind: Kind, scheme: Scheme, size: int) -> tuple[Row, ...]:
    """The rows of full groups of one partition each, group behind group."""
    if size == 1:
        return kind.rows
    apart: dict[tuple[object, ...], list[Row]] = {}
    for row in kind.rows:
        apart.setdefault(tuple(row[n] for n in read_by(scheme.partition)), []).append(row)
    return tuple(row for rows in apart.values() for row in rows[: len(rows) // size * size])


def shape_of(asked: Asked) -> tuple[object, ...]:
    """What tells classes apart in a log: the operation, and how each property is met."""
    return asked.operation, tuple(sorted(_met(asked).items()))


def _met(asked: Asked) -> dict[str, str]:
    """How each property is met by the filter."""
    met: dict[str, str] = {}
    for condition in asked.conditions():
        if isinstance(condition, AnyOf):
            met[condition.items[0].name] = "or"
            continue
        test = condition.item if isinstance(condition, Negated) else condition
        word = "not" if isinstance(condition, Negated) else {"eq": "eq", "ne": "ne"}.get(test.operator, "range")
        met[test.name] = word
    return met


def _instances(asked: Asked, kind: Kind) -> Iterator[dict[str, object]]:
    needed = asked.parameters()
    return ({n: row[n] for n in needed} for row in kind.rows if all(row[n] is not None for n in needed))


def lines_of(world: World, current: Document, layout: Layout, random: Random, form: str) -> Iterator[Line]:
    """The requests of the declared workload under the keys in use, of which a printed scheme has the plans."""
    number = 0
    plans = {c["name"]: c for c in current["classes"]}
    for place, asked in enumerate(world.asked):
        size = asked.entities_per_request
        times = round(asked.rate * LENGTH_S * size)
        sent = _in_turn(list(_sent(asked, plans[asked.name], layout)), size)
        for n in range(times):
            number += 1
            # Parts of a group transaction come at one time.
            at = (n - n % size + (place + 1) / (len(world.asked) + 1)) * LENGTH_S / times
            line = replace(sent[n % len(sent)], at_s=at, number=number, client=f"c-{number}")
            if size > 1:
                line = replace(line, group=f"g-{number - n % size}", part=n % size + 1)
                if line.part == 1 and form != "trace":
                    yield replace(line, part=0, key=None)
                yield line
                continue
            if random.random() < THROTTLED:
                yield replace(line, number=10**7 + number, status=503, page=0)
                line = replace(line, at_s=at + 0.001)
            yield replace(line, page=0)
            for page in range(1, line.page + 1):
                number += 1
                yield replace(line, at_s=line.at_s + 0.001 * page, number=number, client=f"c-{number}", page=page)


def _in_turn(lines: list[Line], size: int) -> list[Line]:
    """The requests in groups of some size, those of each partition evenly over the time: in the order of their keys all
    that a partition takes would come in the same minutes, which is another load than the declared one."""
    groups = [lines[begin : begin + size] for begin in range(0, len(lines) - size + 1, size)]
    groups.sort(key=lambda group: (group[0].key or ("", ""), group[0].filter or ""))
    rest = lines[len(groups) * size :]
    step = next(n for n in count(max(1, round(0.618 * len(groups)))) if gcd(n, len(groups)) == 1) if groups else 1
    return [line for n in range(len(groups)) for line in groups[n * step % len(groups)]] + rest


def _sent(asked: Asked, printed: Document, layout: Layout) -> Iterator[Line]:
    """One request for each entity whose values are asked; ``page`` is how many pages follow the first."""
    if asked.operation != "query":
        # An update names what its key is made of: of entities that miss some of it nobody is declared to ask.
        named = read_by(layout.scheme.partition) + read_by(layout.scheme.row) if asked.operation != "insert" else ()
        for row in layout.rows:
            entity = layout.kind.rows[row.entity]
            if row.via == 0 and all(entity[name] is not None for name in named):
                yield Line(0.0, asked.operation, 0, key=(row.partition, row.row))
        return
    plan = plan_of(asked, printed)
    requests, types = Requests(plan, layout), layout.kind.types
    for values in _instances(asked, layout.kind):
        for one in requests.of(dict(values)):  # type: ignore[arg-type]
            text = request_text(one.terms, plan.conditions, dict(values), types)  # type: ignore[arg-type]
            further = 0 if plan.top is not None else max(0, one.stop - one.start - 1) // PAGE
            yield Line(0.0, "query", 0, text, top=plan.top, page=further)


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """What a log says otherwise than the declaration of the same workload."""
    if len(world.kinds) > 1:
        return
    random = Random(world.seed)
    form = random.choice(FORMATS)
    mine = declared(world, random, form)
    first = analyzed(mine, folder / "declared")
    table = first["tables"][0]
    layout = lay_out(mine.kinds[0], mine.current)  # type: ignore[arg-type]
    if not layout.unique or table["current"] is None:
        return
    many = {c["name"] for c in table["current"]["classes"] if c["filters"] and c["fan_out"] != 1}
    if many:
        mine = replace(mine, asked=tuple(a for a in mine.asked if a.name not in many))
        table = (first := analyzed(mine, folder / "declared"))["tables"][0]
    if len(mine.asked) < 2:
        return
    # What no log shows is declared beside it: the order of an answer, how much of it is wanted.
    bare = replace(mine, asked=tuple(a for a in mine.asked if a.order_by or a.top is not None), transactions=())
    place = folder / f"requests.{SUFFIX[form]}"
    place.write_text(
        log_text(lines_of(mine, table["current"], layout, random, form), mine.table, form), encoding="utf-8"
    )
    second = analyzed(bare, folder / "logged", logs=(str(place),))
    other = second["tables"][0]
    scheme = mine.current
    assert scheme is not None
    wanted = {shape_of(a): a for a in mine.asked}
    got: dict[tuple[object, ...], list[Document]] = {}
    for cls in other["workload"]:
        got.setdefault(_logged_shape(cls), []).append(cls)
    yield from _same_answers(form, other)
    derived = {shape for shape, asked in wanted.items() if _derived(layout.scheme, table, asked)}
    keyed = {*read_by(scheme.partition), *read_by(scheme.row)} if derived else set()
    for shape, asked in wanted.items():
        if shape in derived or _met(asked).keys() <= keyed:  # what is derived is logged as a condition on these
            continue
        if shape not in got:
            shown = "; ".join(str(c["filter"]) for c in other["workload"])
            yield Broken(NAME, f"{form}: a class of the shape {shape}", scheme.text, shown, "a class")
            continue
        rate = sum(c["rate_per_s"] for c in got[shape])
        if abs(rate - asked.rate) > RATE * asked.rate:
            yield Broken(NAME, f"{form}: rate of {shape}", scheme.text, rate, asked.rate)
        logged = [_printed(other, c["name"]) for c in got[shape]]
        yield from _same_counts(form, scheme, shape, _printed(table, asked.name), logged)
    if not derived:  # else the log has a condition more, which keys can serve
        yield from _same_keys(form, mine, table, other, folder)


def _same_answers(form: str, table: Document) -> Iterator[Broken]:
    """What a class returns is the same under all keys, unless it stops at so many entities or is an upper bound."""
    known = {
        c["name"]: c["entities_returned"]
        for c in table["current"]["classes"]
        if c["top"] is None and not any("upper bound" in note for note in c["notes"])
    }
    for scheme in schemes_of(table):
        for each in scheme["classes"]:
            true = known.get(each["name"], each["entities_returned"])
            if abs(each["entities_returned"] - true) > COUNTS * max(true, 1e-6):
                text = scheme_of(scheme).text
                yield Broken(
                    NAME, f"{form}: entities returned of {each['name']}", text, each["entities_returned"], true
                )


def _logged_shape(cls: Document) -> tuple[object, ...]:
    """The shape of a class as a result prints it."""
    met: dict[str, str] = {}
    for test in read_filter(cls["filter"] or ""):
        if isinstance(test, Tree):
            inner = test.operands[0]
            met[getattr(inner, "name", "?")] = "or" if test.operator == "or" else "not"
        else:
            met[test.name] = {"eq": "eq", "ne": "ne"}.get(test.operator, "range")
    return cls["operation"], tuple(sorted(met.items()))


def _printed(table: Document, name: str) -> Document:
    found: Document = next(c for c in table["current"]["classes"] if c["name"] == name)
    return found


def _derived(scheme: Scheme, table: Document, asked: Asked) -> bool:
    """Whether the plan uses that one property is a function of another: the log then shows the other one, too."""
    plan = plan_of(asked, _printed(table, asked.name)) if asked.operation == "query" else None
    if plan is None:
        return False
    named = {n for t in plan.on_keys for p in key_parts(t.operand) for n in properties(p)}
    if not named <= {*read_by(scheme.partition), *read_by(scheme.row)}:
        return True
    templates = {"PartitionKey": scheme.partition, "RowKey": scheme.row}
    return any(
        t.name in templates and not _met(asked).keys() & {*read_by(templates[t.name])} for t in plan.on_keys
    )  # such as a range of texts that begin with the value of another property


def _same_counts(form: str, scheme: Scheme, shape: object, one: Document, logged: list[Document]) -> Iterator[Broken]:
    """The counts of a declared class against the mean of what the log has of its shape.

    A condition under ``not`` whose constant a log shows as a parameter is documented to leave an upper bound of the
    entities returned. Where ``top`` ends the answer, so many are found sooner: what is read is then a lower bound.
    """
    total = sum(c["rate_per_s"] for c in logged)
    bounded = any("upper bound" in note for c in (one, *logged) for note in c["notes"])
    for what in ("entities_returned", "entities_read", "requests"):
        found = sum(c["rate_per_s"] * c[what] for c in logged) / total
        low = found - one[what] < -COUNTS * max(abs(one[what]), 1e-6)
        high = found - one[what] > COUNTS * max(abs(one[what]), 1e-6)
        sooner = bounded and one["top"] is not None and what != "entities_returned"
        if (low and not sooner) or (high and (sooner or not bounded)):
            yield Broken(NAME, f"{form}: {what} of {shape}", scheme.text, float(f"{found:.6g}"), one[what])


def _same_keys(form: str, world: World, table: Document, other: Document, folder: Path) -> Iterator[Broken]:
    """The same recommended keys, or keys that are as good for the declared workload."""
    best, logged = scheme_of(table["recommended"]), scheme_of(other["recommended"])
    if best.text == logged.text:
        return
    named = replace(world, kinds=(replace(world.kinds[0], schemes=(logged,)),))
    ((priced,),) = scored(named, folder / "both").values()
    assumed = all(v["assumed_growth"] for v in priced["violations"])
    current = world.current
    assert current is not None
    stays = replace(logged, index_rows=()) == replace(current, index_rows=())
    if assumed and stays and set(current.index_rows) <= set(logged.index_rows):
        return  # keys in use stay, with rows added, though growth that nobody declared passes a target
    # Whether a load at its target passes it is told by the measured rate.
    if any(abs(1 - printed_goals(scheme)["break factor"]) <= RATE for scheme in (priced, table["recommended"])):
        return
    # The goals have an order: keys that are better at one may be worse at those behind it.
    goal = beaten(printed_goals(priced), printed_goals(table["recommended"]))
    if goal is not None:
        one, two = (next(g["value"] for g in s["goals"] if g["goal"] == goal) for s in (table["recommended"], priced))
        yield Broken(NAME, f"{form}: keys, by {goal}", best.text, f"{logged.text}: {two}", one)
