"""Judging the kinds of a table together, where transactions cross them.

All tables and kinds judged together: each alone, then the kinds of a table arranged, then all on one account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.choice.judge import VERIFY_ROUNDS, judge, learn, readable
from pkadvisor.design.choice.key_building import digits, separator_for
from pkadvisor.design.choice.kind_labels import begin_apart, kind_labels, with_label
from pkadvisor.design.choice.prepared import entities_of
from pkadvisor.design.choice.search import Advice, advise
from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.choice.several_kinds.account import AccountLoad, judged_beside, table_name
from pkadvisor.design.choice.several_kinds.arrange import arrange
from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, account_of
from pkadvisor.design.choice.several_kinds.kinds import Arranged, Bond, KindPool, bonds_of, bound
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, leading_text
from pkadvisor.design.load.estimates import Bench, Budget, CostEstimate
from pkadvisor.design.load.shared_keys import Entities, shared_key
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.dependencies import half_rules
from pkadvisor.documents.part import TOO_MANY
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.progress import Progress
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answers for all sections, the arrangements of their kinds, and what the recommended keys ask of the account
    together."""

    judged: tuple[Judged, ...]
    arranged: tuple[Arranged, ...]
    account: tuple[AccountLoad, ...]
    account_in_use: tuple[AccountLoad, ...]
    """What they ask under the keys in use; a table or kind without any has the recommended ones."""


def judge_tables(
    sections: Sequence[tuple[Section, Dataset | None]],
    named: Sequence[Sequence[KeyScheme]],
    limits: Limits,
    budgets: tuple[Budget, ...],
    progress: Progress,
    *,
    detailed: bool = True,
    finished: Callable[[Judged], Judged] = lambda judged: judged,
    checked: Callable[[Sequence[Judged]], None] = lambda judged: None,
) -> Judgement:
    """The one answer that every command advises, tests and prints.

    ``named`` are the candidates of each section; ``finished`` completes each answer before the kinds are arranged, and
    ``checked`` may raise where nothing can be weighed. ``detailed`` as ``judge`` has it.
    """
    judged_tables, benches = list[Judged](), dict[str, dict[str, Bench | None]]()
    for (section, dataset), schemes in zip(sections, named, strict=True):
        progress.phase(f"judge {section.table}" + (f" {section.kind}" if section.kind else ""))
        settled = {
            j.section.kind or "": j.advice.recommended.scheme
            for j in judged_tables
            if j.section.table == section.table and j.advice is not None and not j.advice.keep
        }
        of_table = benches.setdefault(section.table, {})
        one = judge(
            section,
            limits,
            dataset,
            named=tuple(schemes),
            budgets=budgets,
            detailed=detailed,
            settled=settled,
            benches=of_table,
        )
        judged_tables.append(finished(one))
    checked(judged_tables)
    arranged_judged, arranged = judge_kinds(judged_tables, limits, [dataset for _, dataset in sections])
    account, in_use = _accounts(arranged_judged, limits)
    return Judgement(tuple(judged_beside(arranged_judged, account, in_use)), arranged, account, in_use)


def _accounts(judged: Sequence[Judged], limits: Limits) -> tuple[tuple[AccountLoad, ...], tuple[AccountLoad, ...]]:
    """What all ask of the account under the recommended keys, and under those in use."""
    recommended, in_use, unpriced = list[GivenKeys](), list[GivenKeys](), []
    for each in judged:
        if each.bench is None or each.advice is None:
            unpriced.append((table_name(each.section), each.workload))
            continue
        advice = each.advice
        recommended.append(GivenKeys(each.section, each.bench, (advice.recommended,)))
        in_use.append(GivenKeys(each.section, each.bench, (advice.current or advice.recommended,)))
    return account_of(recommended, unpriced, limits), account_of(in_use, unpriced, limits)


ONE_SET = 1.5
"""Times that the entities of a key and those that one transaction writes may lie apart, so that they are the same."""


# ----------------------------------------------------------------------------------------------------------------------
# Proposals for the kinds of one table, told apart: no row gets a key that a row of another kind can have, and none
# lies among those of another kind.


def told_apart(judged: Sequence[Judged]) -> list[Judged]:
    """The kinds of one table with labels before the RowKeys that another kind's rows could have.

    Keys that are kept stay as they are; of two that are proposed the later one gets the label first.
    """
    from pkadvisor.design.cost.cost import estimate

    schemes = {j.section.kind or "": j.advice.recommended.scheme for j in judged if j.advice is not None}
    unchanged = {j.section.kind or "" for j in judged if j.advice is not None and j.advice.keep}
    entities = {j.section.kind or "": entities_of(j.section) for j in judged}
    labelled = apart(schemes, unchanged, entities)
    out = []
    for each in judged:
        advice, kind = each.advice, each.section.kind or ""
        if advice is None or each.bench is None or labelled[kind] == schemes[kind]:
            out.append(each)
            continue
        chosen = estimate(labelled[kind], each.bench)
        before = advice.recommended.scheme.text
        ranking = (chosen, *(c for c in advice.ranking if c.scheme.text not in (before, chosen.scheme.text)))
        counted = dict(each.counted)
        if advice.recommended.scheme.main in counted:  # a label moves no entity into another partition
            counted[chosen.scheme.main] = counted[advice.recommended.scheme.main]
        notes = (
            *each.notes,
            f"{kind_labels([*schemes])[kind]} stands before RowKeys that rows of other kinds could have",
        )
        given = replace(advice, recommended=chosen, ranking=ranking)
        out.append(replace(each, advice=given, counted=tuple(counted.items()), notes=notes))
    return out


def apart(
    schemes: Mapping[str, KeyScheme], unchanged: set[str], entities: Mapping[str, Entities]
) -> dict[str, KeyScheme]:
    """The schemes of the kinds of a table with a label of the kind before each RowKey that could be another kind's.

    Those of ``unchanged`` kinds stay as they are. A pair that no label can help, both kept or both labelled, stays too.
    """
    labels, labelled = kind_labels([*schemes]), dict(schemes)
    while True:
        for one, number, other, place in _meeting(labelled, entities):
            free = next(
                (at for at in ((other, place), (one, number)) if _can_have(labelled, unchanged, labels, *at)), None
            )
            if free is not None:
                labelled[free[0]] = _with_label(labelled[free[0]], free[1], labels[free[0]])
                break
        else:
            return labelled


def _meeting(schemes: Mapping[str, KeyScheme], entities: Mapping[str, Entities]) -> Iterator[tuple[str, int, str, int]]:
    """(kind, number of its row, later kind, number of its row) of keys that both can have, or that lie in one partition
    without labels of their own."""
    kinds = [*schemes]
    for at, one in enumerate(kinds):
        for other in kinds[at + 1 :]:
            for number, (key, _) in enumerate(schemes[one].each_key()):
                for place, (theirs, _) in enumerate(schemes[other].each_key()):
                    beside = key.partition == theirs.partition and not begin_apart(key.row, theirs.row)
                    if beside or shared_key(entities[one], key, entities[other], theirs, other) is not None:
                        yield one, number, other, place


def _can_have(
    schemes: Mapping[str, KeyScheme], unchanged: set[str], labels: Mapping[str, str], kind: str, number: int
) -> bool:
    """Whether a row may get the label of its kind: it is no kept one, and has none yet."""
    key = [key for key, _ in schemes[kind].each_key()][number]
    return kind not in unchanged and not leading_text(key.row).startswith(labels[kind])


def _with_label(scheme: KeyScheme, number: int, label: str) -> KeyScheme:
    keys = [key for key, _ in scheme.each_key()]
    keys[number] = Key(keys[number].partition, with_label(keys[number].row, label))
    rows = tuple(IndexRow(key, each.copy) for key, each in zip(keys[1:], scheme.index_rows, strict=True))
    return KeyScheme(keys[0], rows, scheme.pattern)


def arranged_as(arranged: Arranged, judged: Sequence[Judged]) -> Arranged:
    """An arrangement with the schemes that its kinds have in the end."""
    final = {j.section.kind: j.advice.recommended for j in judged if j.advice is not None}
    schemes = tuple((kind, final.get(kind, estimate)) for kind, estimate in arranged.chosen.schemes)
    return replace(arranged, chosen=replace(arranged.chosen, schemes=schemes))


def judge_kinds(
    judged: Sequence[Judged], limits: Limits, datasets: Sequence[Dataset | None] = ()
) -> tuple[list[Judged], tuple[Arranged, ...]]:
    """The kinds of each table with the schemes of their best arrangement, and those arrangements.

    Tables of one kind are left as they are; kinds that no transaction joins to another keep their schemes, with labels
    where their keys could meet. ``datasets`` are what the data of each can be read from again: then the keys chosen are
    checked over every row.
    """
    sources = {id(j): d for j, d in zip(judged, datasets, strict=False)}
    out = list(judged)
    arranged = []
    for table in dict.fromkeys(j.section.table for j in judged):
        places = [i for i, j in enumerate(judged) if j.section.table == table and j.section.kind and j.advice]
        arranged_kinds = _arranged(table, [judged[i] for i in places], limits, sources) if len(places) > 1 else None
        chosen = [judged[i] if arranged_kinds is None else _in_place(judged[i], arranged_kinds) for i in places]
        if len(places) > 1:
            chosen = _beside_one_another(told_apart(chosen), limits)
        for i, each in zip(places, chosen, strict=True):
            out[i] = each
        if arranged_kinds is not None:
            arranged.append(arranged_as(arranged_kinds, chosen))
    return out, tuple(arranged)


def _without_loads_beside(bench: Bench) -> Bench:
    """The bench without the loads of other kinds: an arrangement adds them up itself."""
    return replace(bench, other_kinds=tuple(rows.with_loads({}) for rows in bench.other_kinds))


def _beside_one_another(judged: Sequence[Judged], limits: Limits) -> list[Judged]:
    """The kinds of a table with the figures that their advised keys have beside the advised ones of the others, and
    their current keys beside the current ones, where these lie in the same partitions."""
    from pkadvisor.design.choice.beside_kinds import with_loads_of_other_kinds
    from pkadvisor.design.cost.cost import estimate

    benches: dict[str, Bench | None] = {j.section.kind or "": j.bench for j in judged}
    of_kind = {j.section.kind or "": j.advice for j in judged if j.advice is not None}
    advised = {kind: advice.recommended.scheme for kind, advice in of_kind.items()}
    in_use = {kind: advice.current.scheme for kind, advice in of_kind.items() if advice.current is not None}
    out = []
    for each in judged:
        kind, advice, bench = each.section.kind or "", each.advice, each.bench
        if advice is None or bench is None:
            out.append(each)
            continue
        best, current = advice.recommended, advice.current
        if others := _sharing(kind, advised):
            best = estimate(best.scheme, with_loads_of_other_kinds(bench, each.section, limits, others, benches))
            current = best if current is advice.recommended else current
        if current is not None and _sharing(kind, in_use):
            current = estimate(current.scheme, with_loads_of_other_kinds(bench, each.section, limits, {}, benches))
        ranking = tuple(best if c is advice.recommended else c for c in advice.ranking)
        moving = [name for name, other in of_kind.items() if name != kind and not other.keep]
        warnings = (*each.warnings, *_cooler_once_moved(advice, best, current, moving))
        given = replace(advice, recommended=best, ranking=ranking, current=current)
        out.append(replace(each, advice=given, warnings=warnings))
    return out


COOLER = 1.05
"""Times the load of the hottest partition today, of that beside the advised keys of other kinds, worth a sentence."""


def _cooler_once_moved(
    advice: Advice, best: CostEstimate, current: CostEstimate | None, moving: Sequence[str]
) -> tuple[str, ...]:
    """That keys are kept because other kinds leave their partitions."""
    if not advice.keep or current is None or current.hot is None or best.hot is None or not moving:
        return ()
    today, then = current.hot.entities_per_s, best.hot.entities_per_s
    if today <= COOLER * then:
        return ()
    others = " and ".join(moving)
    return (
        f"these figures hold once {others} moved to the advised keys: today the hottest partition takes "
        f"{amount(today)} entities/s, as rows of {others} lie in it",
    )


def _sharing(kind: str, schemes: Mapping[str, KeyScheme]) -> dict[str, KeyScheme]:
    """The schemes of the other kinds, if one of them has a PartitionKey of this one; else none."""
    templates = {name: {key.partition for key, _ in scheme.each_key()} for name, scheme in schemes.items()}
    others = {name: scheme for name, scheme in schemes.items() if name != kind}
    shared = any(templates.get(kind, set()) & templates[name] for name in others)
    return others if shared else {}


def _arranged(
    table: str, judged: Sequence[Judged], limits: Limits, sources: Mapping[int, Dataset | None]
) -> Arranged | None:
    declared = judged[0].section.declared
    if declared is None:
        return None
    by_kind = {j.section.kind or "": j for j in judged}
    properties = {k: j.bench.population.types for k, j in by_kind.items() if j.bench is not None}
    benches = {kind: _without_loads_beside(j.bench) for kind, j in by_kind.items() if j.bench is not None}
    alike = {
        kind: {d.source: d.target for d in half_rules(b.population) if d.both_ways and b.population.has(d.target)}
        for kind, b in benches.items()
    }
    bonds = tuple(b for b in bonds_of(declared.workload, properties, alike) if set(b.kinds) <= by_kind.keys())
    if not bonds:
        return None
    _write_alike(benches, bonds)
    separator = separator_for(*(benches[k] for k in dict.fromkeys(k for b in bonds for k in b.kinds)))
    pools = {
        kind: KindPool(kind, benches[kind], j.advice.ranking, j.advice.every_priced(), j.advice.current)
        for kind, j in by_kind.items()
        if j.advice is not None
    }
    out: dict[tuple[str, tuple[str, ...]], Sequence[CostEstimate]] = {}

    def ranking(kind: str, chosen: tuple[Bond, ...]) -> Sequence[CostEstimate]:
        # What one set has in common, a set with more in common has too: it asks for no other key.
        binding = tuple(b for b in chosen if not any(_binds(other, b, chosen) for other in chosen))
        memo = (kind, tuple(b.name for b in binding))
        if memo not in out:
            bench = benches[kind]
            workload = bound(bench.workload, binding, kind)
            out[memo] = advise(replace(bench, workload=workload), None, (), separator).ranking
        return out[memo]

    arranged = arrange(table, bonds, pools, ranking, limits)
    for _ in range(VERIFY_ROUNDS):
        if not any(_collides(by_kind[kind], arranged, sources) for kind in pools):
            break
        out.clear()
        for pool in pools.values():
            pool.shared.clear()
        arranged = arrange(table, bonds, pools, ranking, limits)
    return arranged


def _binds(one: Bond, other: Bond, among: Sequence[Bond]) -> bool:
    """Whether every key that keeps one transaction whole keeps the other; of two alike the first does."""
    mine, theirs = set(one.group_by), set(other.group_by)
    return mine < theirs or (mine == theirs and among.index(one) < among.index(other))


def _collides(judged: Judged, arranged: Arranged, sources: Mapping[int, Dataset | None]) -> bool:
    """Whether the key that a kind was given is found not to be unique over every row, and nobody knew."""
    data, dataset, bench = judged.section.data, sources.get(id(judged)), judged.bench
    assert data is not None
    assert bench is not None
    chosen = arranged.chosen.scheme_of(judged.section.kind or "")
    if not readable(data, dataset) or any(v.code == "not-unique" for v in chosen.violations):
        return False
    learn([chosen.scheme.main], bench, dataset, {})
    main = chosen.scheme.main
    return bool(bench.population.surplus_of_all(atoms_of((*main.partition, *main.row))))


def _write_alike(benches: dict[str, Bench], bonds: Sequence[Bond]) -> None:
    """Give a number that kinds have in common the same digits in all of their keys."""
    for name in dict.fromkeys(n for b in bonds for n in b.group_by):
        sharing = list(dict.fromkeys(k for b in bonds if name in b.group_by for k in b.kinds))
        populations = [benches[k].population for k in sharing if benches[k].population.has(name)]
        if populations and all(p.types[name].integer for p in populations):
            most = max(digits(p, name) for p in populations)
            for population in populations:
                population.digits[name] = most


def _too_many(bond: Bond, judged: Judged, arranged: Arranged) -> str:
    """What to say of a transaction that is kept, and writes all entities of a key at once, if some key has more of them
    than one group transaction holds; empty where none has."""
    kind, bench = judged.section.kind or "", judged.bench
    written = sum(m.entities for m in bond.members if m.kind == kind)
    atoms = [("p", name) for name in bond.common(kind)]
    if bench is None or bond.name not in arranged.chosen.kept or not atoms or not written:
        return ""
    population, limit = bench.population, bench.limits.group_transaction_entities
    of_key = population.rows / population.distinct(atoms)
    most = int(population.counts(atoms).max(initial=0)) + bond.entities - written
    if not population.whole(atoms) or most <= limit or max(of_key / written, written / of_key) > ONE_SET:
        return ""
    return f"transaction '{bond.name}{TOO_MANY}{limit} entities, and some would write {most:,.0f}: divide those"


def _in_place(judged: Judged, arranged: Arranged) -> Judged:
    """A kind with the scheme that the arrangement gives it."""
    advice, kind = judged.advice, judged.section.kind or ""
    assert advice is not None
    chosen = arranged.chosen.scheme_of(kind)
    too_many = [note for bond in arranged.bonds if (note := _too_many(bond, judged, arranged))]
    if chosen is advice.recommended:
        return replace(judged, notes=(*judged.notes, *too_many))
    ranking = (chosen, *(c for c in advice.ranking if c.scheme.text != chosen.scheme.text))
    keep = advice.current is not None and advice.current.scheme.text == chosen.scheme.text
    notes = (*judged.notes, *too_many)
    shared = next((kinds for _, kinds in arranged.chosen.shared if kind in kinds), ())
    if shared:
        others = ", ".join(k for k in shared if k != kind)
        load = arranged.chosen.hottest_per_s
        notes = (*notes, f"its partitions are shared with {others}: together the hottest takes {load:,.0f} entities/s")
    # How sure the first is was asked of the kind alone: of another pair.
    given = replace(advice, recommended=chosen, ranking=ranking, keep=keep, confidence=None)
    return replace(judged, advice=given, notes=notes)
