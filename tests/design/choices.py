"""Instances of the choice for tests and benchmarks, and its exhaustive solution by other means than the product's."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product
from random import Random

from hypothesis import strategies as st

from pkadvisor.design.choice.choice import Cost, Instance, Statement, StatementPlan, Structure

numbers = st.integers(0, 12).map(float)
wide = st.sampled_from([0.0, 1.0, 2.0, 5.0, 10.0, 11.0, 40.0, 100.0, 101.0, 110.0, 400.0])


@st.composite
def costs(draw: st.DrawFn, resources: list[str]) -> Cost:
    """A cost on a coarse grid, so that ties are common and tolerances are met exactly or clearly missed."""
    loaded = draw(st.lists(st.sampled_from(resources), max_size=2, unique=True)) if resources else []
    loads = tuple((name, draw(wide)) for name in loaded)
    return Cost(draw(numbers), draw(wide), draw(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.5, 3.0])), loads)


@st.composite
def instances(draw: st.DrawFn, most: int = 12) -> Instance:
    """At most ``most`` structures of one to three kinds: ties, dear updates, and sets that cannot be."""
    resources = ["disk", "account"][: draw(st.integers(0, 2))]
    structures: list[Structure] = []
    statements: list[Statement] = []
    kinds = draw(st.integers(1, 3))
    for kind in range(kinds):
        room = most // kinds
        mains = draw(st.integers(1, min(3, room)))
        rows = draw(st.lists(st.integers(0, mains - 1), max_size=room - mains))
        names = [f"k{kind}m{m}" + "x" * draw(st.integers(0, 1)) for m in range(mains)]
        owners = [""] * mains + [names[m] for m in rows]
        names += [f"{names[m]}+r{n}" + "x" * draw(st.integers(0, 1)) for n, m in enumerate(rows)]
        for name, owner in zip(names, owners, strict=True):
            updates = [("w", draw(costs(resources)))] if draw(st.booleans()) else []
            eventual = bool(owner) and draw(st.booleans())
            structures.append(Structure(name, f"k{kind}", owner, eventual, draw(wide), tuple(updates)))
        for number in range(draw(st.integers(0, 2))):
            plans = [
                StatementPlan((name,), draw(costs(resources)))
                for name, owner in zip(names, owners, strict=True)
                if not owner
            ]
            for name, owner in zip(names, owners, strict=True):
                if owner and draw(st.booleans()):
                    plans.append(StatementPlan((owner, name), draw(costs(resources))))
            ordered = draw(st.booleans())
            if ordered:
                plans.sort(key=lambda p: (p.cost.requests_per_s, p.structures))
            statements.append(Statement(f"k{kind}q{number}", tuple(plans), ordered))
    capacities = tuple((name, draw(st.sampled_from([100.0, 600.0, 3000.0, 6000.0]))) for name in resources)
    most_rows = draw(st.sampled_from([None, None, 0, 1, 3]))
    return Instance(tuple(structures), tuple(statements), capacities, rows_most=most_rows)


Goals = tuple[Fraction, Fraction, Fraction, Fraction, int, int, Fraction, Fraction, int, tuple[str, ...]]


def exhaustive(instance: Instance) -> tuple[str, ...]:
    """The structures of the best set: every set and every choice of plans, in exact fractions, goal after goal."""
    found: list[Goals] = []
    sides = []
    for main in (s for s in instance.structures if not s.main):
        rows = [s for s in instance.structures if s.main == main.name]
        subsets = chain.from_iterable(combinations(rows, n) for n in range(len(rows) + 1))
        sides.append((main.kind, [(main, *subset) for subset in subsets]))
    kinds = sorted({kind for kind, _ in sides})
    for parts in product(*([some for kind, sets in sides if kind == k for some in sets] for k in kinds)):
        some = tuple(chain.from_iterable(parts))
        if instance.rows_most is not None and sum(1 for s in some if s.main) > instance.rows_most:
            continue
        names = {s.name for s in some}
        options: list[list[StatementPlan]] = []
        for statement in instance.statements:
            usable = [p for p in statement.plans if set(p.structures) <= names]
            options.append(usable[:1] if statement.ordered else usable)
        found += [goals_of(instance, some, plans) for plans in product(*options)]

    def keep(place: int, slack: str) -> None:
        nonlocal found
        bound = min(g[place] for g in found) * (1 + Fraction(slack))  # type: ignore[type-var, operator]
        found = [g for g in found if g[place] <= bound]  # type: ignore[operator]

    for place, slack in enumerate(["0", "0", "0.1"]):
        keep(place, slack)
    enough = [g for g in found if g[3] <= Fraction(1, 10)]
    if enough:
        found = enough
    else:
        found = [g for g in found if g[3] <= min(f[3] for f in found) / Fraction("0.95")]
    for place, slack in ((4, "0"), (5, "0"), (6, "0.01"), (7, "0.01"), (8, "0")):
        keep(place, slack)
    return min(g[9] for g in found)


def goals_of(instance: Instance, some: tuple[Structure, ...], plans: tuple[StatementPlan, ...]) -> Goals:
    """What the goals compare, in exact fractions; load over capacity in place of the break factor."""
    paid = [c for s in some for _, c in s.updates] + [p.cost for p in plans]
    requests, entities = (
        sum((Fraction(getattr(c, f)) for c in paid), Fraction(0)) for f in ("requests_per_s", "entities_per_s")
    )
    stored = sum((Fraction(s.storage_bytes) for s in some), Fraction(0))
    rows, away = sum(1 for s in some if s.main), sum(1 for s in some if s.eventual)
    shares = [
        sum((Fraction(load) for c in paid for n, load in c.loads if n == name), Fraction(0)) / Fraction(capacity)
        for name, capacity in instance.capacities
    ]
    names = {s.name for s in some}
    factors = [share * Fraction(instance.horizon_factor) for share in shares]
    worst = max(factors, default=Fraction(0))
    late = max((Fraction(c.latency_excess) for c in paid), default=Fraction(0))
    return (
        worst if worst > 1 else Fraction(0), max(Fraction(1), late), requests, max(shares, default=Fraction(0)), away,
        rows, entities, stored, sum(map(len, names)), tuple(sorted(names)),
    )  # fmt: skip


def generated(seed: int, kinds: int, statements: int, mains: int, rows: int, *, heat: float = 1.0) -> Instance:
    """A large instance: each kind has ``mains`` main schemes and ``rows`` index rows, spread over them.

    A quarter of the statements write. A query is served well by some main schemes and by some rows, badly by the rest;
    costs are drawn from a log-uniform range; more ``heat`` spreads loads over fewer partitions.
    """
    random = Random(seed)
    structures: list[Structure] = []
    plans: dict[str, list[StatementPlan]] = {}
    capacities = [("account", 20_000.0)]
    asked = [(f"s{n}", f"kind{n % kinds}", n % 4 == 3, 10 ** random.uniform(-1, 2)) for n in range(statements)]

    def load(resource: str, rate: float, entities: float, spread: float) -> tuple[tuple[str, float], ...]:
        return (("account", rate), (resource, rate * entities / spread))

    for kind in sorted({k for _, k, _, _ in asked}):
        own = [a for a in asked if a[1] == kind]
        names = [f"{kind} main {m}" for m in range(mains)]
        places = [(name, "", False) for name in names]
        for number in range(rows):
            owner, away = names[number % mains], random.random() < 0.6
            places.append((f"{owner} + row {number} {'away' if away else 'inside'}", owner, away))
        spreads = {name: 10 ** random.uniform(0.5, 3) / heat for name, _, _ in places}
        for name, owner, away in places:
            resource = f"partition of {name if away or not owner else owner}"
            if away or not owner:
                capacities.append((resource, 2_000.0))
            updates = []
            for statement, _, writes, rate in own:
                requests = rate * (1 if away or not owner else 0)
                if writes:
                    updates.append((statement, Cost(requests, rate, 0.5, load(resource, rate, 1, spreads[name]))))
                    continue
                good = random.random() < (0.3 if owner else 0.15)
                if owner and not good and random.random() < 0.5:
                    continue
                scanned = 10 ** random.uniform(0, 1) if good else 10 ** random.uniform(2, 4)
                pages = 1 + int(scanned / 1000) + (0 if good else random.randint(0, 7))
                cost = Cost(rate * pages, rate * scanned, 0.1 + pages / 6, load(resource, rate, scanned, spreads[name]))
                plans.setdefault(statement, []).append(StatementPlan((owner, name) if owner else (name,), cost))
            structures.append(Structure(name, kind, owner, away, random.choice([64.0, 300.0, 310.0]), tuple(updates)))
    made = tuple(Statement(name, tuple(plans.get(name, ()))) for name, _, _, _ in asked)
    return Instance(
        tuple(structures),
        made,
        tuple(capacities),
    )


def knapsack(seed: int, rows: int, resources: int) -> Instance:
    """Rows that each save the requests of one statement and take from several capacities: hard to prove."""
    random = Random(seed)
    names = [f"m + r{n:02d}" for n in range(rows)]
    taken = {name: tuple((f"c{r}", float(random.randint(20, 99))) for r in range(resources)) for name in names}
    structures = [Structure("m", "k")]
    structures += [Structure(name, "k", "m", updates=(("w", Cost(loads=taken[name])),)) for name in names]
    saved = {name: sum(load for _, load in taken[name]) / resources + random.randint(1, 9) for name in names}
    statements = [
        Statement(f"q{n}", (StatementPlan(("m",), Cost(100 + saved[name])), StatementPlan(("m", name), Cost(100))))
        for n, name in enumerate(names)
    ]
    half = [(f"c{r}", sum(dict(taken[n])[f"c{r}"] for n in names) * 1.5) for r in range(resources)]
    return Instance(tuple(structures), (*statements, Statement("w", ())), tuple(half))
