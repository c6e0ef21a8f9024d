"""All tables and kinds judged together: each alone, then the kinds of a table arranged, then all on one account."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pkadvisor.design.choice.judge import judge
from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.choice.several_kinds.account import AccountLoad, judged_beside, table_name
from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, account_of
from pkadvisor.design.choice.several_kinds.judge_kinds import judge_kinds
from pkadvisor.design.choice.several_kinds.kinds import Arranged
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Budget
from pkadvisor.limits import Limits
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
    judged_tables = []
    for (section, dataset), schemes in zip(sections, named, strict=True):
        progress.phase(f"judge {section.table}" + (f" {section.kind}" if section.kind else ""))
        judged_tables.append(
            finished(judge(section, limits, dataset, named=tuple(schemes), budgets=budgets, detailed=detailed))
        )
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
