"""Pairs of values whose entities change together: the share that a key keeps in one partition by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.counting import keeps_together
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.plan.requests import repair_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import guarantee, in_common, logged_transactions, pairs_of_rows
from pkadvisor.limits import load_limits
from pkadvisor.observe.logs.frame import Op
from pkadvisor.observe.logs.traffic import Groups
from pkadvisor.observe.workload import (
    Basis,
    Operation,
    Pair,
    QueryClass,
    Rate,
    Transaction,
    Workload,
)
from pkadvisor.table.edm import EdmType

TYPES = {"account": EdmType.STRING, "bank": EdmType.STRING, "branch": EdmType.STRING}
ACCOUNTS = pl.DataFrame(
    {
        "account": ["a1", "a2", "a3", "b1", "b2"],
        "bank": ["a", "a", "a", "b", "b"],
        "branch": ["north", "south", "south", "north", "north"],
    }
)
TRANSFERS = pl.DataFrame({"from": ["a1", "a1", "a1", "b1", "a2"], "to": ["a2", "a2", "b1", "b2", "a3"]})
PAIR = Pair("account", ("from", "to"), pairs_of_rows(Pair("account", ("from", "to")), TRANSFERS))


def parse_scheme(partition: str, row: str = "") -> KeyScheme:
    return KeyScheme(parse_key(partition, row))


def population() -> Population:
    return Population(ACCOUNTS, TYPES)


def share(partition: str, pair: Pair = PAIR) -> float:
    return guarantee(pair, parse_key(partition, "{account}").partition, population()).share


@pytest.mark.parametrize(
    ("partition", "right"),
    [
        ("all", 1.0),
        ("{account}", 0.0),
        ("{bank}", 0.8),  # all but a1 to b1
        ("{prefix(account,1)}", 0.8),
        ("{branch}", 0.6),  # a1 to b1, b1 to b2, a2 to a3
        ("{bank}_{branch}", 0.4),  # b1 to b2, a2 to a3
        ("{hash(bank,2)}", 0.8),  # one bank has one bucket
        ("{hash(account,2)}", 0.0),  # they meet, and by chance alone
        ("{hash(concat(bank,account),2)}", 0.0),
        ("{bank}_{seq(4)}", 0.0),
    ],
)
def test_a_pair_counts_where_everything_that_the_key_reads_is_alike(partition: str, right: float) -> None:
    assert share(partition) == pytest.approx(right)


def test_pairs_are_counted_as_often_as_they_meet() -> None:
    found = guarantee(PAIR, parse_key("{bank}", "{account}").partition, population())
    assert (found.basis, found.pairs, found.whole) == (Basis.COUNTED, 4, False)
    assert found.sentence == "the PartitionKey guarantees one partition for 80 % of 4 pairs"


def test_where_nothing_names_pairs_any_two_values_may_meet() -> None:
    any_two = Pair("account", ("from", "to"))
    found = guarantee(any_two, parse_key("{bank}", "{account}").partition, population())
    assert found.basis is Basis.ASSUMED
    assert found.share == pytest.approx((3 * 2 + 2 * 1) / (5 * 4))  # two of one bank, of two that differ
    assert share("all", any_two) == 1
    assert share("{account}", any_two) == 0


def test_a_value_whose_entities_lie_apart_is_kept_with_none() -> None:
    edges = pl.DataFrame(
        {"user": ["u", "v", "u", "w"], "friend": ["v", "u", "w", "u"], "land": ["se", "se", "dk", "dk"]}
    )
    types = dict.fromkeys(edges.columns, EdmType.STRING)
    pair = Pair("user", ("user", "friend"), pairs_of_rows(Pair("user", ("user", "friend")), edges))
    assert guarantee(pair, parse_key("{land}", "{user}").partition, Population(edges, types)).share == 0


def test_properties_that_most_pairs_have_alike_are_tried_the_best_first() -> None:
    assert in_common(PAIR, population()) == ("bank", "branch")
    assert in_common(Pair("account", ("from", "to")), population()) == ()


# -- logs --------------------------------------------------------------------------------------------------------------


def logged(parts: Sequence[tuple[str | None, ...]], params: Sequence[tuple[str | None, ...]]) -> Groups:
    sample = tuple(tuple((Op.UPDATE, pk, "") for pk in keys) for keys in parts)
    return Groups(len(sample), sum(map(len, sample)), (), sample, tuple(params))


def test_a_log_whose_groups_differ_in_one_property_of_the_key_names_pairs() -> None:
    groups = logged([("a1", "a2"), ("a1", "b1")], [(None, None), (None, None)])
    (found,) = logged_transactions(groups, ["book"], parse_scheme("{account}"), TYPES, ())
    assert found.pair is not None
    assert (found.name, found.group_by, found.pair.property) == ("logged pairs", (), "account")
    assert found.pair.seen is not None
    assert sorted(found.pair.seen.iter_rows()) == [("a1", "a2", 0.5), ("a1", "b1", 0.5)]


def test_a_log_whose_groups_share_their_key_names_what_they_have_in_common() -> None:
    groups = logged([("a1", "a1"), ("b1", "b1")], [(None, None), (None, None)])
    (found,) = logged_transactions(groups, ["book"], parse_scheme("{account}"), TYPES, ())
    assert (found.name, found.group_by, found.pair, found.logged_entities) == ("logged group", ("account",), None, 2)
    rows = (((Op.INSERT, "n", "a_a1"), (Op.INSERT, "n", "a_a2")), ((Op.INSERT, "s", "b_b1"), (Op.INSERT, "s", "b_b2")))
    batches = Groups(2, 4, (), rows, ((None, None), (None, None)))
    (found,) = logged_transactions(batches, ["book"], parse_scheme("{branch}", "{bank}_{account}"), TYPES, ())
    assert found.group_by == ("branch", "bank")  # what the RowKeys of each batch share keeps it together, too


def test_a_group_of_one_moment_shares_the_period_of_its_partition_and_no_exact_time() -> None:
    types = {"at": EdmType.DATETIME, "gateway": EdmType.STRING, "device": EdmType.STRING}
    rows = tuple(tuple((Op.INSERT, "20260103", f"{g}_{d}") for d in ("d1", "d2")) for g in ("g1", "g2"))
    batches = Groups(2, 4, (), rows, ((None, None), (None, None)))
    scheme = parse_scheme("{time(at,'yyyyMMdd')}", "{gateway}_{device}")
    (found,) = logged_transactions(batches, ["send"], scheme, types, ())
    assert found.group_by == ("gateway",)
    at = [datetime(2026, 1, 3 + n // 4, 1, tzinfo=UTC) for n in range(8)]
    frame = pl.DataFrame({"at": at, "gateway": ["g1", "g2"] * 4, "device": [f"d{n}" for n in range(8)]})
    entities = Population(frame.with_columns(pl.col("at").dt.cast_time_unit("us")), types)
    day, device = scheme.main.partition, parse_key("{gateway}_{device}", "").partition
    assert keeps_together(found, day, entities)
    assert not keeps_together(replace(found, logged_entities=None), day, entities)
    assert not keeps_together(found, device, entities)


@pytest.mark.parametrize(
    ("partition", "minutes", "units"),
    [
        ("{gateway}", 0, ("HH", "dd")),  # one moment
        ("{gateway}", 2, ("HH", "dd")),
        ("{gateway}", 30, ("dd",)),
        ("{gateway}", 600, ()),
        ("{gateway}_{time(at,'yyyyMMdd')}", 600, ("dd",)),  # the parts of a group share their PartitionKey
    ],
)
def test_a_group_whose_keys_tell_its_times_shares_the_periods_that_hold_them(
    partition: str, minutes: int, units: tuple[str, ...]
) -> None:
    types = {"at": EdmType.DATETIME, "gateway": EdmType.STRING}
    scheme = parse_scheme(partition, "{ticks(at)}")
    at = [datetime(2026, 1, 3, 1, tzinfo=UTC) + timedelta(days=n // 2, minutes=minutes * (n % 2)) for n in range(8)]
    frame = pl.DataFrame({"at": at, "gateway": ["g1"] * 8}).with_columns(pl.col("at").dt.cast_time_unit("us"))
    entities = Population(frame, types)
    texts = key_texts(scheme.main.partition, scheme.main.row, population=entities)
    keys = [(Op.INSERT, *pair) for pair in texts.iter_rows()]
    batches = Groups(4, 8, (), tuple((keys[n], keys[n + 1]) for n in range(0, 8, 2)), ((None, None),) * 4)
    (found,) = logged_transactions(batches, ["send"], scheme, types, ())
    periods = {"HH": "yyyyMMddHH", "dd": "yyyyMMdd"}
    kept = [
        n for n, p in periods.items() if keeps_together(found, parse_key(f"{{time(at,'{p}')}}", "").partition, entities)
    ]
    assert kept == [*units]


def test_groups_of_a_log_without_keys_share_what_all_parts_name_alike() -> None:
    one = ('{"hotel": "h1", "night": 1, "price": 9}', '{"hotel": "h1", "night": 2, "price": 9}', '{"hotel": "h1"}')
    other = ('{"hotel": "h2", "night": 2}', '{"hotel": "h2", "night": 3}')
    groups = logged([(None,) * 3, (None,) * 2], [one, other])
    (found,) = logged_transactions(groups, ["book"], None, {}, ())
    assert (found.group_by, found.logged_entities) == (("hotel",), 2.5)
    apart = logged([(None, None)], [('{"night": 1}', '{"night": 2}')])
    assert logged_transactions(apart, ["book"], None, {}, ()) == ()
    (keyed,) = logged_transactions(logged([("p", "p")], [(None, None)]), ["book"], None, {}, ())
    assert keyed.group_by == ("PartitionKey",)


def test_parameters_of_a_trace_fill_a_declared_pair() -> None:
    declared = Transaction("transfer", ("book",), (), pair=Pair("account", ("from", "to")))
    groups = logged([(None, None)], [('{"account": "a1"}', '{"account": "b1"}')])
    (found,) = logged_transactions(groups, ["book"], parse_scheme("{account}"), TYPES, (declared,))
    assert found.pair is not None
    assert found.pair.seen is not None
    assert (found.name, found.pair.source) == ("transfer", "the log")
    assert list(found.pair.seen.iter_rows()) == [("a1", "b1", 1.0)]


# -- the protocol ------------------------------------------------------------------------------------------------------


def repair(
    partition: str, row: str, operation: Operation, pair: Pair = PAIR, isolation: str | None = None
) -> list[str]:
    writes = (QueryClass("book", operation, None, Rate(20.0, 20.0)),)
    workload = Workload("Bank", writes, isolation=isolation)
    found = repair_of(
        Transaction("transfer", ("book",), (), pair=pair), parse_scheme(partition, row), workload, load_limits()
    )
    assert found is not None
    return [*found.steps, found.find]


def test_an_update_is_marked_in_its_own_group_transaction() -> None:
    steps = repair("{account}", "ROW", Operation.UPDATE)
    assert steps[0].startswith("insert the intent row: PartitionKey 'INTENT', RowKey '{ticks(now)}_{id}'")
    assert "PartitionKey '{from}', RowKey 'ROW', with the row 'DONE:{id}' in the same group transaction" in steps[1]
    assert "PartitionKey '{to}', RowKey 'ROW', with the row 'DONE:{id}'" in steps[2]
    assert steps[3].startswith("set its state to done")
    assert steps[4].startswith("PartitionKey eq 'INTENT' and RowKey lt '{ticks(now)}' of 5 min ago: repeat")


def test_an_insert_needs_no_mark_and_the_mirrored_edge_has_its_own_keys() -> None:
    steps = repair("{user}", "{friend}", Operation.INSERT, Pair("user", ("user", "friend")))
    assert steps[1] == "'book' of user: PartitionKey '{user}', RowKey '{friend}'"
    assert steps[2] == "'book' of friend: PartitionKey '{friend}', RowKey '{user}'"
    assert steps[3] == "delete the intent row"


def test_intent_rows_keep_to_the_range_of_keys_of_a_tenant() -> None:
    steps = repair("{bank}_{account}", "", Operation.UPDATE, isolation="bank")
    assert "PartitionKey '{bank of from}_INTENT'" in steps[0]
    assert steps[4].startswith("for each of its partitions PartitionKey eq '{bank of from}_INTENT'")
