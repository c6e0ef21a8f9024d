"""Proposals for the kinds of one table, told apart: no row gets a key that a row of another kind can have, and none
lies among those of another kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.choice.several_kinds.kinds import Arranged, kind_labels
from pkadvisor.design.choice.shared import entities_of
from pkadvisor.design.keys.labels import begin_apart, label_of, with_label
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.load.shared_keys import Entities, shared_key

if TYPE_CHECKING:
    from pkadvisor.design.choice.sections import Judged


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
    return kind not in unchanged and not label_of(key.row).startswith(labels[kind])


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
