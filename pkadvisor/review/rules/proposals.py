"""The keys that are proposed in place of those in use: only where the rules themselves find less wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part
from pkadvisor.observe.design_file.declaration import IndexRowDeclaration
from pkadvisor.observe.design_file.declaration_yaml import PlacedText
from pkadvisor.review.views.findings import Severity
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import DesignView, TableView

IN_THE_SAMPLE = " (unique among {})"


class Proposals:
    """What is proposed for each table, found once. ``asked`` tells the severities of what rules find in one table."""

    def __init__(self, asked: Callable[[DesignView, TableView], Sequence[Severity]]) -> None:
        self.asked = asked
        self.found: dict[TableView, str] = {}

    def of(self, subject: Subject) -> str:
        """The keys that the adviser recommends instead of those in use; empty where it keeps them, cannot say, or the
        rules find an error in them or no less to warn of."""
        table = subject.table
        if table is None:
            return ""
        if table not in self.found:
            self.found[table] = self._of(table)
        return self.found[table]

    def _of(self, table: TableView) -> str:
        judged = table.judged
        if judged is None or judged.advice is None or judged.advice.keep or not judged.advice.recommended.feasible:
            return ""
        scheme = judged.advice.recommended.scheme
        trial = under(table, scheme)
        then = self.asked(trial.design, trial)
        if Severity.ERROR in then:
            return ""
        now = [s for s in self.asked(table.design, table) if s is not Severity.INFO]
        if len([s for s in then if s is not Severity.INFO]) >= len(now):
            return ""
        if table.population is None or not _rests_on_sample(table, scheme):
            return scheme.text
        shared = _shared_over_all_rows(table, scheme)
        if shared:
            return ""
        return scheme.text + (IN_THE_SAMPLE.format(table.population.looked_at) if shared is None else "")


def under(table: TableView, scheme: KeyScheme) -> TableView:
    """A table as it would be under other keys, in a copy of its design."""
    rows = tuple(
        IndexRowDeclaration(
            None if scheme.same_partition(row) else _placed(row.key.partition), _placed(row.key.row), row.copy
        )
        for row in scheme.index_rows
    )
    keys = {"partition_key": _placed(scheme.main.partition), "row_key": _placed(scheme.main.row), "index_rows": rows}
    made = copy(table.design)
    made.__dict__.pop("subjects", None)
    proposed = TableView(made, replace(table.section, declared=replace(table.declared, **keys)), table.dataset)
    # The data is the same: it is not read again, and no search is made.
    proposed.__dict__ |= {"_keys": (scheme, ""), "_prepared": table._prepared, "judged": None}
    made.tables = tuple(proposed if t is table else t for t in made.tables)
    return proposed


def _placed(parts: tuple[Part, ...]) -> PlacedText:
    return PlacedText(format_template(parts), 1, 1)


def _rests_on_sample(table: TableView, scheme: KeyScheme) -> bool:
    """Whether only the rows at hand say that keys without a property of today's keys tell all entities apart."""
    population, now = table.population, table.scheme
    if population is None or population.complete or now is None:
        return False
    return not set(now.main.properties) <= set(scheme.main.properties)


def _shared_over_all_rows(table: TableView, scheme: KeyScheme) -> int | None:
    """Entities whose proposed key another one has, over every row of the data; None where only a sample can be read."""
    from pkadvisor.design.choice.verify import collisions, readable

    data, dataset = table.section.data, table.dataset
    if data is None or not readable(data, dataset) or dataset is None:
        return None
    return collisions(dataset, scheme.main, data.types)
