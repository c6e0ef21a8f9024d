"""Which kinds of a table share a PartitionKey: every set of transactions that could be kept is laid out and weighed.

Sharing keeps a transaction atomic and saves requests; it adds the kinds' load on each partition. Kinds that no kept
transaction joins are laid out apart, each in the way that suits it best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from pkadvisor.design.choice.choice import REQUESTS_TOLERANCE, slowest_allowed
from pkadvisor.design.choice.conflicts import Constraint, broken_by, conflicts_in, constraint_of
from pkadvisor.design.choice.goals import missing_least
from pkadvisor.design.choice.several_kinds.account import account_loads
from pkadvisor.design.choice.several_kinds.given_keys import offer_in_use, saved_per_s, stays
from pkadvisor.design.choice.several_kinds.kinds import (
    Arranged,
    Arrangement,
    Bond,
    Contradiction,
    KindPool,
    Relaxation,
    labelled,
)
from pkadvisor.design.cost.class_cost import class_cost
from pkadvisor.design.cost.heat_findings import grown
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.broken_sets import SETS_ALL, sets_weight
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, CostEstimate, Violation
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.dependencies import in_one_way
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, ratio

PARTITIONS_ADDED = 2_000
"""The hottest partitions of each kind whose loads are added up; what lies beyond is colder than any of them."""
BONDS_MAX = 6
"""Transactions across kinds of which every subset is weighed; more are kept or lost together."""

Ranking = Callable[[str, tuple[Bond, ...]], Sequence[CostEstimate]]
"""The schemes of a kind, best first, where these transactions must be kept."""


def arrange(
    table: str,
    bonds: Sequence[Bond],
    pools: Mapping[str, KindPool],
    ranking: Ranking,
    limits: Limits,
) -> Arranged:
    """Choose which transactions are kept, and lay out the kinds for that."""
    able = [b for b in bonds if not b.missing]
    per_subset = [_apart_or_shared(chosen, bonds, pools, ranking, limits) for chosen in _subsets(able)]
    arrangements = [a for options in per_subset for a in options]
    best = _best(arrangements, limits)
    best = next((a for a in arrangements if stays(a, best, pools)), best)
    rivals = [_best(options, limits) for options in per_subset if options and best not in options]
    conflicts = []
    for constraints in conflicts_in(
        [broken for options in per_subset for a in options for broken in _breakable(a, pools)]
    ):
        relaxed = []
        for dropped in constraints:
            rest = frozenset(constraints) - {dropped}
            left = [a for a in arrangements if not a.broken() & rest]
            if left:
                relaxed.append(Relaxation(dropped, _best(left, limits, besides=dropped)))
        conflicts.append(Contradiction(constraints, tuple(relaxed)))
    return Arranged(table, tuple(bonds), best, tuple(rivals), tuple(conflicts))


def _breakable(arrangement: Arrangement, pools: Mapping[str, KindPool]) -> list[frozenset[Constraint]]:
    """The least sets of constraints that a layout breaks, over all schemes that were priced of the kinds that share no
    partition."""
    shared = {kind for _, kinds in arrangement.shared for kind in kinds}
    fixed = frozenset(constraint_of(v) for k, v in arrangement.violations if not v.assumed and (k in shared or not k))
    out = {fixed}
    for kind, pool in pools.items():
        if kind not in shared:
            ways = _least({frozenset(broken_by(estimate)) for estimate in pool.priced})
            out = _least({before | way for before in out for way in ways})
    return sorted(out, key=sorted)


def _least(sets: set[frozenset[Constraint]]) -> set[frozenset[Constraint]]:
    """Those that hold no other."""
    return {each for each in sets if not any(other < each for other in sets)}


def _subsets(bonds: Sequence[Bond]) -> Iterator[tuple[Bond, ...]]:
    if len(bonds) > BONDS_MAX:
        yield ()
        yield tuple(bonds)
        return
    for size in range(len(bonds) + 1):
        yield from combinations(bonds, size)


def _best(arrangements: Sequence[Arrangement], limits: Limits, besides: Constraint | None = None) -> Arrangement:
    """By the goals in their order: constraints, latency, requests within a tenth; then transactions kept, head-room up
    to what is enough, structures, more head-room, entities, text order."""

    def violations(a: Arrangement) -> list[Violation]:
        return [v for _, v in a.violations if besides is None or constraint_of(v) != besides]

    left = missing_least(arrangements, violations)
    slowest = slowest_allowed(min(a.latency_excess for a in left))
    left = [a for a in left if a.latency_excess <= slowest]
    cheapest = min(a.requests_per_s for a in left)
    left = [a for a in left if a.requests_per_s <= cheapest * (1 + REQUESTS_TOLERANCE)]
    # Of equally cheap ones the one that keeps more transactions, then the one that leaves more head-room; a constant
    # PartitionKey can never be spread, so what the transaction has in common goes before it.
    return min(
        left,
        key=lambda a: (
            -len(a.kept),
            sum(1 for text, _ in a.shared if "{" not in text),
            max(a.hottest_per_s, limits.partition_entities_per_s / BREAK_ENOUGH),
            a.structures,
            a.hottest_per_s,
            a.entities_per_s,
            tuple(estimate.scheme.text for _, estimate in a.schemes),
        ),
    )


def _components(bonds: Sequence[Bond]) -> list[tuple[str, ...]]:
    """Kinds joined by transactions, directly or through others."""
    groups: list[set[str]] = []
    for bond in bonds:
        joined = set(bond.kinds)
        for group in [g for g in groups if g & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    return [tuple(sorted(g)) for g in sorted(groups, key=sorted)]


def _apart_or_shared(
    bonds_held: tuple[Bond, ...],
    bonds: Sequence[Bond],
    pools: Mapping[str, KindPool],
    ranking: Ranking,
    limits: Limits,
) -> list[Arrangement]:
    """Every layout that keeps exactly these transactions: one for each PartitionKey that all kinds of a component
    have."""
    options: list[dict[str, CostEstimate]] = [{}]
    shared: list[list[tuple[str, tuple[str, ...]]]] = [[]]
    for kinds in _components(bonds_held):
        offers = _common(kinds, bonds_held, pools, ranking)
        if not offers:
            return []
        options = [{**option, **offer} for option in options for _, offer in offers]
        shared = [[*before, (text, kinds)] for before in shared for text, _ in offers]
    lone = [k for k in pools if not any(k in b.kinds for b in bonds_held)]
    out = []
    for option, groups in zip(options, shared, strict=True):
        schemes = {**option, **{k: pools[k].apart[0] for k in lone}}
        ordered = tuple((k, schemes[k]) for k in pools)
        out.append(_arrangement(bonds_held, bonds, tuple(groups), ordered, pools, limits))
    return out


def _common(
    kinds: tuple[str, ...],
    bonds: tuple[Bond, ...],
    pools: Mapping[str, KindPool],
    ranking: Ranking,
) -> list[tuple[str, dict[str, CostEstimate]]]:
    """For each PartitionKey template that every kind has a lawful scheme under, the best scheme of each."""
    from pkadvisor.design.cost.cost import estimate

    by_kind: dict[str, dict[str, CostEstimate]] = {}
    for kind in kinds:
        offered: dict[str, CostEstimate] = {}
        for of_kind in ranking(kind, tuple(b for b in bonds if kind in b.kinds)):
            if not any(v.code in ("transaction-broken", "not-unique", "isolation") for v in of_kind.violations):
                written = in_one_way(of_kind.scheme.main.partition, pools[kind].bench.population)
                offered.setdefault(format_template(written), of_kind)
        by_kind[kind] = offered
    common = [t for t in by_kind[kinds[0]] if all(t in by_kind[k] for k in kinds)]
    out = offer_in_use(kinds, bonds, pools)
    for text in common:
        schemes = {kind: by_kind[kind][text].scheme for kind in kinds}
        shared = _partition_of_all(schemes, {kind: pools[kind].bench.population for kind in kinds})
        offer = {}
        for kind in kinds:
            scheme = schemes[kind] if shared is None else _over(schemes[kind], shared)
            # Judged with its own transactions only: what crosses kinds is judged for all of them together.
            scheme, priced = labelled(scheme, kind, [*pools]), pools[kind].shared
            if scheme.text not in priced:
                priced[scheme.text] = estimate(scheme, pools[kind].bench)
            offer[kind] = priced[scheme.text]
        out.append((text if shared is None else format_template(shared), offer))
    return out


def _partition_of_all(
    schemes: Mapping[str, KeyScheme], populations: Mapping[str, Population]
) -> tuple[Part, ...] | None:
    """The PartitionKey that all kinds write, of templates that always give the same text: one that a kind has, else as
    the rules write it; None where no kind's template is over properties that all kinds have."""
    given = list(dict.fromkeys(scheme.main.partition for scheme in schemes.values()))
    if len(given) > 1:
        given.insert(0, in_one_way(given[0], next(iter(populations.values()))))

    def everywhere(parts: tuple[Part, ...]) -> bool:
        return all(rows.has(name) for rows in populations.values() for part in parts for name in part.properties)

    return next((parts for parts in given if everywhere(parts)), None)


def _over(scheme: KeyScheme, partition: tuple[Part, ...]) -> KeyScheme:
    """The scheme with another PartitionKey of the same text."""
    rows = tuple(
        replace(r, key=Key(partition, r.key.row)) if scheme.same_partition(r) else r for r in scheme.index_rows
    )
    return replace(scheme, main=Key(partition, scheme.main.row), index_rows=rows)


def _arrangement(
    bonds_held: tuple[Bond, ...],
    bonds: Sequence[Bond],
    shared: tuple[tuple[str, tuple[str, ...]], ...],
    schemes: tuple[tuple[str, CostEstimate], ...],
    pools: Mapping[str, KindPool],
    limits: Limits,
) -> Arrangement:
    saved = sum(saved_per_s(b, dict(schemes), limits) for b in bonds_held)
    saved_peak = sum(saved_per_s(b, dict(schemes), limits, peak=True) for b in bonds_held)
    violations = [(kind, v) for kind, estimate in schemes for v in estimate.violations]
    horizon = max(estimate.horizon_factor for _, estimate in schemes)
    hottest = max((estimate.hot.entities_per_s for _, estimate in schemes if estimate.hot is not None), default=0.0)
    for _, kinds in shared:
        load, text = joint_load([_hottest_of(pools[k], dict(schemes)[k]) for k in kinds])
        hottest = max(hottest, load)
        if load * horizon > limits.partition_entities_per_s:
            violations = [(k, v) for k, v in violations if not (k in kinds and v.code == "hot-partition")]
            violations.append(("", _hot(text, load, kinds, limits, horizon, pools)))
    requests_peak = sum(estimate.requests_per_s_peak for _, estimate in schemes) - saved_peak
    members = [(kind, pools[kind].bench, estimate) for kind, estimate in schemes]
    over = [v for load in account_loads(members, limits, saved_peak) if (v := load.violation()) is not None]
    violations = [(kind, v) for kind, v in violations if v.code not in {each.code for each in over}]
    violations += [("", each) for each in over]
    names = {b.name for b in bonds_held}
    for bond in bonds:
        if bond.name not in names and bond.required:
            violations.append(("", _lost(bond, _sets(bond, pools))))
        elif bond.name in names and bond.required and bond.entities > limits.group_transaction_entities:
            violations.append(("", _too_large(bond, limits, _sets(bond, pools))))
    violations = _of_all_sets(violations, bonds, pools)
    return Arrangement(
        tuple(b.name for b in bonds_held),
        shared,
        schemes,
        tuple(violations),
        sum(estimate.requests_per_s for _, estimate in schemes) - saved,
        requests_peak,
        sum(estimate.entities_per_s for _, estimate in schemes),
        hottest,
    )


def _sets(bond: Bond, pools: Mapping[str, KindPool]) -> float:
    """How many sets of a transaction there are, by the kind that has most of them."""
    populations = [pools[kind].bench.population for kind in bond.kinds]
    atoms = [("p", name) for name in bond.group_by]
    return max(1.0, *(float(p.distinct(atoms)) for p in populations if all(map(p.has, bond.group_by))), 1.0)


def _of_all_sets(
    violations: Sequence[tuple[str, Violation]], bonds: Sequence[Bond], pools: Mapping[str, KindPool]
) -> list[tuple[str, Violation]]:
    """Broken sets, each weighed among the sets of all required transactions of the table."""
    within = {
        (kind, t.name): float(t.sets) for kind, pool in pools.items() for t in pool.apart[0].transactions if t.required
    }
    sets_of = math.fsum((*within.values(), *(_sets(b, pools) for b in bonds if b.required)))
    return [
        (kind, replace(v, sets_of=sets_of, severity=sets_weight(v.sets, sets_of)) if v.sets_of else v)
        for kind, v in violations
    ]


def _hot(
    text: str,
    load: float,
    kinds: tuple[str, ...],
    limits: Limits,
    horizon: float,
    pools: Mapping[str, KindPool],
) -> Violation:
    target = limits.partition_entities_per_s
    declared = any(pools[k].bench.workload.growth is not None for k in kinds)
    message = f"partition '{text}' takes the load of {', '.join(kinds)}: {load:,.0f} entities/s at the peak"
    reached = load
    if load <= target:
        reached = load * horizon
        message += f", {grown(load, reached, declared)}"
    message += f", {ratio(reached / target)} the target of {target:,.0f}"
    plain = message.replace(f"'{text}' ", "")
    return Violation(
        "hot-partition",
        message,
        load,
        target,
        "entities/s",
        load * horizon / target,
        load <= target and not declared,
        (text,) if text else (),
        plain,
    )


def _lost(bond: Bond, sets: float) -> Violation:
    if bond.missing:
        lacks = "; ".join(bond.missing)
        why = (
            f"no key can make '{bond.name}' one group transaction ({', '.join(m.name for m in bond.members)}): {lacks}"
        )
    else:
        why = f"transaction '{bond.name}' is not one group transaction: its kinds have PartitionKeys of their own"
    return Violation(
        "transaction-broken", why, 1.0, 0.0, "transaction", SETS_ALL, subject=bond.name, sets=sets, sets_of=sets
    )


def _too_large(bond: Bond, limits: Limits, sets: float) -> Violation:
    message = f"'{bond.name}' writes {amount(bond.entities)} entities on average: more than one group transaction holds"
    limit = float(limits.group_transaction_entities)
    return Violation(
        "transaction-too-large",
        message,
        bond.entities,
        limit,
        "entities",
        SETS_ALL,
        subject=bond.name,
        sets=sets,
        sets_of=sets,
    )


def _hottest_of(pool: KindPool, estimate: CostEstimate) -> Mapping[str, float]:
    """The loads of the hottest partitions of one kind, by their keys."""
    text = estimate.scheme.text
    if text not in pool.hottest:
        pool.hottest[text] = _hottest_partitions(pool.bench, estimate)
    return pool.hottest[text]


def joint_load(kinds: Sequence[Mapping[str, float]]) -> tuple[float, str]:
    """(entities per second at the peak, PartitionKey) of the hottest partition of kinds that share one.

    Of each kind the hottest partitions are added up by their key; a colder one counts as the coldest that was added.
    """
    totals: dict[str, float] = {}
    for each in kinds:
        for text, load in each.items():
            totals[text] = totals.get(text, 0.0) + load
    if not totals:
        return 0.0, ""
    text = max(totals, key=lambda t: (totals[t], t))
    return totals[text], text


def _hottest_partitions(bench: Bench, estimate: CostEstimate) -> dict[str, float]:
    population, parts = bench.population, estimate.scheme.main.partition
    loads = LoadMap(population, schedule_of(bench.workload, population))
    for demand in bench.demands:
        class_cost(demand, estimate.scheme, bench, estimate.transactions, loads.of(demand.query.name))
    vector = loads.at_peaks(parts)
    ids, _ = population.groups(atoms_of(parts))
    hottest = np.argsort(-vector, kind="stable")[:PARTITIONS_ADDED]
    first = np.full(len(vector), -1, dtype=np.int64)
    first[ids[: population.rows][::-1]] = np.arange(population.rows - 1, -1, -1)
    out: dict[str, float] = {}
    for group in hottest.tolist():
        if vector[group] > 0 and first[group] >= 0:
            text = encode_row(parts, population, int(first[group]))
            out[text] = out.get(text, 0.0) + float(vector[group])
    return out
