"""What given keys are worth, as text: the verdict, a few figures and what to do; the rest where it is asked for."""

from __future__ import annotations

from pkadvisor.documents.score import ScoreDocument, ScoreScheme, ScoreTable
from pkadvisor.numbers import amount, percent, rate
from pkadvisor.report.summary.figures import by_load, figures_of, first_break
from pkadvisor.report.summary.summary import key_names, keys_of, partition_target, score_sentences, score_verdict
from pkadvisor.report.summary.verdicts import table_title
from pkadvisor.report.text.arrangement import account_text
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import PAD, breaks_first, write_findings, write_grounds, write_keys
from pkadvisor.report.text.verdict_page import figure_lines, key_lines, next_lines, sentence_lines

RESTS_ON = "What the figures rest on"


def render_score(
    document: ScoreDocument, *, width: int, color: bool, ascii_only: bool, details: bool = False, inputs: str = ""
) -> str:
    """The score card; a pure function of its arguments.

    ``details``: the parts of the score, each query and every term, too. ``inputs``: the files and options of the
    command, for the command that the page proposes.
    """
    page = Page(max(24, width), color, ascii_only)
    cards = [(table, card) for table in document.tables for card in table.schemes]
    for number, (table, card) in enumerate(cards):
        if number:
            page.line()
        _first_screen(page, table, card)
    if inputs:
        page.lines += next_lines(page, f"advisor analyze {inputs}")
    account = document.account or None
    if details or (account and account.violations):
        page.line()
        account_text(page, account)
    if details:
        for table, card in cards:
            _details(page, table, card)
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _first_screen(page: Page, table: ScoreTable, card: ScoreScheme) -> None:
    """One scheme: the verdict, the keys, the figures and the sentences."""
    scheme = card.scheme
    headline, style = score_verdict(scheme)
    page.line(f"{headline}   {table_title(table)}, {card.label}", style)
    for block in key_lines(page, keys_of(scheme)):
        page.lines += block
    if names := key_names(scheme):
        page.wrapped(names)
    target = partition_target(scheme)
    if target is not None:
        page.lines += figure_lines(page, [(card.label, figures_of(scheme, target))])
    for label, text in score_sentences(table, card):
        page.lines += sentence_lines(page, f"{label}:", text)


def _details(page: Page, table: ScoreTable, card: ScoreScheme) -> None:
    """All that a score is made of: its parts, each query and write, the terms, what is broken."""
    scheme = card.scheme
    page.line(f"{table_title(table)}, {card.label}", "head")
    write_keys(page, scheme)
    page.line()
    write_grounds(page, table.grounds, RESTS_ON, asking=True)
    parts = card.score_parts
    page.line("The score, part by part", "head")
    for part in parts.classes:
        text = f"{percent(part.weight)} of the requests; {percent(part.useful)} of the entities read are useful"
        page.record(part.name, text, PAD)
    served = "all" if parts.reach >= 1 else percent(parts.reach)
    product = f"100 × {parts.useful:.3g} × {parts.reach:.3g} = {amount(scheme.score)}"
    page.wrapped(f"{product}: the share of useful reads times the share of the growth that the keys serve ({served})")
    page.head("Queries and writes")
    for cost in by_load(scheme):
        read, written = amount(cost.entities_read), amount(cost.entities_written)
        access = cost.access or "one entity by its key"
        via = "" if cost.via == "main" else f" via {cost.via}"
        if cost.operation == "query":
            counts = f"reads {read}, returns {amount(cost.entities_returned)}"
        else:
            counts = f"reads {read}, writes {written}" if cost.entities_read else f"writes {written}"
        many = amount(cost.requests)
        text = f"{access}{via}: {counts}, in {many} request{'' if many == '1' else 's'}"
        page.wrapped(f"{cost.name}  {rate(cost.rate_per_s)}  {text}", "  ", "    ")
    page.head("Terms")
    for entry in scheme.terms:
        page.record(entry.name, f"{amount(entry.value)} {entry.unit} ({entry.basis})", 26)
    page.line()
    write_findings(page, scheme)
    page.wrapped(breaks_first(first_break(scheme)), "", "  ")
    page.line()
