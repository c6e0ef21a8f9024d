"""What the keys of one kind share with the keys in use of the other kinds of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.choice.sections import Section, declared_keys, types_of
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.shared_keys import Entities, shared_among_kinds
from pkadvisor.design.plan.access_plan import Access


def with_shared_keys(bench: Bench, section: Section, schemes: Sequence[KeyScheme | None]) -> Bench:
    """The bench with what the schemes of one kind share with the keys in use of the others."""
    own = [scheme for scheme in schemes if scheme is not None]
    others = [
        (entities_of(other), keys) for other in section.siblings if own and (keys := keys_in_use(other)) is not None
    ]
    if not others:
        return bench
    entities = entities_of(section)
    shared_keies = [shared for scheme in own for shared in shared_among_kinds(entities, scheme, others)]
    return replace(bench, shared=(*bench.shared, *dict.fromkeys(shared_keies)))


def scans_of_other_kinds(section: Section, designs: Sequence[CostEstimate | None]) -> tuple[str, ...]:
    """That scans of the table read the rows of its other kinds as well, which are not counted."""
    rows = sum(other.data.rows for other in section.siblings if other.data is not None)
    classes = [c for design in designs if design is not None for c in design.classes]
    names = dict.fromkeys(c.name for c in classes if c.plan is not None and c.plan.access is Access.TABLE_SCAN)
    return tuple(
        f"'{name}' scans the table, and so reads the rows of its other kinds ({rows:,} given) as well: they are not "
        "counted"
        for name in names
        if rows
    )


def keys_in_use(section: Section) -> KeyScheme | None:
    """The declared keys of a section; None where there are none."""
    known = types_of(section) if section.data is not None else None
    return declared_keys(section.declared, known, section.design_path, kind=section.kind)


def entities_of(section: Section) -> Entities:
    """What is known of the entities of a section."""
    data = section.data
    frame = None if data is None else data.sample
    return Entities(
        section.kind or "", types_of(section), frame, frozenset() if data is None else frozenset(data.hashed)
    )
