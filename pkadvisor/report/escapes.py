"""Hostile text on pages and in formats of other tools: one function for each place where a key value may stand.

Every function but ``fold`` takes any text, lone surrogates included, and gives one line without control or
bidirectional characters.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

# The agents of GitHub and Azure obey these wherever they stand in a line of a log, in either case.
_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)
_ESCAPED_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()|~$!#]")
_BLOCK = re.compile(r"^(\d{0,9})([-+=.])(?=[\s=-]|$)")  # what begins a list or a line below a heading
_REFERENCE = re.compile(r"(?i)([@#](?=\w)|://|\bwww\.|\bGH-(?=\d))")
_BREAK = "\u200b"  # zero width: it takes the meaning from a mention, a reference and a bare link, and shows nothing


def clean(text: str) -> str:
    """Control and bidirectional characters as escapes: key values are hostile text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(ord(c)) for c in text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fold(text: str, room: int, *, conditions: bool = True) -> list[str]:
    """Lines of at most ``room`` characters, broken at blanks where there are some; nothing is lost. A filter is broken
    between its ``conditions`` first."""
    out: list[str] = []
    while len(text) > room:
        cut = text.rfind(" and ", 1, room - 3) if conditions else -1
        if cut <= 0:
            cut = text.rfind(" ", 1, room + 1)
        if cut <= 0 or not text[:cut].strip():
            out.append(text[:room])
            text = text[room:]
        else:
            out.append(text[:cut].rstrip())
            text = text[cut + 1 :]
    return [*out, text] if text or not out else out


def one_line(text: str) -> str:
    """Control characters, line ends and bidirectional marks as escapes; no command of a build agent survives."""
    return _COMMAND.sub(r"#\\x23", clean(text))


def log_line(line: str) -> str:
    """A line of a page as it may stand in the log of a build: ``::`` at its beginning is a command on GitHub."""
    line = _COMMAND.sub(r"#\\x23", line)
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}\\x3a{bare[1:]}" if bare.startswith("::") else line


def json_text(document: Any) -> str:
    """JSON that is UTF-8 whatever its texts are, shows nothing to a terminal and says nothing to a build agent."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    text = _ESCAPED_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return text.replace("##", "#\\u0023") + "\n"  # two such signs stand only within texts


def uri(path: str) -> str:
    """A path with forward slashes as a relative reference: percent-encoded, no leading ``./``, never a scheme."""
    path = path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return quote(path, safe="/~-._")


def github_data(text: str) -> str:
    """The message of a workflow command."""
    return one_line(text).replace("%", "%25")


def github_property(text: str) -> str:
    """The value of a property of a workflow command."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def azure_data(text: str) -> str:
    """The message of a logging command of Azure Pipelines, whose percent sign is ``%AZP25``."""
    return one_line(text).replace("%", "%AZP25")


def azure_property(text: str) -> str:
    """The value of a property of a logging command."""
    return azure_data(text).replace(";", "%3B").replace("]", "%5D")


def markdown(text: str) -> str:
    """Prose in Markdown: nothing in it is markup, a mention, a reference or a link, also within a table."""
    text = _REFERENCE.sub(lambda match: f"{match[0][0]}{_BREAK}{match[0][1:]}", one_line(text).strip())
    text = _BLOCK.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\g<0>", text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str, *, in_table: bool = False) -> str:
    """A key, a path or a filter in Markdown, as it is: nothing within a code span has a meaning."""
    text = one_line(text).replace("<!--", "<!\\x2d-")  # a marker that somebody else may look for
    if not text.strip():
        return "(empty)"
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    text = text.replace("|", "\\|") if in_table else text
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def html(text: str) -> str:
    """Text within an HTML element of Markdown."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return _REFERENCE.sub(lambda match: f"{match[0][0]}{_BREAK}{match[0][1:]}", text)
