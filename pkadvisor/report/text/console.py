"""The result as text for a terminal: the verdict first, then what to copy, then the reasons.

Keys are never cut. Where a line is too narrow it folds; below 60 columns everything is one record per block.
"""

from __future__ import annotations

from typing import Any

from pkadvisor.numbers import amount, breaks, milliseconds, percent, plural, rate, ratio
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.text.arrangement import account_text, arranged_text, conflicts_text
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import flip_sentence, goal_name, write_grounds
from pkadvisor.report.text.text_charts import write_heat
from pkadvisor.report.text.verdicts import HEADLINES, VERDICTS, doubt, give, lost, provisional, sureness, table_title


def render_text(result: dict[str, Any], *, width: int, color: bool, ascii_only: bool, verbose: bool) -> str:
    """The whole page. A pure function of the result; it holds no control characters but line ends and, with ``color``,
    colour codes of its own; ``ascii_only`` writes everything else as escapes."""
    page = Page(max(24, width), color, ascii_only)
    _inputs(page, result, verbose)
    _account(page, result)
    for table in result["tables"]:
        _table(page, result, table, verbose)
    for arranged in result["arrangements"]:
        arranged_text(page, arranged)
    account_text(page, result.get("account"))
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _inputs(page: Page, result: dict[str, Any], verbose: bool) -> None:
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


def _table(page: Page, result: dict[str, Any], table: dict[str, Any], verbose: bool) -> None:
    headline, style = HEADLINES[table["verdict"]]
    best, current = table["recommended"], table["current"]
    page.line(f"{headline}   {table_title(table)}", style)
    for warning in table.get("warnings", ()):
        page.wrapped(warning, "  ! ", "    ", "bad")
    if table["why_not"]:
        page.wrapped(table["why_not"], "  ", "  ")
        page.wrapped(give(table), "  next: ", "        ")
        page.line()
    if best is None:
        _heat(page, table)
        _queries_without_plan(page, table)
        _unknown(page, table)
        page.line()
        page.wrapped(f"{table_title(table)}: {VERDICTS[table['verdict']]}; {give(table)}", "", "  ", style)
        page.line()
        return
    for sentence in (provisional(table), doubt(table)):
        if sentence:
            page.wrapped(sentence, "  ", "    ", "warn")
    limit = _limit(result, "partition_entities_per_s")
    peak = best["hot_partition"]["entities_per_s_peak"] if best["hot_partition"] else 0
    now = current["hot_partition"]["entities_per_s_peak"] if current and current["hot_partition"] else None
    if now is not None and table["ranking_says"] == "change":
        page.wrapped(f"peak partition load: {ratio(now / limit)} its target now → {ratio(peak / limit)} proposed")
    else:
        load = f"{amount(peak)} of {amount(limit)} entities/s"
        page.wrapped(f"peak partition load: {ratio(peak / limit)} its target ({load})")
    _money(page, best, current if table["ranking_says"] == "change" else None)
    for violation in best["violations"][:2] if table["ranking_says"] == "unsatisfied" else ():
        page.wrapped(violation["message"], "  ", "    ", "bad")
    page.line()
    _keys(page, best)
    page.line()
    page.line("Queries and writes", "head")
    declared = {query["name"] for query in table["workload"] if query["latency_goal_ms_p99"] is not None}
    for entry in sorted(best["classes"], key=lambda entry: (entry["analytic"], -entry["rate_per_s"])):
        _class(page, entry, entry["name"] in declared)
    for group in best["transactions"]:
        _transaction(page, group)
    page.line()
    _why(page, table, best)
    _ranking(page, table)
    write_heat(page, table.get("heat"))
    for title, assumed, style_of in (("What does not hold", False, "bad"), ("At the assumed growth", True, "warn")):
        broken = [v["message"] for v in best["violations"] if v["assumed_growth"] is assumed]
        if broken:
            page.line(title, "head")
            for message in broken:
                page.wrapped(message, "  - ", "    ", style_of)
            page.line()
    conflicts_text(page, table["conflicts"])
    _when(page, best)
    if table.get("try_next"):
        page.line("What to try next", "head")
        for sentence in table["try_next"]:
            page.wrapped(sentence, "  - ", "    ")
        page.line()
    if table["gives_up"]:
        page.line("What it gives up", "head")
        for sentence in table["gives_up"]:
            page.wrapped(sentence, "  - ", "    ")
        page.line()
    _heat(page, table)
    write_grounds(page, table["grounds"], "What the verdict rests on", verbose=verbose)
    _unknown(page, table)
    if verbose:
        _verbose(page, table, best)
    page.line()
    factor = _term(best, "break factor")
    page.wrapped(
        f"{table_title(table)}: {VERDICTS[table['verdict']]}{_given(table)} (score {amount(best['score'])}, "
        + ("within every limit at any load" if factor is None else f"breaks at {ratio(factor)}: {best['break_cause']}")
        + f", {plural(table['examined'], 'scheme')}{_unproved(table)})",
        "",
        "  ",
        style,
    )
    page.line()


def _given(table: dict[str, Any]) -> str:
    """What to give next, after the verdict; nothing where there is advice."""
    return f"; {give(table)}" if table["next"] else ""


def _money(page: Page, best: dict[str, Any], current: dict[str, Any] | None) -> None:
    """What a month costs, and what it costs now."""
    unit = next((t["unit"] for t in best["terms"] if t["name"] == "price"), None)
    if unit is None:
        return
    unit = unit.removesuffix("/month")
    now = "" if current is None else f", now {amount(_term(current, 'price'))}"
    requests, storage = (amount(_term(best, f"price of {what}")) for what in ("requests", "storage"))
    page.wrapped(
        f"about {amount(_term(best, 'price'))} {unit} a month at the prices of the limits{now} "
        f"(requests {requests}, storage {storage})"
    )


def _latency(entry: dict[str, Any], declared: bool) -> str:
    """The p99, against its goal where one is declared, or where even the goal that is assumed is missed."""
    if not entry["latency_ms_p99"]:
        return ""
    goal = entry["latency_goal_ms_p99"]
    shown = goal and (declared or entry["latency_ms_p99"] > goal)
    return f"; p99 {milliseconds(entry['latency_ms_p99'])}" + (f" (goal {amount(goal)})" if shown else "")


_GROWTHS = {"rate": "load", "new_keys": "keys", "rows_per_key": "rows per key"}
BREAKS_SHOWN = 3


def _when(page: Page, best: dict[str, Any]) -> None:
    """What passes its limit first, by how much growth and when."""
    shown: list[dict[str, Any]] = []
    # What binds under the declared growth comes first, then what binds under another kind of it.
    for found in sorted(best["breaks"], key=lambda b: b["cause"] != best["break_cause"]):
        # An entity that fills its partition breaks with it, and says nothing more.
        same = [s for s in shown if s["cause"] == found["cause"] or s["measured"] == found["measured"]]
        if not same and (len(shown) < BREAKS_SHOWN or not found["growth_of"]):
            shown.append(found)
    if not shown:
        return
    page.line("When it breaks", "head")
    for found in shown:
        if not found["growth_of"]:  # time fills it, whatever grows
            page.wrapped(found["cause"], "  - ", "    ")
            continue
        of = " or ".join(_GROWTHS.get(kind, kind) for kind in found["growth_of"])
        text = f"at {ratio(found['factor'])} the {of}, head-room ends at {ratio(found['factor_headroom'])}"
        if found["months"] is not None:
            text += f"; in {amount(found['months'])} months" if found["months"] else "; now"
        page.wrapped(f"{found['cause']}: {text}", "  - ", "    ")
    page.line()


def _limit(result: dict[str, Any], name: str) -> float:
    return next(float(v["value"]) for v in result["limits"]["values"] if v["name"] == name)


def _term(scheme: dict[str, Any], name: str) -> float | None:
    found = next(t["value"] for t in scheme["terms"] if t["name"] == name)
    return None if found is None else float(found)


def _keys(page: Page, scheme: dict[str, Any]) -> None:
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


def _class(page: Page, entry: dict[str, Any], declared_goal: bool) -> None:
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
    apart = "analytic  " if entry["analytic"] else ""
    text = (
        f"{entry['name']}  {rate(entry['rate_per_s'])}  {apart}{access}: {counts}{many}{_latency(entry, declared_goal)}"
    )
    page.wrapped(text, "  ", "    ")
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


def _transaction(page: Page, group: dict[str, Any]) -> None:
    """Whether entities that change together still can."""
    size = f"{amount(group['mean_entities'])} entities on average"
    pairs = group.get("pairs")
    if pairs and not group["kept"]:
        of = f"{pairs['counted']:,} pairs" if pairs["counted"] else "pairs, if any two values may meet"
        text = f"one group transaction by rule for {percent(pairs['guaranteed'])} of {of}"
    elif not group["kept"]:
        text = f"not one group transaction ({size})"
    elif group["sets_over_limit"]:
        text = f"one group transaction ({size}) but for {group['sets_over_limit']:,} of {group['sets']:,}: too large"
    else:
        text = f"one group transaction ({size})"
    page.wrapped(f"{group['name']}  {text}", "  ", "    ")
    if repair := group.get("repair"):
        page.wrapped(f"the others, {amount(repair['requests'])} requests each, so that none stays half done:", "     ")
        for number, step in enumerate(repair["steps"], 1):
            page.wrapped(step, f"     {number} ", "       ")
        page.wrapped(repair["find"], "     repair ", "       ")


def _straight(best: dict[str, Any]) -> str:
    """The classes of requests that read nothing they do not return."""
    read = [c for c in best["classes"] if c["operation"] == "query"]
    straight = [c["name"] for c in read if c["entities_read"] <= 1.05 * c["entities_returned"] + 0.005]
    if not straight:
        return ""
    every = len(straight) == len(read) > 1
    which = "every query" if every else "; ".join(straight)
    return f"{which} read{'s' if every or len(straight) == 1 else ''} only what is returned"


def _remarks(scheme: dict[str, Any]) -> list[str]:
    """The remarks but for the steps that stand below the transaction."""
    return [remark["message"] for remark in scheme["remarks"] if remark["code"] != "half-done-pair"]


def _why(page: Page, table: dict[str, Any], best: dict[str, Any]) -> None:
    rivals = table["alternatives"][:1]
    current = table["current"]
    lines = []
    if table["ranking_says"] == "change" and current is not None and current["loses"]:
        reasons = [v["message"] for v in current["violations"]] + _remarks(current)
        for reason in reasons[:4] or [lost(current["loses"])]:
            lines.append(("now", reason))
    if table["ranking_says"] in ("change", "choose") and _straight(best):
        lines.append(("this", _straight(best)))
    if table["ranking_says"] == "keep":
        lines.append(("keep", "it breaks no constraint and costs no more requests than the best"))
        lines.append(("", "another key would mean to write every entity again"))
    for rival in rivals:
        name = f"{quoted(rival['partition_key'])} | {quoted(rival['row_key'])}" + (
            f" with {plural(len(rival['index_rows']), 'index row')}" if rival["index_rows"] else ""
        )
        if rival["loses"]:
            lines.append(("next best", f"{name} loses: {lost(rival['loses'])}"))
        elif table["ranking_says"] == "keep":
            lines.append(("next best", f"{name} is not so much better that it pays to move"))
        if table["flip"] is not None and (rival["loses"] or table["ranking_says"] == "keep"):
            lines.append(("", flip_sentence(table["flip"])))
    if table["confidence"] is not None and not doubt(table) and not table["why_not"]:
        lines.append(("sure", sureness(table["confidence"])))
    for message in _remarks(best)[:4]:
        lines.append(("note", message))
    if lines:
        page.line("Why", "head")
        for label, text in lines:
            page.record(label, text, 9)
        page.line()


def _ranking(page: Page, table: dict[str, Any]) -> None:
    rows = [("1", table["recommended"])]
    rows += [(str(a["rank"]), a) for a in table["alternatives"]]
    if table["current"] is not None and table["ranking_says"] != "keep":
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
        loses = goal_name(scheme["loses"]["goal"]) if scheme["loses"] else ""
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


def _heat(page: Page, table: dict[str, Any]) -> None:
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


def _queries_without_plan(page: Page, table: dict[str, Any]) -> None:
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


def _unknown(page: Page, table: dict[str, Any]) -> None:
    sentences = [*table["notes"], *table["cannot_be_known"]]
    if sentences:
        page.line("What is assumed or cannot be known", "head")
        for sentence in sentences:
            page.wrapped(sentence, "  - ", "    ")


def _verbose(page: Page, table: dict[str, Any], best: dict[str, Any]) -> None:
    page.line()
    page.line("Terms", "head")
    for term in best["terms"]:
        span = f", {amount(term['low'])} to {amount(term['high'])}" if "low" in term else ""
        text = f"{amount(term['value'])} {term['unit']} ({term['basis']}{span})"
        page.record(term["name"], text + (f"; {term['source']}" if term["source"] else ""), 28)
    page.line()
    page.line("Score", "head")
    for entry in best["classes"]:
        points = entry["score_points"]
        share = f"{percent(entry['useful_share'])} of what it counts is asked for"
        worth = (
            "apart: analytic" if points is None else f"{amount(points)} points: {rate(entry['rate_per_s'])}, {share}"
        )
        page.record(entry["name"], worth, 28)
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
        text = f"{amount(fronts['lasting'])} lasting"
        if fronts["least"] != fronts["lasting"]:
            text += f", {amount(fronts['least'])} at the least"
            text += f" for {percent(fronts['least_share'])} of the time" if fronts["least_share"] is not None else ""
        text += f" ({fronts['basis']})"
        page.wrapped(text + (f"; {fronts['note']}" if fronts["note"] else ""))
    looked = table["search"]
    if looked is not None:
        page.line()
        page.line("Search", "head")
        text = f"{plural(table['examined'], 'scheme')} priced, from {looked['structures']:,} keys and index rows"
        text += f" with {plural(looked['nodes'], 'node')} of branch and bound" if looked["nodes"] else ""
        page.wrapped(f"{text}; {_gap(looked['gap'])}")


def _unproved(table: dict[str, Any]) -> str:
    """The gap, where a limit of the search left one."""
    looked = table["search"]
    if looked is None or looked["gap"] == 0:
        return ""
    return ", gap unknown" if looked["gap"] is None else f", gap {100 * looked['gap']:.2g} %"


def _gap(gap: float | None) -> str:
    """How far the search for index rows is from a proof."""
    if gap is None:
        return "how far the best sets of index rows are is not known: a limit of the search was hit"
    if gap == 0:
        return "no better set of index rows by the sums of their parts"
    return f"the sets of index rows are within {100 * gap:.2g} % of the best: a limit of the search was hit"


def _account(page: Page, result: dict[str, Any]) -> None:
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
