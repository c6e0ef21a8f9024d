"""What the keys of one kind share with the keys in use of the other kinds of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.choice.sections import declared_keys, types_of

if TYPE_CHECKING:
    from pkadvisor.design.choice.sections import Section
    from pkadvisor.design.keys.scheme import KeyScheme
    from pkadvisor.design.load.estimates import Bench
    from pkadvisor.design.load.shared_keys import Entities


def with_shared_keys(bench: Bench, section: Section, schemes: Sequence[KeyScheme | None]) -> Bench:
    """The bench with what the schemes of one kind share with the keys in use of the others."""
    from pkadvisor.design.load.shared_keys import shared_among_kinds

    own = [scheme for scheme in schemes if scheme is not None]
    others = [
        (entities_of(other), keys) for other in section.siblings if own and (keys := keys_in_use(other)) is not None
    ]
    if not others:
        return bench
    entities = entities_of(section)
    shared_keies = [shared for scheme in own for shared in shared_among_kinds(entities, scheme, others)]
    return replace(bench, shared=(*bench.shared, *dict.fromkeys(shared_keies)))


def keys_in_use(section: Section) -> KeyScheme | None:
    """The declared keys of a section; None where there are none."""
    known = types_of(section) if section.data is not None else None
    return declared_keys(section.declared, known, section.design_path, kind=section.kind)


def entities_of(section: Section) -> Entities:
    """What is known of the entities of a section."""
    from pkadvisor.design.load.shared_keys import Entities

    data = section.data
    frame = None if data is None else data.sample
    return Entities(
        section.kind or "", types_of(section), frame, frozenset() if data is None else frozenset(data.hashed)
    )
