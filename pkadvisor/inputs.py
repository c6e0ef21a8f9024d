"""What a command is given, read: data, logs, profiles and a design file become the sections of a workload."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.errors import UsageError
from pkadvisor.files import STDIN_NAME
from pkadvisor.numbers import plural
from pkadvisor.progress import Progress, SilentProgress
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.choice.sections import Section
    from pkadvisor.design.draft.facts import Drafted
    from pkadvisor.design.keys.scheme import KeyScheme
    from pkadvisor.observe.data.dataset import Dataset
    from pkadvisor.observe.data.digests import FileDigest
    from pkadvisor.observe.design_file.declaration import Declaration
    from pkadvisor.observe.logs.traffic import Traffic
    from pkadvisor.observe.profile.data_profile import DataProfile
    from pkadvisor.observe.profile.profile_file import ProfileDocument
    from pkadvisor.toml_file import TomlFile


@dataclass(frozen=True, slots=True)
class AnalyzeRequest:
    """What the command line asks for; all paths as typed."""

    data: tuple[str, ...] = ()
    sample: str | None = None
    """The bundled sample that data, logs and a design beside the data are of."""
    logs: tuple[str, ...] = ()
    design: str | None = None
    profiles: tuple[str, ...] = ()
    limits: tuple[str | TomlFile, ...] = ()
    since: str | None = None
    until: str | None = None
    tables: tuple[str, ...] = ()
    account: str | None = None
    """The storage account that is meant where the logs are of several."""
    max_bad_lines: float = 0.01
    sample_rows: int | None = None
    input_format: str | None = None
    stdin_name: str | None = None
    redact: bool = False
    seed: int = 0
    top: int = 5
    entities_total: int | None = None
    """Entities in the table, of which the data holds some."""
    log_fraction: float = 1.0
    """Share of the table's requests that the logs hold."""
    candidates: str | None = None
    budgets: tuple[str, ...] = ()


def files_read(request: AnalyzeRequest) -> tuple[FileDigest, ...]:
    """The data, logs and profiles of a request by their content; standard input has none that lasts."""
    from pkadvisor.observe.data.dataset import files_of
    from pkadvisor.observe.data.digests import digests_of
    from pkadvisor.observe.profile.profile_file import document_path

    documents = _profiles_among(request)
    data = files_of([spec for spec in request.data if spec not in documents])
    logs = [path for path in _expand([log for log in request.logs if log not in documents])[0] if path != "-"]
    profiles = [document_path(given) for given in (*request.profiles, *documents)]
    return digests_of([*(("data", p) for p in data), *(("log", p) for p in logs), *(("profile", p) for p in profiles)])


def named_schemes(request: AnalyzeRequest, sections: Sequence[Section]) -> list[tuple[KeyScheme, ...]]:
    """The schemes of ``--candidates`` for each section: those that its properties can make."""
    if request.candidates is None:
        return [() for _ in sections]
    from pkadvisor.design.keys.candidate_file import fitting, load_candidates

    known = [section.data.types if section.data is not None else None for section in sections]
    return fitting(load_candidates(request.candidates), known)


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """Everything that a request names, read. ``draft`` is the text of the design where the files had to tell it."""

    declaration: Declaration | None
    data: list[tuple[DataProfile, Dataset]]
    traffic: Traffic | None
    documents: list[tuple[str, ProfileDocument]]
    draft: str = ""


def evidence_of(request: AnalyzeRequest, progress: Progress, *, draft: bool = True) -> GivenInputs:
    """The design, data, logs and profiles of a request; with ``draft`` a missing design is made of the files."""
    declaration, documents = declaration_of(request), documents_of(request)
    if draft and declaration is None and not documents:
        return undesigned(request, progress)
    data, traffic = data_of(request, declaration, progress), traffic_of(request, progress, declaration)
    if not data and not documents and declaration is not None and traffic is not None:
        data = _profiled(_key_datasets(declaration, traffic), declaration, request, progress)
    return GivenInputs(declaration, data, traffic, documents)


def _key_datasets(declaration: Declaration, traffic: Traffic) -> list[Dataset]:
    """The logged keys of tables that have key parts and no other property, as their data."""
    from pkadvisor.design.draft.facts import key_dataset
    from pkadvisor.design.draft.tables import logged_keys

    out = []
    for table in declaration.tables:
        own = traffic.table(table.name)
        parts = [table.key_parts, *(k.key_parts for k in table.kinds)]
        every = [table.properties, *(k.properties for k in table.kinds)]
        if own is not None and any(parts) and sum(map(len, parts)) == sum(map(len, every)):
            out.append(key_dataset(table.name, logged_keys(own)))
    return [dataset for dataset in out if dataset.row_count]


def draft_of(
    request: AnalyzeRequest, progress: Progress
) -> tuple[Drafted, list[tuple[DataProfile, Dataset]], Traffic | None]:
    """The tables of data and logs of which no design speaks, and what was read."""
    from pkadvisor.design.draft.facts import drafted
    from pkadvisor.design.draft.workload import quoted_properties

    traffic = traffic_of(request, progress)
    texts = quoted_properties(traffic.tables) if traffic is not None else frozenset[str]()
    data = data_of(replace(request, data=_of_tables(request.data, traffic)), None, progress, texts=texts)
    named = request.tables[0] if len(request.tables) == 1 else ""
    return drafted(data, traffic, named, redact=request.redact), data, traffic


def undesigned(request: AnalyzeRequest, progress: Progress) -> GivenInputs:
    """Data and logs of which no design speaks, with the design that they tell themselves."""
    from pkadvisor.design.draft.text import by_period_notes, classes_of, design_text, inferred_notes
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    drafted, data, traffic = draft_of(request, progress)
    if any(table.kinds for table in drafted.tables):
        drafted.check_kinds()
    classes = classes_of(drafted)
    text = design_text(drafted, _MADE_HERE, classes, to_fill_in=True)
    if not any(table.kinds for table in drafted.tables):
        if traffic is not None and len(traffic.tables) > 1:  # the only data would be that of each table
            data = [(replace(p, table=t.name), d) for t, (p, d) in zip(drafted.tables, data, strict=False)]
        return GivenInputs(None, data, traffic, [], text)
    declaration = load_declaration("the design as inferred", design_text(drafted, _MADE_HERE, classes))
    given = {note for _, dataset in data for note in dataset.notes}  # the user has read them once
    for note in by_period_notes(drafted.tables):
        progress.note(note)
    datasets = []
    for table, dataset in zip(drafted.tables, drafted.datasets, strict=True):
        if dataset is not None:
            notes = (n for n in dataset.notes if n not in given)
            datasets.append(replace(dataset, notes=(*notes, *inferred_notes(table, redact=request.redact))))
    return GivenInputs(declaration, _profiled(datasets, declaration, request, progress), traffic, [], text)


_MADE_HERE = "Made of the given files."


def _called(specs: Sequence[str]) -> list[str]:
    """What data files are called, and the tables or kinds that their specs name: tables are often called so."""
    from pkadvisor.observe.data.dataset import split_kind

    return [name or Path(path).name.split(".")[0] for name, path in map(split_kind, specs)]


def _of_tables(specs: tuple[str, ...], traffic: Traffic | None) -> tuple[str, ...]:
    """Data files as ``TABLE=PATH``, where several are given and each is called like another table of the log."""
    from pkadvisor.observe.data.dataset import files_of, split_kind

    if traffic is None or len(traffic.tables) < 2 or any(split_kind(spec)[0] or spec == "-" for spec in specs):
        return specs
    tables = {t.name.lower(): t.name for t in traffic.tables}
    files = [str(path) for path in files_of(specs)]
    named = [tables.get(Path(file).name.split(".")[0].lower()) for file in files]
    if len(files) < 2 or None in named:
        return specs
    return tuple(f"{table}={file}" for table, file in zip(named, files, strict=True))


def read_sections(
    request: AnalyzeRequest, progress: Progress, *, draft: bool = True
) -> list[tuple[Section, Dataset | None]]:
    """The sections of data, logs and design, each with the data set that it can be read from again."""
    from pkadvisor.design.choice.sections import sections_of

    read = evidence_of(request, progress, draft=draft)
    sections = sections_of(
        request.tables,
        read.declaration,
        [profiled for profiled, _ in read.data],
        read.traffic,
        [("", merged_documents(read.documents))] if read.documents else [],
    )
    sections = with_total(sections, request)
    return [(s, next((source for profiled, source in read.data if profiled is s.data), None)) for s in sections]


def with_total(sections: list[Section], request: AnalyzeRequest) -> list[Section]:
    """The sections with ``--entities-total``; UsageError (2) where it fits no data, or nobody knows which."""
    total, where = request.entities_total, "--entities-total"
    if total is None:
        return sections
    held = [s for s in sections if s.data is not None]
    if len(held) != 1:
        what = "there is no data" if not held else f"there are {len(held)} tables or kinds"
        fix = "give data files" if not held else "choose one with --table, or write entities_total into the design file"
        raise UsageError(f"{total:,} entities of what? {what}", where=where, fix=fix)
    (only,) = held
    assert only.data is not None
    if total < only.data.rows:
        what = f"{total:,} is fewer than the {only.data.rows:,} entities in the data"
        raise UsageError(what, where=where, fix="give the entities in the whole table")
    return [replace(s, entities_total=total) if s is only else s for s in sections]


def merged_profiles(paths: Sequence[str]) -> ProfileDocument:
    """Profile files as one document. InputError or UsageError where one cannot be read or they do not go together."""
    return merged_documents(documents_of(AnalyzeRequest(profiles=tuple(paths))))


def profiled_data(specs: Sequence[str], declaration: Declaration | None) -> list[tuple[DataProfile, Dataset]]:
    """Data files with what they hold, told apart by the kinds of a declaration."""
    return data_of(AnalyzeRequest(data=tuple(specs)), declaration, SilentProgress())


def declaration_of(request: AnalyzeRequest) -> Declaration | None:
    if request.design is None:
        return None
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    return load_declaration(Path(request.design))


def documents_of(request: AnalyzeRequest) -> list[tuple[str, ProfileDocument]]:
    """The profiles given, each by its name."""
    from pkadvisor.observe.profile.profile_file import load_document

    return [(Path(path).name, load_document(path)) for path in (*request.profiles, *_profiles_among(request))]


def merged_documents(documents: list[tuple[str, ProfileDocument]]) -> ProfileDocument:
    """All profiles as one; UsageError (2) where they cannot be compared."""
    from pkadvisor.observe.profile.profile_file import merge_documents

    whole = documents[0][1]
    for name, other in documents[1:]:
        try:
            whole = merge_documents(whole, other)
        except ValueError as error:
            fix = "make all profiles with one version and one salt"
            raise UsageError(str(error), where=f"--profile {name}", fix=fix) from None
    return whole


def _profiles_among(request: AnalyzeRequest) -> tuple[str, ...]:
    """Profile documents given where data or logs are expected."""
    from pkadvisor.observe.profile.profile_file import is_document

    return tuple(p for p in (*request.data, *request.logs) if is_document(p))


def data_of(
    request: AnalyzeRequest,
    declaration: Declaration | None,
    progress: Progress,
    *,
    file_sample: bool = False,
    seed: int = 0,
    texts: Set[str] = frozenset(),
) -> list[tuple[DataProfile, Dataset]]:
    """The data files of a request; properties of ``texts`` are texts where no design declares their type."""
    from pkadvisor.observe.profile.profile_file import is_document

    _refuse_designs(request.data, "DATA")
    specs = _of_kinds([spec for spec in request.data if not is_document(spec)], declaration)
    if not specs:
        return []
    from pkadvisor.observe.data.dataset import open_datasets
    from pkadvisor.observe.data.declared_types import in_declared_types

    progress.phase("read data")
    datasets = open_datasets(
        specs,
        stdin_name=request.stdin_name or STDIN_NAME,
        input_format=request.input_format if request.input_format not in (None, "auto") else None,
        max_bad_share=request.max_bad_lines,
    )
    datasets = tuple(
        in_declared_types(d, {c.name: EdmType.STRING for c in d.columns if c.name in texts}) for d in datasets
    )
    return _profiled(datasets, declaration, request, progress, file_sample=file_sample, seed=seed)


def _profiled(
    datasets: Sequence[Dataset],
    declaration: Declaration | None,
    request: AnalyzeRequest,
    progress: Progress,
    *,
    file_sample: bool = False,
    seed: int = 0,
) -> list[tuple[DataProfile, Dataset]]:
    """Data sets with what they hold, by the kinds of a design and with its key parts."""
    from pkadvisor.design.draft.key_data import with_key_data
    from pkadvisor.observe.data.declared_types import in_declared_types
    from pkadvisor.observe.data.kinds import by_kind
    from pkadvisor.observe.logs.formats import log_in_place_of_data
    from pkadvisor.observe.profile.data_profile import refused
    from pkadvisor.observe.profile.profile import SAMPLE_ROWS, WIDE_ROWS, profile_dataset
    from pkadvisor.observe.profile.profile_json import FILE_SAMPLE_ROWS

    typed = with_key_data(tuple(datasets), declaration)
    kinds = {t.name: [k.name for k in t.kinds] for t in (declaration.tables if declaration else ())}
    datasets = tuple(
        in_declared_types(d, _declared_types(d, declaration))
        for d in by_kind(typed, kinds, designed=declaration is not None)
    )
    most = request.sample_rows or (FILE_SAMPLE_ROWS if file_sample else SAMPLE_ROWS)
    out = []
    for dataset in datasets:
        for note in (*dataset.notes, *log_in_place_of_data(dataset)):
            progress.note(f"{dataset.table or dataset.name}: {note}")
        wide = 0 if file_sample else WIDE_ROWS
        profiled = profile_dataset(dataset, most, seed=seed, wide_rows_max=wide, advance=progress.advance)
        profiled = replace(profiled, table=dataset.table, refused=refused(dataset, profiled))
        for sentence in profiled.refused:
            progress.note(f"{dataset.name}: {sentence}")
        out.append((profiled, dataset))
    return out


def _refuse_designs(paths: Sequence[str], option: str) -> None:
    """UsageError (2) where a design file was given in the place of data or of a log."""
    from pkadvisor.observe.design_file.read_declaration import is_design
    from pkadvisor.observe.profile.profile_file import document_path

    for path in (document_path(each) for each in paths if each != "-"):
        if is_design(path):
            raise UsageError(f"{path.name}: this is a design file", where=option, fix="give it with --design")


def _of_kinds(specs: list[str], declaration: Declaration | None) -> list[str]:
    """Data files as ``KIND=PATH``, where several are given and each is called like another kind or table."""
    tables = declaration.tables if declaration else ()
    kinds = {table.name.lower(): table.name for table in tables}
    kinds |= {kind.name.lower(): kind.name for table in tables for kind in table.kinds}
    names = [Path(spec).name.split(".")[0].lower() for spec in specs]
    if len(specs) < 2 or len(set(names)) < len(names) or not set(names) <= kinds.keys():
        return specs
    return [spec if "=" in spec else f"{kinds[name]}={spec}" for spec, name in zip(specs, names, strict=True)]


def _declared_types(dataset: Dataset, declaration: Declaration | None) -> dict[str, EdmType]:
    """The types of a data set's properties in the design: of the table or kind of its name, or of the only one."""
    tables = [t for t in (declaration.tables if declaration else ()) if dataset.table.lower() in ("", t.name.lower())]
    known = {table.name.lower(): dict(table.properties) for table in tables}
    known |= {kind.name.lower(): dict(kind.properties) for table in tables for kind in table.kinds}
    name = dataset.kind or dataset.name.split("/")[-1].split(".")[0]
    only = next(iter(known.values())) if len(known) == 1 else {}
    return known.get(name.lower(), only)


def traffic_of(request: AnalyzeRequest, progress: Progress, declaration: Declaration | None = None) -> Traffic | None:
    """The requests of the logs, of the storage account asked for; else of that which has the declared tables."""
    from pkadvisor.observe.profile.profile_file import is_document

    _refuse_designs(request.logs, "--log")
    paths = [path for path in request.logs if not is_document(path)]
    if not 0 < request.log_fraction <= 1:
        what = f"{request.log_fraction:g} is not a share of a log"
        raise UsageError(what, where="--log-fraction", fix="for example: 5% or 0.05")
    if not paths:
        if request.log_fraction < 1:
            raise UsageError("there is no log to scale up", where="--log-fraction", fix="give the log with --log FILE")
        return None
    from pkadvisor.observe.data.streams import spool_stdin
    from pkadvisor.observe.logs.frame import ANOTHER_SERVICE, OF_A_FILE, TABLE_OPERATION, ReadOptions
    from pkadvisor.observe.logs.read_traffic import file_bytes, read_traffic
    from pkadvisor.observe.logs.traffic import LogWindow, scaled_up

    table = request.tables[0] if len(request.tables) == 1 else None
    window = LogWindow(_moment(request.since, "--since"), _moment(request.until, "--until"), table, request.account)
    named, unnamed = _expand(paths)
    opened = [spool_stdin() if path == "-" else path for path in named]
    progress.phase("read logs", sum(map(file_bytes, opened)))
    tables = [t.name for t in declaration.tables] if declaration is not None else _called(request.data)
    traffic = read_traffic(
        opened,
        window,
        tables=tables,
        max_bad_lines=request.max_bad_lines,
        options=ReadOptions(),
        advance=progress.advance,
        unnamed=unnamed,
        called={path: request.stdin_name or STDIN_NAME for path, one in zip(opened, named, strict=True) if one == "-"},
    )
    if not traffic.tables and (request.since or request.until or request.tables):
        fix = "check --since, --until and --table against the log"
        raise UsageError("no request of the log lies in the window asked for", fix=fix)
    traffic = scaled_up(traffic, request.log_fraction)
    for reason, count, example in traffic.skipped:
        usual = reason in (ANOTHER_SERVICE, TABLE_OPERATION)  # nobody looks for what is wrong with these
        shown = "" if request.redact or usual else f"; the first: {example}"
        what = plural(count, "log file" if reason.startswith(OF_A_FILE) else "log line")
        progress.note(f"{what} skipped, {reason}{shown}")
    return traffic


def _expand(paths: list[str]) -> tuple[list[str], set[str]]:
    """The files that paths, globs and folders name, and those of them that only a folder does."""
    from glob import glob, has_magic

    from pkadvisor.observe.data.streams import files_below

    out: list[str] = []
    unnamed: set[str] = set()
    for path in paths:
        magic = has_magic(path) and not Path(path).exists()
        matching = sorted(glob(path, recursive=True)) if magic else [path]  # noqa: PTH207  (absolute patterns too)
        for one in matching:
            if not magic and one != "-" and Path(one).is_dir():
                below = files_below(Path(one))
                out += below
                unnamed.update(below)
            elif not (magic and Path(one).is_dir()):
                out.append(one)
    return out, unnamed


def _moment(text: str | None, option: str) -> int | None:
    """µs since 1970 of an ISO 8601 time."""
    if text is None:
        return None
    from pkadvisor.table.edm import TICKS_UNIX_EPOCH, parse_datetime_ticks

    whole = text if "T" in text or " " in text else f"{text}T00:00:00Z"
    try:
        return (parse_datetime_ticks(whole) - TICKS_UNIX_EPOCH) // 10
    except ValueError as error:
        why = f": {error}" if whole == text else ""  # not of a text that nobody typed
        raise UsageError(
            f"'{text}' is no date, and no date with a time{why}", where=option, fix="for example 2026-11-01T00:00:00Z"
        ) from None
