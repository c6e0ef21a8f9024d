"""The law *one voice*: for one design and evidence the five commands give the same figures and the same answer.

The design is what ``analyze`` recommends, written into the design file as the keys in use. Then

- *analyze* (the keys in use), *score*, *compare* (both sides), *stress* (the keys in use, and, without them in the
  file, the recommended ones) and *review* tell equal figures of each table and kind, and *score* the same intervals as
  *analyze*; a profile of the data tells *score* and *review* alike;
- *analyze* and *score* tell equal figures of the keys that the design came with;
- what is recommended with exit code 0 passes the review with its default settings;
- every document keeps to its schema;
- what *analyze* refuses *review* refuses for that reason, and *stress* never passes it.

Only the documents are read, as the commands write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import convert, to_builtins

from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.documents.schema_errors import departure
from pkadvisor.errors import InputError, UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.report.documents.review_result import TERMS, figures_of
from pkadvisor.review.rules.builtin import TOLD_BY
from tests.worlds.files import data_arguments, write
from tests.worlds.model import World
from tests.worlds.running import scheme_of
from tests.worlds.truth import Broken

NAME = "one-voice"
DURATION_S = 0.5
"""Of a run: what is predicted and what is refused does not hang on its length."""
PARAMETERS = 60
"""Of a class that the run sends: what is predicted and what is refused counts all of them."""
PARTLY = "do not run: 'advisor analyze' weighs them"
"""A note of a stress test on a part of the workload that it leaves out: its figures are of the rest."""
Document = dict[str, Any]
Place = tuple[str, str | None]


@dataclass(frozen=True)
class Files:
    """A design without keys of its own or with them, and the same with the recommended keys; their data and logs."""

    plain: str
    data: tuple[str, ...]
    logs: tuple[str, ...] = ()

    def request(self, design: str, **more: Any) -> AnalyzeRequest:
        """What a command is asked."""
        return AnalyzeRequest(**{"data": self.data, "logs": self.logs, "design": design, **more})


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Where the voices differ over a drawn world."""
    write(world, folder)
    files = Files(str(folder / "design.yaml"), data_arguments(world, folder))
    yield from differences(files, folder)


# -- the documents -----------------------------------------------------------------------------------------------------


def _whole(document: Document) -> Document:
    """The document, which keeps to its schema."""
    wrong = departure(document)
    assert not wrong, f"{document['document']}: {wrong}"
    return document


def _analyzed(request: AnalyzeRequest) -> Document:
    from tests.plain import analyze

    return _whole(analyze(request, SilentProgress()))


def _scored(request: AnalyzeRequest) -> Document:
    from tests.plain import score

    return _whole(score(request, (), SilentProgress()))


def _compared(request: AnalyzeRequest, old: str, new: str) -> Document:
    from pkadvisor.usecases.compare import compare_designs

    return _whole(to_builtins(compare_designs(replace(request, design=None), old, new, SilentProgress())))


def _stressed(request: AnalyzeRequest) -> Document:
    from pkadvisor.stress.experiment.request import StressRequest
    from tests.plain import stress

    asked = StressRequest(request, duration_s=DURATION_S, audited_requests=0)
    with (
        patch("pkadvisor.stress.experiment.proof.REQUESTS_MAX", 0),  # proofs of break factors take minutes
        patch("pkadvisor.stress.experiment.parameter_sampling.COMPARED_MAX", PARAMETERS),
        patch("pkadvisor.stress.experiment.parameter_sampling._most", lambda *_: PARAMETERS),
    ):
        return _whole(stress(asked, SilentProgress()))


def _reviewed(design: str, **more: Any) -> Document:
    from pkadvisor.usecases.review import review
    from pkadvisor.usecases.review.request import ReviewRequest

    with patch("pkadvisor.review.rules.evaluate.Proposals.of", lambda *_: ""):  # another search, of no figure here
        return _whole(to_builtins(review(ReviewRequest((design,), **more), SilentProgress())))


def _profiled(files: Files, design: str, folder: Path) -> str:
    import json

    from tests.plain import profile

    path = folder / "profile.json"
    document = profile(files.request(design), SilentProgress(), salt=b"0123456789abcdef")
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


# -- designs -----------------------------------------------------------------------------------------------------------


def _with_keys(text: str, chosen: dict[Place, Document]) -> str:
    """A design file with the keys of some tables and kinds in place of its own."""
    import json

    from ruamel.yaml import YAML

    values = YAML(typ="safe", pure=True).load(text)
    for table, declared in values["tables"].items():
        for place in ("partition_key", "row_key", "index_rows"):
            if any(name == table for name, _ in chosen):
                declared.pop(place, None)
        if (table, None) in chosen:
            declared |= _keys(chosen[table, None])
        for kind in declared.get("kinds", ()):
            if (table, kind) in chosen:
                values["tables"][table]["kinds"][kind] = {
                    n: v
                    for n, v in (declared["kinds"][kind] or {}).items()
                    if n not in ("partition_key", "row_key", "index_rows")
                } | _keys(chosen[table, kind])
    return json.dumps(values, indent=1, default=str) + "\n"


def _keys(printed: Document) -> Document:
    rows = [{n: row[n] for n in ("partition_key", "row_key", "copy")} for row in printed["index_rows"]]
    return {"partition_key": printed["partition_key"], "row_key": printed["row_key"]} | (
        {"index_rows": rows} if rows else {}
    )


# -- what is compared --------------------------------------------------------------------------------------------------


def _figures(scheme: Document) -> dict[str, Any]:
    """A document's figures by name."""
    figures = to_builtins(figures_of(convert(scheme, AnalysisScheme))) if "rank" in scheme else scheme
    hot = figures["hot_partition"]
    out: dict[str, Any] = {f"{name} of the hottest partition": value for name, value in (hot or {}).items()}
    out |= {term["name"]: term["value"] for term in figures["terms"]}
    out |= {"cause of the break factor": figures["break_cause"]}
    first = figures["first_break"] or {"factor": None, "cause": None}
    out |= {"smallest break factor": first["factor"], "cause of the smallest break factor": first["cause"]}
    out |= {f"p99 of {c['name']}": c["latency_ms_p99"] for c in figures["classes"]}
    return out


def _of_comparison(table: Document, side: str) -> dict[str, Any]:
    out = {m["name"]: m[side] for m in table["measures"] if m["name"] in TERMS}
    out["cause of the smallest break factor"] = table["first_break_cause"][side]
    return out


def _intervals(scheme: Document) -> dict[str, Any]:
    out = {f"interval of {t['name']}": (t.get("low"), t.get("high"), t["basis"]) for t in scheme["terms"]}
    return out | {f"interval of the reads of {c['name']}": c["entities_read_interval"] for c in scheme["classes"]}


def _refused(scheme: Document) -> list[Document]:
    return [v for v in scheme["violations"] if not v["assumed_growth"]]


def _unequal(
    mine: dict[str, Any], theirs: dict[str, Any], voices: str, scheme: str, common: bool = False
) -> Iterator[Broken]:
    """Each figure of the first that the second has otherwise, or not at all."""
    for name, value in mine.items():
        other = theirs.get(name, "nothing")
        if value != other and not (common and name not in theirs):
            yield Broken(NAME, f"{name}, {voices}", scheme, other, value)


def _by_place(tables: Sequence[Document]) -> dict[Place, Document]:
    return {(t["table"], t["kind"]): t for t in tables}


def _passed(design: Document, table: Document) -> bool:
    """Whether a stress test lets a design pass."""
    mine = next(d for d in table["verdict"]["designs"] if d["label"] == design["label"])
    return bool(mine["level"] != "fails")


def differences(files: Files, folder: Path) -> Iterator[Broken]:
    """Where the five commands differ over one design and its evidence."""
    before = _analyzed(files.request(files.plain))
    yield from _scores_of_keys_in_use(files, before)
    by_place = _by_place(before["tables"])
    chosen = {p: t["recommended"] for p, t in by_place.items() if t["recommended"] is not None}
    if not chosen:
        return
    design = str(folder / "chosen.yaml")
    text = Path(files.plain).read_text(encoding="utf-8")
    changed = _with_keys(text, chosen)
    if "{each(" in text and "{each(" not in changed:
        return  # only a key says that a property has several values
    Path(design).write_text(changed, encoding="utf-8")
    request = files.request(design)
    with (  # what else could be added to keys is of no figure of those in use
        patch("pkadvisor.design.choice.search.worth_extending", lambda *_: ()),
        patch("pkadvisor.design.choice.search._beside_current", lambda *_: ()),
    ):
        after = _by_place(_analyzed(request)["tables"])
    current = {p: t["current"] for p, t in after.items() if p in chosen}
    words = {p: scheme_of(s).text for p, s in chosen.items()}

    # These count rows of other kinds where the design came with them, not where it puts them.
    counting = {p for p, t in by_place.items() if any(": they are counted" in note for note in t["notes"])}
    for place, scheme in chosen.items():
        if current[place] is None:
            yield Broken(NAME, "analyze: the current keys", words[place], None, "priced")
            continue
        if place in counting:
            continue
        mine = _figures(current[place])
        if counting:  # what they read is a part of the account's load
            mine = {name: value for name, value in mine.items() if "break factor" not in name}
        yield from _unequal(mine, _figures(scheme), "analyze in use against recommended", words[place])
    current = {p: s for p, s in current.items() if s is not None}
    yield from _scores(request, current, words)
    if not files.logs:
        yield from _comparisons(files, design, current, words)
        yield from _reviews(_reviewed(design, data=files.data), current, words, before["outcome"] == "done", "--data")
    yield from _stresses(files, before)
    yield from _profiles(files, design, folder, words)
    yield from _refusals(files, before)


def _scores(request: AnalyzeRequest, current: dict[Place, Document], words: dict[Place, str]) -> Iterator[Broken]:
    cards = _by_place(_scored(request)["tables"])
    for place, scheme in current.items():
        if place not in cards:
            yield Broken(NAME, "score: the card", words[place], None, "priced")
            continue
        card = cards[place]["schemes"][0]["scheme"]
        yield from _unequal(_figures(scheme), _figures(card), "score against analyze", words[place])
        yield from _unequal(_intervals(scheme), _intervals(card), "score against analyze", words[place])


def _scores_of_keys_in_use(files: Files, before: Document) -> Iterator[Broken]:
    """The keys that the design came with, beside those of the other tables and kinds that it came with: some may be
    kept where others are not."""
    in_use = {p: t["current"] for p, t in _by_place(before["tables"]).items() if t["current"] is not None}
    if in_use:
        words = {place: scheme_of(scheme).text for place, scheme in in_use.items()}
        yield from _scores(files.request(files.plain), in_use, words)


def _comparisons(
    files: Files, design: str, current: dict[Place, Document], words: dict[Place, str]
) -> Iterator[Broken]:
    compared = _by_place(_compared(files.request(design), design, design)["tables"])
    for place, scheme in current.items():
        table = compared.get(place)
        if table is None:
            yield Broken(NAME, "compare: the table", words[place], None, "priced")
            continue
        for side in ("old", "new"):
            wanted = _figures(scheme)
            mine = {n: v for n, v in wanted.items() if n in TERMS or n == "cause of the smallest break factor"}
            yield from _unequal(mine, _of_comparison(table, side), f"compare ({side}) against analyze", words[place])
        p99 = {f"p99 of {c['name']}": c["new"]["latency_ms_p99"] for c in table["classes"]}
        yield from _unequal(p99, _figures(scheme), "compare against analyze", words[place])


def _stresses(files: Files, before: Document) -> Iterator[Broken]:
    """The keys in use and the recommended ones, as analyze has them."""
    tables = _by_place(before["tables"])
    every = [s for t in tables.values() for s in (t["current"], t["recommended"]) if s is not None]
    try:
        stressed = _by_place(_stressed(files.request(files.plain))["tables"])
    except UsageError as error:
        if not any(_refused(s) for s in every) and "nothing is left to run" not in error.what:
            yield Broken(NAME, "stress refuses", "", error.what, "analyze advises it")
        return
    except InputError as error:
        if "cannot be stored" not in error.what:  # a name or a size that the service refuses: the run refuses it too
            raise
        return
    for place, table in tables.items():
        for label in ("current", "recommended"):
            scheme = table[label]
            if scheme is None or place not in stressed or any(PARTLY in n for n in stressed[place]["notes"]):
                continue
            words = scheme_of(scheme).text
            if label == "current" and table["recommended"] and words == scheme_of(table["recommended"]).text:
                continue  # kept keys run once, beside the recommended keys of other kinds
            runs = {scheme_of(d["scheme"]).text: d for d in stressed[place]["designs"]}
            if words not in runs:
                yield Broken(NAME, f"stress: the {label} keys", words, [*runs], "run")
                continue
            run = runs[words]
            yield from _unequal(_figures(scheme), _figures(run["scheme"]), f"stress ({label}) against analyze", words)
            p99 = {c["name"]: c["latency_ms_p99"] for c in scheme["classes"]}
            for told in run["prediction"]["load"]:
                name = told["name"].removeprefix("p99 of ")
                if name != told["name"] and told["predicted"] != p99[name]:
                    yield Broken(NAME, f"stress: predicted p99 of {name}", words, told["predicted"], p99[name])
            if (refused := _refused(scheme)) and _passed(run, stressed[place]):
                yield Broken(NAME, f"stress passes {label}", words, "passed", refused[0]["message"])


def _profiles(files: Files, design: str, folder: Path, words: dict[Place, str]) -> Iterator[Broken]:
    path = _profiled(files, design, folder)
    cards = _by_place(_scored(AnalyzeRequest(design=design, profiles=(path,)))["tables"])
    scored = {p: cards[p]["schemes"][0]["scheme"] for p in words if p in cards}
    yield from _reviews(_reviewed(design, profiles=(path,)), scored, words, False, "--profile")


def _reviews(
    document: Document, wanted: dict[Place, Document], words: dict[Place, str], passes: bool, by: str
) -> Iterator[Broken]:
    """A review against the figures and the answer of another command."""
    (design,) = document["designs"]
    if design["error"] is not None:
        yield Broken(NAME, f"review {by}", "", design["error"]["what"], "read")
        return
    tables = _by_place(design["tables"])
    for place, scheme in wanted.items():
        figures = tables[place]["figures"]
        if figures is None:
            yield Broken(NAME, f"review {by}: figures", words[place], tables[place]["note"], "priced")
            continue
        yield from _unequal(_figures(scheme), _figures(figures), f"review {by}", words[place])
        if all(ground["carries"] for ground in tables[place]["grounds"]):
            yield from _reasons(design, place, scheme, words[place])
    if passes and document["exit_code"]:
        said = [f"{f['rule']} {f['message']}" for f in design["findings"] if f["gating"]]
        yield Broken(NAME, f"review {by} of advice with exit code 0", "; ".join(words.values()), said, "passes")


def _reasons(design: Document, place: Place, scheme: Document, words: str) -> Iterator[Broken]:
    """Each reason for which analyze refuses keys that no gating finding of a review tells."""
    told = [f for f in design["findings"] if f["gating"] and f["table"] == place[0]]
    for refused in _refused(scheme):
        if not any(_tells(finding, refused) for finding in told):
            rules = [f["rule"] for f in told]
            yield Broken(NAME, "review does not refuse", words, rules, f"{refused['code']}: {refused['message']}")


def _tells(finding: Document, refused: Document) -> bool:
    return refused["message"] in finding["message"] or finding["rule"] in TOLD_BY.get(refused["code"], ())


def _refusals(files: Files, before: Document) -> Iterator[Broken]:
    """What is refused of the keys that the design came with."""
    current = {p: t["current"] for p, t in _by_place(before["tables"]).items() if t["current"] is not None}
    current = {p: s for p, s in current.items() if _refused(s)}
    if not current or files.logs:
        return
    (design,) = _reviewed(files.plain, data=files.data)["designs"]
    tables = _by_place(design["tables"])
    for place, scheme in current.items():
        if all(ground["carries"] for ground in tables[place]["grounds"]):
            yield from _reasons(design, place, scheme, scheme_of(scheme).text)


# -- samples -----------------------------------------------------------------------------------------------------------


def of_sample(name: str, folder: Path) -> Iterator[Broken]:
    """Where the voices differ over a bundled sample."""
    from pkadvisor.cli.inputs import load_sample

    sample = load_sample(name)
    assert sample.design is not None
    yield from differences(Files(sample.design, sample.data, sample.logs), folder)
