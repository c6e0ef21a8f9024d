"""What is damaged: one line for each kind of input, with how its reader and the commands that take it are run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.corpus import ARGUMENTS, FILTERS, TEMPLATES, corpus
from tests.fuzz.mutate import Mutate, either, of_bytes, of_members, of_words

FILE = "FILE"
"""Stands in a command for the damaged file."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input.

    ``files`` names valid ones in the corpus, or ``texts`` holds them. ``read`` is the reader alone, on a path;
    ``commands`` take the file, which has this ``suffix`` (a folder before it where the command takes a folder).
    """

    name: str
    read: Callable[[Path], object] | None
    commands: tuple[tuple[str, ...], ...]
    mutate: Mutate
    files: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    suffix: str = ""
    lines: Callable[[bytes], tuple[str, ...]] | None = None
    """For command lines: the words of an input."""

    def valid(self) -> list[bytes]:
        """Valid inputs of this kind."""
        return [corpus()[name] for name in self.files] + [text.encode() for text in self.texts]


# -- readers -------------------------------------------------------------------------------------------------------


def read_design(path: Path) -> None:
    """A design file."""
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    load_declaration(path)


def read_data(path: Path) -> None:
    """Data: opened, and all rows taken."""
    from pkadvisor.observe.data.dataset import open_datasets

    for dataset in open_datasets([str(path)]):
        for _ in dataset.batches():
            pass


def read_log(path: Path) -> None:
    """A log, to classes of requests."""
    from pkadvisor.observe.logs.frame import ReadOptions
    from pkadvisor.observe.logs.read_traffic import read_traffic

    read_traffic([path], options=ReadOptions(threads=1))


def read_profile(path: Path) -> None:
    """A profile."""
    from pkadvisor.observe.profile.profile_file import load_document

    load_document(str(path))


def read_document(path: Path) -> None:
    """A document, and its page."""
    from pkadvisor.cli.paging import Paging, page_of
    from pkadvisor.usecases.report import document_of

    page_of(document_of(str(path)), Paging().options())


def read_stored(path: Path) -> None:
    """A result or a score card, as a comparison takes it."""
    from pkadvisor.report.documents.stored import load_stored

    load_stored(path, "")


def read_stress(path: Path) -> None:
    """A stress result, as a review takes it."""
    from pkadvisor.usecases.review.stress_file import stressed_of

    stressed_of((str(path),))


def read_limits(path: Path) -> None:
    """A file of limits."""
    from pkadvisor.limits import load_limits

    load_limits(path)


def read_rule(path: Path) -> None:
    """A rule, asked about a design."""
    from pkadvisor.limits import default_limits
    from pkadvisor.review.rules.rule import load_rule
    from tests.review.support import review_text

    review_text(corpus()["design.yaml"].decode(), [load_rule(path)], default_limits(), name="design.yaml")


def read_settings(path: Path) -> None:
    """A file of settings."""
    from pkadvisor.cli.settings_file import read_settings as read

    read(path)


def read_candidates(path: Path) -> None:
    """Schemes of the user's own."""
    from pkadvisor.design.keys.candidate_file import load_candidates

    load_candidates(path)


def read_baseline(path: Path) -> None:
    """A baseline."""
    from pkadvisor.review.gate.baseline import read_baseline as read

    read(path.read_bytes(), path.name)


def read_template(path: Path) -> None:
    """Templates of keys, with all that is found out about them."""
    from pkadvisor.design.keys.candidate_file import parse_candidate
    from pkadvisor.table.edm import EdmType

    types = {"event": EdmType.STRING, "distance": EdmType.STRING, "bib": EdmType.INT32, "initials": EdmType.STRING}
    types |= {"age": EdmType.INT32, "city": EdmType.STRING, "registered_at": EdmType.DATETIME, "gender": EdmType.STRING}
    parse_candidate(_text(path)).scheme(types)


def read_filter(path: Path) -> None:
    """A filter, parsed, written, and parsed again."""
    from pkadvisor.table.odata import format_filter, parse_filter

    for parameters in (False, True):
        found = parse_filter(_text(path), parameters=parameters)
        if found is not None:
            again = parse_filter(format_filter(found, parameters=parameters), parameters=parameters)
            assert again == found, "a filter is another one after it was written and read"


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


# -- command lines -------------------------------------------------------------------------------------------------

_BETWEEN = b"\0"
_AWAY = ("/", "~", "..", "http", "--debug", "--target", "--engine")
"""What leaves the working folder, the machine, or four lines of error as it should."""


def of_arguments(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Words of a command line left out, doubled, taken from another one, or damaged."""
    words, other = content.split(_BETWEEN), draw.choice(others).split(_BETWEEN)
    at = draw.randrange(len(words))
    match draw.randrange(5):
        case 0:
            del words[at]
        case 1:
            words.insert(at, draw.choice(words))
        case 2:
            words[at:at] = other[draw.randrange(len(other)) :][: draw.choice((1, 2))]
        case 3:
            words[at] = draw.choice(other)
        case _:
            words[at] = of_words(draw, words[at] or b"x", others).replace(_BETWEEN, b"")
    return _BETWEEN.join(words)


def words_of(content: bytes) -> tuple[str, ...]:
    """The words of a command line, those left out that lead away from the working folder."""
    words = content.decode("utf-8", "replace").split(_BETWEEN.decode())
    return tuple(w for w in words if not any(away in w for away in _AWAY))


def of_yaml_text(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Words, kept to one line: a template or a filter stands in one."""
    return of_words(draw, content, others).replace(b"\n", b" ")


TEXT, MEMBERS, RAW = either(of_words, of_words, of_words, of_bytes), either(of_members), either(of_bytes)
JSON = either(of_members, of_members, of_members, of_words, of_bytes)
LINE, WORDS = either(of_yaml_text), either(of_arguments)

DESIGN = "review FILE|analyze data.csv --design FILE|review FILE --against design.yaml|score FILE data.csv"
DATA = "analyze FILE D |profile FILE|init out --from FILE --yes|explain keys FILE"
LOG = "analyze --log FILE|analyze data.csv --log FILE D |profile --log FILE|init out --log FILE --yes"
PROFILE = (
    "analyze --profile FILE D |review design.yaml --profile FILE|analyze --profile FILE"
    "|profile --profile FILE --profile profile.json"
)
RESULT = "report FILE|compare result.json FILE|explain scheme:2 --result FILE"
LIMITS = "analyze data.csv D --limits FILE|review design.yaml --limits FILE"
RULES = "review design.yaml --rules FILE|explain ACME001 --rules FILE"
SETTINGS = "config show --config FILE|review design.yaml --config FILE"
CANDIDATES = "score design.yaml data.csv --candidates FILE|analyze data.csv D --candidates FILE"


def _commands(text: str) -> tuple[tuple[str, ...], ...]:
    """Command lines divided by bars; ``D`` stands for a design given to it, ``FILE`` for the damaged file."""
    return tuple(tuple(line.replace(" D ", " --design design.yaml ").split()) for line in text.split("|"))


def _kind(name: str, read: Callable[[Path], object], mutate: Mutate, files: str, suffix: str, commands: str) -> Kind:
    return Kind(name, read, _commands(commands), mutate, tuple(files.split()), suffix=suffix)


_ALL = (
    _kind("design", read_design, TEXT, "design.yaml kinds.yaml", ".yaml", DESIGN),
    _kind("csv", read_data, TEXT, "data.csv semicolons.csv typed.csv", ".csv", DATA),
    _kind("json-data", read_data, JSON, "data.jsonl keyed.jsonl rest.json array.json", ".json", DATA),
    _kind("parquet", read_data, RAW, "data.parquet", ".parquet", DATA),
    _kind("compressed", read_data, RAW, "data.gz data.bz2 data.xz data.zst data.utf16", ".csv", DATA),
    _kind("storage-log", read_log, TEXT, "log.txt", ".log", LOG),
    _kind("monitor-log", read_log, JSON, "monitor.jsonl monitor.json analytics.csv", ".log", LOG),
    _kind("access-log", read_log, TEXT, "access.log", ".log", LOG),
    _kind("trace-log", read_log, JSON, "trace.jsonl", ".log", LOG),
    _kind("profile", read_profile, MEMBERS, "profile.json profile-log.json", ".json", PROFILE),
    _kind("result", read_document, MEMBERS, "result.json", ".json", RESULT),
    _kind("score-card", read_document, MEMBERS, "score.json", ".json", "report FILE|compare FILE score.json"),
    _kind("stored-result", read_stored, MEMBERS, "result.json score.json", ".json", "compare FILE result.json"),
    _kind("stress-page", read_document, MEMBERS, "stress.json", ".json", "report FILE"),
    _kind("stress-result", read_stress, MEMBERS, "stress.json", ".json", "review design.yaml --stress FILE"),
    _kind("review-page", read_document, MEMBERS, "review.json", ".json", "report FILE"),
    _kind("comparison", read_document, MEMBERS, "comparison.json", ".json", "report FILE"),
    _kind("baseline", read_baseline, JSON, "baseline.json", ".json", "review design.yaml --baseline FILE"),
    _kind("limits", read_limits, TEXT, "limits.toml", ".toml", LIMITS),
    _kind("rules", read_rule, TEXT, "rule.toml part-rule.toml", "/rule.toml", RULES),
    _kind("settings", read_settings, TEXT, "pkadvisor.toml", ".toml", SETTINGS),
    _kind("candidates", read_candidates, TEXT, "candidates.txt", ".txt", CANDIDATES),
    _kind("candidates-yaml", read_candidates, TEXT, "candidates.yaml", ".yaml", CANDIDATES),
    Kind(
        "template",
        read_template,
        _commands("score design.yaml data.csv --scheme TEXT"),
        LINE,
        texts=TEMPLATES,
        suffix=".txt",
    ),
    Kind("filter", read_filter, _commands("review FILE"), LINE, texts=FILTERS, suffix=".yaml"),
    Kind("arguments", None, (), WORDS, texts=tuple("\0".join(words) for words in ARGUMENTS), lines=words_of),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
"""Every kind of input, by name."""

FILTER_DESIGN = """\
schema: 1
tables:
  Registrations:
    partition_key: "{event}__{distance}"
    row_key: "{pad(bib,6)}"
    queries: [{name: one, rate: 5/s, filter: %s}]
"""


def file_content(kind: Kind, content: bytes) -> bytes:
    """What stands in the file that a command takes: a filter stands in a design."""
    if kind.name != "filter":
        return content
    return (FILTER_DESIGN % json.dumps(content.decode("utf-8", "replace"))).encode()
