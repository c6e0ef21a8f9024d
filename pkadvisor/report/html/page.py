"""One document as one page that stands alone: no request of any kind, complete without its script.

The page is a pure function of the document and the options. Text is escaped by the templates' engine, control and
bidirectional characters become escapes, and the content policy allows the one script and the one style by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined
from markupsafe import Markup

from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.report.html.place import At, Context, Missing
from pkadvisor.report.html.sections import SECTIONS, Section, names_of
from pkadvisor.report.page import clean
from pkadvisor.report.verdicts import table_title
from pkadvisor.resources import resource

MAX_BYTES = 1_500_000
TITLES = {
    "pkadvisor result": "Advice on keys",
    "pkadvisor stress": "Stress test",
    "pkadvisor review": "Review of keys",
    "pkadvisor comparison": "Comparison of keys",
    "pkadvisor score": "Score of keys",
}


@dataclass(frozen=True, slots=True)
class HtmlOptions:
    """What the reader of a page may choose; ``sections`` empty for all of them."""

    title: str | None = None
    theme: str = "auto"
    max_bytes: int = MAX_BYTES
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A section with its id on the page and its body."""

    id: str
    heading: str
    body: Markup
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Sections under one heading: of a table, or of the whole document."""

    id: str
    heading: str
    sections: list[Drawn] = field(default_factory=list)


def render_html(document: dict[str, Any], options: HtmlOptions | None = None) -> bytes:
    """The page as UTF-8. UsageError for an unknown section, InputError for a document that is not whole."""
    options = options or HtmlOptions()
    whole = At(document)
    groups = _groups(whole, _wanted(document, options.sections))
    kind = whole["document"].text
    data = json.dumps(document, separators=(",", ":"), allow_nan=False)
    page = (
        environment()
        .get_template("page.html")
        .render(
            title=options.title or _title(whole),
            kind=TITLES[kind],
            theme=options.theme,
            style=Markup(style()),
            script=Markup(script()),
            policy=policy(),
            groups=groups,
            tool=whole["tool"].value,
            document=document,
            digest=hashlib.sha256(data.encode()).hexdigest(),
        )
    )
    # A net below the templates: whatever is not printable is shown as an escape.
    return "\n".join(clean(line) for line in page.split("\n")).encode("utf-8", "backslashreplace")


def _wanted(document: dict[str, Any], names: tuple[str, ...]) -> tuple[Section, ...]:
    """The sections to draw."""
    kind = document.get("document")
    known = names_of(str(kind))
    if not known:
        raise InputError("is no document of which there is a page", fix="advisor analyze … --out json=result.json")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            what = f"there is no section '{name}'" + (f"; {hint}" if hint else "")
            raise UsageError(what, where="--sections", fix=f"sections: {', '.join(known)}")
    return tuple(s for s in SECTIONS if s.document == kind and (not names or s.name in names))


def _groups(document: At, sections: tuple[Section, ...]) -> list[Group]:
    """Sections of the whole document, of each table, and of the whole document again, as they stand on the page."""
    before = [s for s in sections if not s.each_table and not s.after]
    after = [s for s in sections if not s.each_table and s.after]
    each = [s for s in sections if s.each_table]
    groups = [Group("overview", "Overview", [_drawn(s, document, document, 0) for s in before])]
    for number, table in enumerate(document["tables"]) if each else ():
        drawn = [_drawn(s, document, table, number) for s in each]
        groups.append(Group(f"table-{number + 1}", table_title(table.value), drawn))
    groups.append(Group("about", "About this report", [_drawn(s, document, document, 0) for s in after]))
    return [group for group in groups if group.sections]


def _drawn(section: Section, document: At, part: At, number: int) -> Drawn:
    name = section.name if number == 0 else f"{section.name}-{number + 1}"
    found: Context = section.context(document, part)
    if isinstance(found, Missing):
        return Drawn(name, section.heading, Markup(), found.reason)
    return Drawn(name, section.heading, Markup(environment().get_template(section.template).render(found)))


def _title(document: At) -> str:
    """What the page is about, in the words of its document."""
    kind = TITLES[document["document"].text]
    tables = document.maybe("tables")
    names = list(dict.fromkeys(table["table"].text for table in tables)) if tables is not None else []
    return f"{kind}: {', '.join(names)}" if names else kind


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
        keep_trailing_newline=False,
        finalize=_final,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


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
    return resource("templates", "report.css").read_text("utf-8")


@lru_cache(maxsize=1)
def script() -> str:
    """The script of every page; all that it does is comfort."""
    return resource("templates", "report.js").read_text("utf-8")


def policy() -> str:
    """What a browser may do with the page: this style, this script, drawings inside of it, and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style(), script())]
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
