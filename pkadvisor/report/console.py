"""The result as text for a terminal: the verdict first, then what to copy, then the reasons.

Keys are never cut. Where a line is too narrow it folds; below 60 columns everything is one record per block.
"""

from __future__ import annotations

import textwrap
from typing import Any

_STYLES = {"good": "\x1b[1;32m", "bad": "\x1b[1;31m", "warn": "\x1b[33m", "head": "\x1b[1m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"
_HEADLINES = {
    "keep": ("KEEP THE KEY", "good"),
    "change": ("CHANGE THE KEY", "bad"),
    "choose": ("USE THIS KEY", "good"),
    "unsatisfied": ("NO KEY HOLDS EVERY CONSTRAINT", "bad"),
    "unknown": ("NO ADVICE", "warn"),
}
_VERDICTS = {
    "keep": "keep the key",
    "change": "change the key",
    "choose": "use this key",
    "unsatisfied": "no key holds every constraint",
}
_ASCII = str.maketrans({"─": "-", "×": "x", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "·": "|", "–": "-", "’": "'"})


def render_text(result: dict[str, Any], *, width: int, color: bool, ascii_only: bool, verbose: bool) -> str:
    """The whole page. A pure function of the result; it holds no control characters but line ends and, with ``color``,
    colour codes of its own; ``ascii_only`` writes everything else as escapes."""
    page = _Page(max(24, width), color, ascii_only)
    _inputs(page, result, verbose)
    _account(page, result)
    for table in result["tables"]:
        _table(page, result, table, verbose)
    return "\n".join(page.lines).rstrip("\n") + "\n"


class _Page:
    def __init__(self, width: int, color: bool, ascii_only: bool) -> None:
        self.width = width
        self.color = color
        self.ascii_only = ascii_only
        self.lines: list[str] = []

    def style(self, text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text else text

    def words(self, text: str) -> str:
        """Prose: ornaments have ASCII forms."""
        return self.exact(text.translate(_ASCII) if self.ascii_only else text)

    def exact(self, text: str) -> str:
        """Keys, templates and filters: nothing is written as something else."""
        text = clean(text)
        return text.encode("ascii", "backslashreplace").decode() if self.ascii_only else text

    def line(self, text: str = "", style: str = "") -> None:
        """A line, folded below its own indentation where it is too long."""
        text = self.words(text).rstrip()
        plain = text.lstrip()
        indent = " " * (len(text) - len(plain))
        for number, piece in enumerate(
            fold(plain, self.width - len(indent) - 2) if len(text) > self.width else [plain]
        ):
            self.lines.append(self.style(f"{indent}{'  ' if number else ''}{piece}".rstrip(), style))

    def wrapped(self, text: str, indent: str = "  ", hanging: str = "", style: str = "") -> None:
        """Prose: folded at blanks, long words folded and not cut."""
        for part in textwrap.wrap(
            self.words(text),
            max(20, self.width),
            initial_indent=indent,
            subsequent_indent=hanging or indent,
            break_long_words=True,
            break_on_hyphens=False,
        ) or [""]:
            self.lines.append(self.style(part, style))

    def record(self, label: str, text: str, pad: int = 14, indent: str = "  ") -> None:
        """``label   text``; the text folds under itself, character by character where it has no blanks."""
        head = f"{indent}{self.exact(label):<{pad}} "
        if len(head) + 20 > self.width and label:
            self.line(f"{indent}{label}")
            head = indent + "  "
        room = max(12, self.width - len(head))
        pieces = fold(self.exact(text), room) or [""]
        self.lines.append((head + pieces[0]).rstrip())
        self.lines += [" " * len(head) + piece for piece in pieces[1:]]


def clean(text: str) -> str:
    """Control and bidirectional characters as escapes: key values are hostile text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(ord(c)) for c in text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fold(text: str, room: int) -> list[str]:
    """Lines of at most ``room`` characters, broken at ``and`` or blanks where there are some; nothing is lost."""
    out: list[str] = []
    while len(text) > room:
        cut = text.rfind(" and ", 1, room - 3)
        if cut <= 0:
            cut = text.rfind(" ", 1, room + 1)
        if cut <= 0 or not text[:cut].strip():
            out.append(text[:room])
            text = text[room:]
        else:
            out.append(text[:cut].rstrip())
            text = text[cut + 1 :]
    return [*out, text] if text or not out else out


def amount(value: float | None) -> str:
    """A number at three or so digits with thousands separated, never with an exponent."""
    if value is None:
        return "no limit"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.01:
        return f"{value:.3g}"
    return f"{value:.2g}" if abs(value) >= 0.0001 else "<0.0001"


def ratio(value: float) -> str:
    """How many times a target."""
    if 0 < value < 0.01:
        return "<0.01x"
    return f"{value:.2f}x" if 0 < value < 1 else f"{amount(value)}x"


def breaks(value: float | None) -> str:
    """At how many times the peak a limit is reached."""
    return "never" if value is None else ratio(value)


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.3g} %" if share == 0 or share >= 0.0001 else "<0.01 %"


def plural(count: int, noun: str) -> str:
    """``1 index row``, ``2 index rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rate(value: float | None) -> str:
    """A rate in the unit that makes it readable."""
    if value is None:
        return "unknown"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if value * seconds >= 1 or value == 0:
            return f"{amount(value * seconds)}/{unit}"
    return f"{amount(value * 86_400)}/day"


def _inputs(page: _Page, result: dict[str, Any], verbose: bool) -> None:
    for table in result["tables"]:
        data = table["data"]
        if data is None:
            continue
        total = f" of {data['entities_total']:,}" if data["entities_total"] > data["entities_read"] else ""
        mixed = [p["name"] for p in data["properties"] if p["types"]]
        noun = "property" if len(data["properties"]) == 1 else "properties"
        entities = "entity" if data["entities_read"] == 1 and not total else "entities"
        read = f"{data['entities_read']:,}{total} {entities}, {len(data['properties'])} {noun}"
        page.record("data", f"{data['name']}: {read}", 7)
        if mixed:
            page.record("", f"values of more than one type in {', '.join(mixed)}", 7)
        for note in data["notes"][: None if verbose else 3]:
            page.record("", note, 7)
    log = result["log"]
    if log is not None:
        counts = (
            (len(result["inputs"]["logs"]), "file"),
            (log["lines"], "line"),
            (log["requests_attempted"], "request"),
        )
        page.record("log", ", ".join(plural(n, noun) for n, noun in counts), 7)
        if log["first"]:
            page.record("", f"{log['first']} to {log['last']}", 7)
        facts = [
            f"{log[name]:,} {label}"
            for name, label in (
                ("duplicates", "written twice"),
                ("throttled", "throttled"),
                ("retries", "retried"),
                ("pages", "further pages"),
            )
            if log[name]
        ]
        if facts:
            page.record("", ", ".join(facts), 7)
        for skipped in log["skipped"]:
            page.record("", f"skipped {skipped['lines']:,}: {skipped['reason']}", 7)
    if page.lines:
        page.line()


def _title(table: dict[str, Any]) -> str:
    name: str = table["table"]
    return f"{name} · {table['kind']}" if table["kind"] else name


def _table(page: _Page, result: dict[str, Any], table: dict[str, Any], verbose: bool) -> None:
    headline, style = _HEADLINES[table["verdict"]]
    best, current = table["recommended"], table["current"]
    page.line(f"{headline}   {_title(table)}", style)
    if best is None:
        page.wrapped(table["why_not"] or "")
        page.line()
        _heat(page, table)
        _queries_without_plan(page, table)
        _unknown(page, table)
        page.line()
        page.line(f"{_title(table)}: no advice", style)
        page.line()
        return
    limit = _limit(result, "partition_entities_per_s")
    peak = best["hot_partition"]["entities_per_s_peak"] if best["hot_partition"] else 0
    now = current["hot_partition"]["entities_per_s_peak"] if current and current["hot_partition"] else None
    if now is not None and table["verdict"] == "change":
        page.wrapped(f"peak partition load: {ratio(now / limit)} its target now → {ratio(peak / limit)} proposed")
    else:
        load = f"{amount(peak)} of {amount(limit)} entities/s"
        page.wrapped(f"peak partition load: {ratio(peak / limit)} its target ({load})")
    for violation in best["violations"][:2] if table["verdict"] == "unsatisfied" else ():
        page.wrapped(violation["message"], "  ", "    ", "bad")
    page.line()
    _keys(page, best)
    page.line()
    page.line("Queries and writes", "head")
    for entry in sorted(best["classes"], key=lambda entry: -entry["rate_per_s"]):
        _class(page, entry)
    for group in best["transactions"]:
        _transaction(page, group)
    page.line()
    _why(page, table, best)
    _ranking(page, table)
    for title, assumed, style_of in (("What does not hold", False, "bad"), ("At the assumed growth", True, "warn")):
        broken = [v["message"] for v in best["violations"] if v["assumed_growth"] is assumed]
        if broken:
            page.line(title, "head")
            for message in broken:
                page.wrapped(message, "  - ", "    ", style_of)
            page.line()
    if table["gives_up"]:
        page.line("What it gives up", "head")
        for sentence in table["gives_up"]:
            page.wrapped(sentence, "  - ", "    ")
        page.line()
    _heat(page, table)
    _unknown(page, table)
    if verbose:
        _verbose(page, table, best)
    page.line()
    factor = _term(best, "break factor")
    page.wrapped(
        f"{_title(table)}: {_VERDICTS[table['verdict']]} (score {amount(best['score'])}, "
        + ("within every limit at any load" if factor is None else f"breaks at {ratio(factor)} the peak")
        + f", {plural(table['examined'], 'scheme')})",
        "",
        "  ",
        style,
    )
    page.line()


def _limit(result: dict[str, Any], name: str) -> float:
    return next(float(v["value"]) for v in result["limits"]["values"] if v["name"] == name)


def _term(scheme: dict[str, Any], name: str) -> float | None:
    found = next(t["value"] for t in scheme["terms"] if t["name"] == name)
    return None if found is None else float(found)


def quoted(template: str) -> str:
    """A template, or two quotes for the empty key."""
    return template or "''"


def _keys(page: _Page, scheme: dict[str, Any]) -> None:
    page.record("PartitionKey", quoted(scheme["partition_key"]))
    page.record("RowKey", quoted(scheme["row_key"]))
    for example in scheme.get("examples", [])[:1]:
        page.record("example", f"{quoted(example['partition_key'])}  /  {quoted(example['row_key'])}")
    for row, example in zip(scheme["index_rows"], scheme.get("index_examples", []), strict=False):
        kind = "full copy" if row["copy"] == "full" else "pointer"
        atomic = row["consistency"] == "atomic"
        where = "same partition, same group transaction" if atomic else "another partition, written after"
        page.line(f"  + index row ({kind}; {where})")
        page.record("PartitionKey", quoted(row["partition_key"]))
        page.record("RowKey", quoted(row["row_key"]))
        for shown in example[:1]:
            page.record("example", f"{quoted(shown['partition_key'])}  /  {quoted(shown['row_key'])}")


def _class(page: _Page, entry: dict[str, Any]) -> None:
    access = entry["access"] or "one entity by its key"
    if entry["fan_out"] and entry["fan_out"] > 1.05:
        access += f" x {amount(entry['fan_out'])}"
    if entry["via"] != "main":
        access += f" via {entry['via']}"
    if entry["operation"] == "query":
        counts = f"reads {amount(entry['entities_read'])}, returns {amount(entry['entities_returned'])}"
    elif entry["entities_read"]:
        counts = f"reads {amount(entry['entities_read'])}, writes {amount(entry['entities_written'])}"
    else:
        counts = f"writes {amount(entry['entities_written'])}"
    many = f", in {amount(entry['requests'])} requests" if abs(entry["requests"] - 1) > 0.005 else ""
    page.wrapped(f"{entry['name']}  {rate(entry['rate_per_s'])}  {access}: {counts}{many}", "  ", "    ")
    for text in entry["filters"]:
        if text:
            page.record("", text, 1, "   ")
        else:
            page.record("", "(no $filter: every entity)", 1, "   ")
    if entry["top"]:
        page.record("", f"$top={entry['top']}", 1, "   ")
    for work in entry["client_work"]:
        page.wrapped(f"then {work}", "     ")
    for note in entry["notes"]:
        page.wrapped(note, "     ")


def _transaction(page: _Page, group: dict[str, Any]) -> None:
    """Whether entities that change together still can."""
    size = f"{amount(group['mean_entities'])} entities on average"
    if not group["kept"]:
        text = f"not one group transaction ({size})"
    elif group["sets_over_limit"]:
        text = f"one group transaction ({size}) but for {group['sets_over_limit']:,} of {group['sets']:,}: too large"
    else:
        text = f"one group transaction ({size})"
    page.wrapped(f"{group['name']}  {text}", "  ", "    ")


def _straight(best: dict[str, Any]) -> str:
    """The classes of requests that read nothing they do not return."""
    read = [c for c in best["classes"] if c["operation"] == "query"]
    straight = [c["name"] for c in read if c["entities_read"] <= 1.05 * c["entities_returned"] + 0.005]
    if not straight:
        return ""
    every = len(straight) == len(read) > 1
    which = "every query" if every else "; ".join(straight)
    return f"{which} read{'s' if every or len(straight) == 1 else ''} only what is returned"


def _why(page: _Page, table: dict[str, Any], best: dict[str, Any]) -> None:
    rivals = table["alternatives"][:1]
    current = table["current"]
    lines = []
    if table["verdict"] == "change" and current is not None and current["loses"]:
        reasons = [v["message"] for v in current["violations"]] + [r["message"] for r in current["remarks"]]
        for reason in reasons[:4] or [_lost(current["loses"])]:
            lines.append(("now", reason))
    if table["verdict"] in ("change", "choose") and _straight(best):
        lines.append(("this", _straight(best)))
    if table["verdict"] == "keep":
        lines.append(("keep", "it breaks no constraint and costs no more requests than the best"))
        lines.append(("", "another key would mean to write every entity again"))
    for rival in rivals:
        if rival["loses"]:
            name = f"{quoted(rival['partition_key'])} | {quoted(rival['row_key'])}" + (
                f" with {plural(len(rival['index_rows']), 'index row')}" if rival["index_rows"] else ""
            )
            lines.append(("next best", f"{name} loses: {_lost(rival['loses'])}"))
    for remark in best["remarks"][:4]:
        lines.append(("note", remark["message"]))
    if lines:
        page.line("Why", "head")
        for label, text in lines:
            page.record(label, text, 9)
        page.line()


def _lost(loses: dict[str, Any]) -> str:
    mine, best = amount(loses["value"]), amount(loses["winner"])
    if mine == best and loses["value"] is not None and loses["winner"] is not None:
        mine, best = f"{loses['value']:,.6g}", f"{loses['winner']:,.6g}"  # what decides is shown
    return f"{loses['goal']}, {mine} against {best} ({loses['unit']})"


def _ranking(page: _Page, table: dict[str, Any]) -> None:
    rows = [("1", table["recommended"])]
    rows += [(str(i), a) for i, a in enumerate(table["alternatives"], 2)]
    if table["current"] is not None and table["verdict"] != "keep":
        rows.append(("now", table["current"]))
    page.line("Ranking", "head")
    narrow = page.width < 76
    if not narrow:
        head = ("#", "score", "requests/s", "entities/s", "hot part.", "breaks at")
        page.line("  {:>3} {:>6} {:>11} {:>11} {:>10} {:>10}  loses by".format(*head), "dim")
    for label, scheme in rows:
        hot = _term(scheme, "hottest partition at peak")
        cells = (
            amount(scheme["score"]),
            amount(_term(scheme, "requests")),
            amount(_term(scheme, "entities counted")),
            amount(hot),
            breaks(_term(scheme, "break factor")),
        )
        loses = scheme["loses"]["goal"] if scheme["loses"] else ""
        if narrow:
            page.line(f"  {label}")
            for name, cell in zip(("score", "requests/s", "entities/s", "hot part.", "breaks at"), cells, strict=True):
                page.record(name, cell, 10, "    ")
            if loses:
                page.record("loses by", loses, 10, "    ")
        else:
            page.line(
                f"  {label:>3} {cells[0]:>6} {cells[1]:>11} {cells[2]:>11} {cells[3]:>10} {cells[4]:>10}  {loses}"
            )
        keys = f"{quoted(scheme['partition_key'])} | {quoted(scheme['row_key'])}"
        page.record("", keys, 1, "     ")
        for row in scheme["index_rows"]:
            same = row["partition_key"] == scheme["partition_key"]
            where = row["row_key"] if same else f"{row['partition_key']} | {quoted(row['row_key'])}"
            page.record("", f"+ {where} ({row['copy']})", 1, "     ")
    page.line()


def _heat(page: _Page, table: dict[str, Any]) -> None:
    heat = table["heat_in_log"]
    if heat is None:
        return
    shown = [(n, heat[n]) for n in ("reads", "writes") if heat[n]["top"]]
    if not shown:
        return
    page.line("Hot keys in the log", "head")
    for name, found in shown:
        for entry in found["top"][:3]:
            often = f", {rate(entry['requests_per_s'])}" if entry["requests_per_s"] else ""
            page.record(f"{percent(entry['share'])} of {name}{often}", quoted(entry["partition_key"]), 28)
    page.line()


def _queries_without_plan(page: _Page, table: dict[str, Any]) -> None:
    if not table["workload"]:
        return
    page.line("Queries and writes", "head")
    for query in table["workload"]:
        access = f"  {query['access_now']}" if query["access_now"] else ""
        rates = f"{rate(query['rate_per_s'])}, peak {rate(query['peak_per_s'])}"
        page.wrapped(f"{query['name']}  {rates}{access}", "  ", "    ")
        if query["filter"]:
            page.record("", query["filter"], 1, "   ")
    page.line()


def _unknown(page: _Page, table: dict[str, Any]) -> None:
    sentences = [*table["notes"], *table["cannot_be_known"]]
    if sentences:
        page.line("What is assumed or cannot be known", "head")
        for sentence in sentences:
            page.wrapped(sentence, "  - ", "    ")


def _verbose(page: _Page, table: dict[str, Any], best: dict[str, Any]) -> None:
    page.line()
    page.line("Terms", "head")
    for term in best["terms"]:
        page.record(term["name"], f"{amount(term['value'])} {term['unit']} ({term['basis']})", 28)
    if table["data"]:
        page.line()
        page.line("Properties", "head")
        for prop in table["data"]["properties"]:
            about = f"±{100 * prop['distinct_relative_error']:.1f} %" if prop["distinct_relative_error"] else "counted"
            missing = f", {prop['missing']:,} missing" if prop["missing"] else ""
            page.record(prop["name"], f"{prop['type']}, {prop['distinct']:,} distinct ({about}){missing}", 20)
    fronts = best["write_fronts"]
    if fronts["lasting"] is not None:
        page.line()
        page.line("Write fronts", "head")
        text = f"{amount(fronts['lasting'])} lasting, {amount(fronts['least'])} at the least ({fronts['basis']})"
        page.wrapped(text + (f"; {fronts['note']}" if fronts["note"] else ""))


def _account(page: _Page, result: dict[str, Any]) -> None:
    log = result["log"]
    if log is None:
        return
    account = log["account"]
    several = len(log["tables"]) > 1
    if not several and not account["peak_per_s"]:
        return
    page.line("Account", "head")
    if account["peak_per_s"]:
        share = percent(account["peak_share"])
        page.record(
            "peak", f"{amount(account['peak_per_s'])} of {amount(account['limit_per_s'])} requests/s ({share})", 7
        )
    for table in log["tables"] if several else ():
        what = "" if table["designed"] else "  (no design)"
        page.record(percent(table["share"]), f"{table['table']}{what}", 7)
    page.line()
