"""One document as one page that stands alone: no request of any kind, complete without its script.

The page is a pure function of the document and the options. Text is escaped by the templates' engine, control and
bidirectional characters become escapes, and the content policy allows the one script and the one style by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import field
from functools import lru_cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined
from markupsafe import Markup
from msgspec import UNSET

from pkadvisor.documents.schema_errors import typed
from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.report.charts.style import CHART_CSS
from pkadvisor.report.escapes import clean
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.place import Missing, Places, relative
from pkadvisor.report.html.sections import AFTER, BEFORE, SECTIONS, TABLES, PageSection, names_of
from pkadvisor.report.summary.verdicts import table_title
from pkadvisor.resources import resource
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# The document of a page with everything that is repeated written once, as JSON; the page's script unpacks it.
#
# A packed document is ``{"keys": [...], "shared": [...], "document": NODE}``. A NODE is
#
# - a number, a text, true, false or null as it is; - ``[-1 - k, NODE, ...]``: an object with the keys ``keys[k]`` and
# these values; - ``[n]``: what ``shared[n]`` is, a node that stands in several places; - ``{"list": [NODE, ...]}``: a
# list; - ``{"runs": "0*12 5 7*3"}``: a list of whole numbers, each with how often it follows itself.
#
# The bytes depend on the document alone, which those of a compressor do not.

SHARED_FROM = 7
"""Characters from which a text is worth a place of its own."""
RUNS_FROM = 4
"""Whole numbers from which a list is written as runs."""

_Id = int


class _Pool:
    """Every value of a document once, by what it holds, with how many others hold it."""

    def __init__(self) -> None:
        self._ids: dict[tuple[Any, ...], _Id] = {}
        self.nodes: list[tuple[Any, ...]] = []
        self.holders: list[int] = []
        self.keys: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> _Id:
        """The id of a value; equal values have one."""
        if isinstance(value, dict):
            shape = self.keys.setdefault(tuple(value), len(self.keys))
            return self._id(("object", shape, *map(self.add, value.values())), 2)
        if isinstance(value, list):
            if len(value) >= RUNS_FROM and all(type(item) is int for item in value):
                return self._id(("runs", *value))
            return self._id(("list", *map(self.add, value)), 1)
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0: they are told apart by type and by how they are written.
        return self._id(("plain", type(value), repr(value) if value == 0 else "", value))

    def _id(self, node: tuple[Any, ...], children_at: int | None = None) -> _Id:
        number = self._ids.get(node)
        if number is None:
            number = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
            self.holders.append(0)
            for child in node[children_at:] if children_at else ():
                self.holders[child] += 1
        return number


def packed(document: Any) -> dict[str, Any]:
    """The document as described above."""
    pool = _Pool()
    root = pool.add(document)
    shared: list[Any] = []
    places: dict[_Id, int] = {}

    def written(id_: _Id) -> Any:
        if pool.holders[id_] < 2 or not _worth_sharing(pool.nodes[id_]):
            return spelt(pool.nodes[id_])
        if id_ not in places:
            node = spelt(pool.nodes[id_])
            places[id_] = len(shared)
            shared.append(node)
        return [places[id_]]

    def spelt(node: tuple[Any, ...]) -> Any:
        kind, *rest = node
        if kind == "object":
            return [-1 - rest[0], *map(written, rest[1:])]
        if kind == "list":
            return {"list": list(map(written, rest))}
        if kind == "runs":
            return {"runs": " ".join(_run(value, len(list(same))) for value, same in groupby(rest))}
        return rest[2]

    body = written(root)
    return {"keys": [list(keys) for keys in pool.keys], "shared": shared, "document": body}


def _worth_sharing(node: tuple[Any, ...]) -> bool:
    if node[0] == "plain":
        return isinstance(node[3], str) and len(node[3]) >= SHARED_FROM
    return len(node) > 2


def _run(value: int, times: int) -> str:
    return str(value) if times == 1 else f"{value}*{times}"


SHUT = "base-uri 'none'; form-action 'none'"
FOLDER_POLICY = f"default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; {SHUT}"
TITLES = {
    "pkadvisor result": "Advice on keys",
    "pkadvisor stress": "Stress test",
    "pkadvisor review": "Review of keys",
    "pkadvisor comparison": "Comparison of keys",
    "pkadvisor score": "Score of keys",
}


Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A section with its id on the page and its body; ``evidence``: it is folded among the evidence."""

    id: str
    heading: str
    body: Markup
    missing: str = ""
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class SectionGroup:
    """Sections under one heading: of a table, or of the whole document."""

    id: str
    heading: str
    sections: list[Drawn] = field(default_factory=list)

    @property
    def shown(self) -> list[Drawn]:
        """The sections that are read from top to bottom."""
        return [section for section in self.sections if not section.evidence]

    @property
    def evidence(self) -> list[Drawn]:
        """The sections that are folded."""
        return [section for section in self.sections if section.evidence]


def render_html(document: dict[str, Any], options: HtmlOptions | None = None) -> bytes:
    """The page as UTF-8, of at most ``max_bytes``: a large document is reduced, and the page tells where.

    UsageError for an unknown section or where nothing fits, InputError for a document that is not whole.
    """
    return _fitting(document, options or HtmlOptions(), inline=True)[0]


def render_folder(document: dict[str, Any], options: HtmlOptions | None = None) -> dict[str, bytes]:
    """The same as files of a folder, for servers that allow nothing inside of a page: name → content."""
    content, css = _fitting(document, options or HtmlOptions(), inline=False)
    files: dict[str, bytes] = {}

    def picture(match: re.Match[str]) -> str:
        content = base64.b64decode(match[2])
        name = next((n for n, c in files.items() if c == content), f"chart-{len(files) + 1}.png")
        files[name] = content
        return f'{match[1]}="{name}"'

    # Only attributes have a bare quotation mark: in text it is an entity.
    page = re.sub(r'(href|src)="data:image/png;base64,([A-Za-z0-9+/=]+)"', picture, content.decode())
    return {
        "index.html": page.encode(),
        "report.css": css.encode(),
        "report.js": script().encode(),
        "result.json": (json.dumps(document, indent=1, allow_nan=False) + "\n").encode(),
        **files,
    }


def _fitting(document: dict[str, Any], options: HtmlOptions, *, inline: bool) -> tuple[bytes, str]:
    """The page of the document, or of the least reduced one whose page is small enough, and its style sheet."""
    page = b""
    for most in (None, *LISTS):
        reduced, cuts = (document, {}) if most is None else shortened(document, most)
        data = packed(reduced)
        if len(json.dumps(data, separators=(",", ":"), allow_nan=False)) < options.max_bytes:
            page, css = _page(reduced, data, options, sentences(cuts), inline=inline)
            if len(page) <= options.max_bytes:
                return page, css
    size = f"{len(page):,} bytes" if page else "more"
    raise UsageError(f"a page of this document takes {size}", where="--max-size", fix="allow more, or name --sections")


def _page(
    document: dict[str, Any], data: dict[str, Any], options: HtmlOptions, cuts: list[str], *, inline: bool
) -> tuple[bytes, str]:
    wanted = _wanted(document, options.sections)
    whole = typed(document)
    groups = _groups(whole, wanted)
    title = clean(options.title or _title(whole))
    digest = hashlib.sha256(json.dumps(document, separators=(",", ":"), allow_nan=False).encode()).hexdigest()[:16]
    css = style() + _footer(f"{title} · data SHA-256 {digest}")
    page = (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            kind=TITLES[whole.document],
            theme=options.theme,
            style=Markup(css if inline else ""),
            script=Markup(script() if inline else ""),
            policy=policy(css, script()) if inline else FOLDER_POLICY,
            groups=groups,
            named=bool(options.sections),
            cuts=cuts,
            tool=whole.tool,
            data=data,
            digest=digest,
        )
    )
    # A net below the templates: whatever is not printable is shown as an escape.
    return "\n".join(clean(line) for line in page.split("\n")).encode("utf-8", "backslashreplace"), css


def _footer(text: str) -> str:
    """What stands at the foot of each printed page, as a style sheet says it: every other character by its code."""
    safe = "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in text[:200])
    return f'@page{{@bottom-left{{content:"{safe}"}}@bottom-right{{content:counter(page)}}}}\n'


def _wanted(document: dict[str, Any], names: tuple[str, ...]) -> tuple[PageSection, ...]:
    """The sections to draw."""
    kind = document.get("document")
    known = names_of(str(kind)[:80])
    if not known:
        raise InputError("cannot be drawn as a page", fix="advisor analyze … --out json=result.json")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            what = f"there is no section '{name}'" + (f"; {hint}" if hint else "")
            raise UsageError(what, where="--sections", fix=f"sections: {', '.join(known)}")
    return tuple(s for s in SECTIONS if s.document == kind and (not names or s.name in names))


def _groups(document: Any, sections: tuple[PageSection, ...]) -> list[SectionGroup]:
    """Sections of the whole document, of each table, and of the whole document again, as they stand on the page."""
    before, each, after = ([s for s in sections if s.where == where] for where in (BEFORE, TABLES, AFTER))
    places = Places(document)
    groups = [SectionGroup("overview", "Overview", _all_drawn(before, (document, places)))]
    for number, table in enumerate(document.tables if each else ()):
        drawn = _all_drawn(each, (document, table, places), number)
        groups.append(SectionGroup(f"table-{number + 1}", table_title(table), drawn))
    groups.append(SectionGroup("about", "About this report", _all_drawn(after, (document, places))))
    return [group for group in groups if group.sections]


def _all_drawn(sections: list[PageSection], arguments: Arguments, number: int = 0) -> list[Drawn]:
    return [drawn for section in sections if (drawn := _drawn(section, arguments, number)) is not None]


def _drawn(section: PageSection, arguments: Arguments, number: int) -> Drawn | None:
    name = section.name if number == 0 else f"{section.name}-{number + 1}"
    context = section.context(*arguments)
    if context is None:
        return None
    if isinstance(context, Missing):
        return Drawn(name, section.heading, Markup(), context.reason, section.evidence)
    document, *tables, places = arguments
    read = {"document": document, "table": next(iter(tables), None)}
    numbers = {"figure": places.figure, "known": places.known, "item": places.item}
    body = relative(environment().get_template(section.template).render({**read, **numbers, **context}))
    return Drawn(name, section.heading, body, evidence=section.evidence)


def _title(document: Any) -> str:
    """What the page is about, in the words of its document."""
    names = list(dict.fromkeys(table.table for table in getattr(document, "tables", ())))
    return f"{TITLES[document.document]}: {', '.join(names)}" if names else TITLES[document.document]


class _Templates(Environment):
    """Templates whose ``row.copy`` is a member of a mapping, never a method of it."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The engine of the templates: everything is escaped, and a name that is not there is an error."""
    made = _Templates(
        loader=FileSystemLoader(resource("templates", "report")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_final,
    )
    made.filters["folded"] = folded
    made.globals["UNSET"] = UNSET
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def folded(text: str) -> Markup:
    """A template or filter that may be folded behind each of its parts; copied, it is the same text."""
    pieces = clean(text).replace("}", "}\n").split("\n")
    return Markup("<wbr>").join(pieces)


def _final(value: Any) -> Any:
    """What is printed: text without control and bidirectional characters; never None, which would be a gap."""
    if value is None:
        return "–"
    if type(value) is str:
        return clean(value)
    if isinstance(value, Markup | Undefined | int) or hasattr(value, "__html__"):
        return value
    raise TypeError(f"a template prints a {type(value).__name__}")


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet of every page."""
    return resource("templates", "report.css").read_text("utf-8") + CHART_CSS


@lru_cache(maxsize=1)
def script() -> str:
    """The script of every page; all that it does is comfort."""
    return resource("templates", "report.js").read_text("utf-8")


def policy(css: str, js: str) -> str:
    """What a browser may do with the page: this style, this script, drawings inside of it, and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, js)]
    return f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; {SHUT}"


TEXT_MOST = 4096
"""Characters of a text: no key is longer than 1 KiB, no filter than a few."""
LISTS = (500, 200, 100, 50, 20, 10, 5, 3)
"""Entries that are left of a list, step by step."""
WHOLE_TO = 200
"""Lists that are looked into by name stay whole up to here."""
LOOKED_INTO = ("limits.values", "terms")
TOLD = 12
"""Cut places that are told by name; of the others how many there are."""

Cuts = dict[str, str]
"""Place → what is left there."""


def shortened(document: Any, most: int) -> tuple[Any, Cuts]:
    """Lists of more than ``most`` entries without what follows, and texts that are too long for a key cut."""
    cuts: Cuts = {}

    def walk(value: Any, place: str) -> Any:
        if isinstance(value, str) and len(value) > TEXT_MOST:
            cuts.setdefault(place, f"texts cut to {TEXT_MOST:,} characters")
            return value[:TEXT_MOST] + " [cut]"
        if isinstance(value, dict):
            return {key[:TEXT_MOST]: walk(item, f"{place}.{key[:60]}".strip(".")) for key, item in value.items()}
        if isinstance(value, list):
            left = max(most, WHOLE_TO) if place.endswith(LOOKED_INTO) else most
            if len(value) > left:
                cuts[place] = f"at most {left:,} of {max(len(value), _told_before(cuts.get(place))):,} entries"
            return [walk(item, f"{place}[]") for item in value[:left]]
        return value

    return walk(document, ""), cuts


def _told_before(text: str | None) -> int:
    """The longest list at a place so far."""
    return int(text.split(" of ")[1].split(" ")[0].replace(",", "")) if text and " of " in text else 0


def sentences(cuts: Cuts) -> list[str]:
    """What was left out, one line for each place."""
    lines = [f"{place[:200]}: {what}" for place, what in cuts.items()]
    more = len(lines) - TOLD
    return lines[:TOLD] + ([f"and {more:,} more places"] if more > 0 else [])
