"""``advisor explain``: why a query is served as it is, why a scheme ranks where it does, what a key is made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.commands.rules import show_rule
from pkadvisor.cli.configuration import of_the_project, settings_for
from pkadvisor.cli.console import redact_result, show_page, write_bytes
from pkadvisor.cli.inputs import settle
from pkadvisor.cli.shared import Format, InputOptions, Judging, Shared, argument, option, target_words, unfold
from pkadvisor.documents.explanation import Explanation
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.progress import Progress

if TYPE_CHECKING:
    from pkadvisor.inputs import AnalyzeRequest

QUERY = "query:"
SCHEME = "scheme"
CURRENT = "current"
RECOMMENDED = "recommended"
WORDS = ("query", "scheme", "key", "keys")
TARGETS = ("query:NAME", "current", "recommended", "scheme:N", "scheme:KIND:N", "scheme", "key", "keys", "PK101")
_RULE = re.compile(r"[Pp][Kk][0-9]+|[A-Za-z]{2,8}[0-9]{3,4}|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+")

UseCase = Callable[["AnalyzeRequest", "Progress"], Explanation]


@unfold
def explain(
    target: str | None = argument(
        "PK101 or the name of a rule, query:NAME, current, recommended, scheme:N, scheme:KIND:N, key VALUE or "
        "keys; with --scheme alone: those keys.",
        "TARGET",
        None,
        autocompletion=target_words,
    ),
    texts: list[str] | None = argument("The key's text for 'key'; then data files.", "[VALUE] [DATA]", None),
    *,
    reading: InputOptions,
    scheme: str | None = option(
        "'PARTITIONKEY | ROWKEY'; for query: also current, recommended, or a rank such as 2.", metavar="WHICH"
    ),
    result: str | None = option("For scheme:N: the JSON result of an analysis, in place of data.", metavar="FILE"),
    judging: Judging,
    rules: list[str] | None = option("For a rule: a folder of rules of your own. Repeatable.", metavar="DIR"),
    shared: Shared,
) -> None:
    """Explain a rule, a query's plan, a scheme's place in the ranking, a key, or the templates of given keys.

    query:NAME (or a word of it) tells the access, the requests, entities read against returned, and why no better
    plan exists under the scheme. scheme:N tells where a scheme of the ranking (or scheme:KIND:N, of a kind of rows)
    loses and by how much, the queries that decide, the smallest change of one rate that would turn it, and which
    assumed numbers the verdict hangs on. --scheme alone tells the same of any keys. key VALUE tells what each piece of
    a key means. keys tells the templates that the keys in DATA look like, with the share of rows of each.

    Examples:
        advisor explain PK201
        advisor explain query:by-age --sample footrace --scheme recommended
        advisor explain scheme:2 --sample footrace
        advisor explain key '2023 Chicago Marathon__Full' --sample footrace
    """
    given = list(texts or ())
    if _is_rule(target, scheme, rules):
        if given or result is not None:
            raise UsageError("a rule is explained without data", where="TARGET", fix=f"advisor explain {target}")
        show_rule(str(target), rules, [str(path) for path in reading.limits or ()], shared)
        return
    target = _target(target, given, scheme)
    if result is not None:
        with listen(shared):
            document = _from_result(target, given, result, scheme, reading)
    else:
        use_case = _use_case(target, given, scheme, judging)
        request = _request(target, given, reading, judging, shared)
        with listen(shared) as progress:
            document = use_case(request, progress)
    _show(document, shared)


def _is_rule(target: str | None, scheme: str | None, rules: list[str] | None) -> bool:
    """Whether a target is meant as a rule: it looks like an id or a name, and is no file."""
    if rules and target is None:
        raise UsageError("which rule?", where="TARGET", fix="for example: advisor explain PK101")
    looks = target is not None and (bool(rules) or _RULE.fullmatch(target) is not None)
    return looks and not (scheme is not None and "|" in scheme and Path(str(target)).exists())


def _target(target: str | None, given: list[str], scheme: str | None) -> str:
    """What is explained: keys that are given alone, with ``--scheme``, need no word for it."""
    written = scheme is not None and "|" in scheme
    if scheme is not None and not written and "{" in scheme:
        raise UsageError(f"{scheme} is one key", where="--scheme", fix=f"two are needed: --scheme '{scheme} | ROWKEY'")
    if target is None:
        if not written:
            raise UsageError("what is to be explained?", where="TARGET", fix=f"there are {', '.join(TARGETS)}")
        return SCHEME
    if target in (CURRENT, RECOMMENDED):
        return f"{SCHEME}:{target}"
    if written and target.partition(":")[0] not in WORDS and Path(target).exists():
        given.insert(0, target)  # the first data file
        return SCHEME
    return target


def _from_result(target: str, given: list[str], result: str, scheme: str | None, reading: InputOptions) -> Explanation:
    """A scheme of the ranking, told from a result file alone."""
    from pkadvisor.usecases.explain_scheme import explain_stored

    which = target.removeprefix(f"{SCHEME}:")
    if which == target:
        raise UsageError("a result file holds schemes", where="--result", fix="advisor explain scheme:2 --result FILE")
    if given or scheme or reading.sample or reading.design or reading.log or reading.profile:
        what = "a result is explained from itself alone"
        raise UsageError(what, where="--result", fix="leave out either --result or the data, design and scheme")
    return explain_stored(result, which, reading.table or ())


def _use_case(target: str, given: list[str], scheme: str | None, judging: Judging) -> UseCase:
    """What to do for a target; takes the key's text off the words."""
    from pkadvisor.usecases.explain import explain_key, explain_keys, explain_query

    if target == SCHEME or target.startswith(f"{SCHEME}:"):
        return _scheme_use_case(target, scheme)
    if judging.candidates is not None or judging.budget:
        raise UsageError("--candidates and --budget go with scheme:N", where="TARGET", fix="advisor explain scheme:1 …")
    if target.startswith(QUERY) and len(target) > len(QUERY):
        name = target.removeprefix(QUERY)
        return lambda request, progress: explain_query(request, name, scheme, progress)
    if scheme is not None:
        raise UsageError("--scheme goes with query:NAME, or alone", where="--scheme")
    if target == "key":
        if not given:
            raise UsageError(
                "which key?", where="key", fix="for example: advisor explain key contoso_0b --design design.yaml"
            )
        value = given.pop(0)
        return lambda request, progress: explain_key(request, value, progress)
    if target == "keys":
        return explain_keys
    hint = did_you_mean(target, TARGETS) or f"there are {', '.join(TARGETS)}"
    raise UsageError(f"'{target}' cannot be explained", where="TARGET", fix=hint)


def _scheme_use_case(target: str, scheme: str | None) -> UseCase:
    """A scheme by its number, or as written in ``--scheme``."""
    from pkadvisor.usecases.explain_scheme import explain_scheme, scheme_named

    which = target.partition(":")[2]
    if which and scheme is not None:
        raise UsageError(f"{target} and --scheme name two schemes", where="--scheme", fix="give one of them")
    if scheme is not None and "|" not in scheme:
        which, scheme = scheme, None
    if scheme is None and not which:
        fix = "scheme:1, scheme:current, or scheme --scheme 'PARTITIONKEY | ROWKEY'"
        raise UsageError("which scheme?", where="TARGET", fix=fix)
    if scheme is None:
        scheme_named(which)  # wrong words are told before anything is read
        return lambda request, progress: explain_scheme(request, which, None, progress)
    return lambda request, progress: explain_scheme(request, None, scheme, progress)


def _request(target: str, given: list[str], reading: InputOptions, judging: Judging, shared: Shared) -> AnalyzeRequest:
    """What is read for a target; a key alone can be explained without any data."""
    named, reading = of_the_project(given, reading, shared)
    given = named or []
    if target == "key" and not (given or reading.sample or reading.design or reading.log or reading.profile):
        from pkadvisor.inputs import AnalyzeRequest

        return replace(AnalyzeRequest(), seed=reading.seed)
    command = f"explain {'key KEY' if target == 'key' else target}"
    example = "explain scheme:1" if target == SCHEME else "explain query:by-bib"
    if target == "key" or target.startswith(f"{SCHEME}:"):
        example = command
    inputs = settle(given, reading, command=command, example=example, candidates=judging.candidates)
    return build_request(inputs, reading, budgets=judging.budget, settings=settings_for(shared, reading.design))


def _show(document: Explanation, shared: Shared) -> None:
    from pkadvisor.report.text.explanation import dump_explanation, render_explanation

    if shared.format is Format.json:
        write_bytes(redact_result(dump_explanation(document)).encode())
        return
    show_page(document, render_explanation, shared.color)
