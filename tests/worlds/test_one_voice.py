"""The law *one voice* in its short form: a small world, and planted differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace as changed_figures

from pkadvisor.documents.analysis import AnalysisFigures
from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.report.documents.review_result import figures_of
from tests.tiers import sizes
from tests.worlds.draw.world import draw_world
from tests.worlds.known import known
from tests.worlds.law import one_voice
from tests.worlds.model import Asked, Compare, Growth, Kind, Parameter, Scheme, World
from tests.worlds.running import analyzed
from tests.worlds.values import STRING

ROWS = tuple({"id": f"e{n:03d}", "of": f"g{n % 7}"} for n in range(60))
READ = Asked("by-id", "", "query", (Compare("id", "eq", Parameter("id")),), 50.0)
LIST = Asked("of-group", "", "query", (Compare("of", "eq", Parameter("of")),), 20.0)
ADD = Asked("add", "", "insert", None, 5.0)
LONG = range(7000, 7030)


def world() -> World:
    """Sixty entities, read by id and by group; the declared growth passes the account's target within its horizon, so
    that a run of today's load is quiet and the keys are refused all the same."""
    kind = Kind("", {"id": STRING, "of": STRING}, ROWS)
    return World(0, "Things", (kind,), (READ, LIST, ADD), growth=Growth(80, "month", "rate", 12))


def test_the_five_commands_tell_one_thing_of_a_table(tmp_path: Path) -> None:
    assert [str(b) for b in one_voice.broken(world(), tmp_path)] == []


def test_keys_in_use_are_told_as_all_kinds_are_today(tmp_path: Path) -> None:
    """Reads of sixteen buckets ask 3,200 requests/s of the account: what the other kind's keys in use add to, whatever
    is recommended in their place."""
    of, one = replace(LIST, kind="Spread", rate=200.0), replace(READ, kind="Single")
    kinds = (
        Kind("Spread", {"id": STRING, "of": STRING}, ROWS, current=Scheme("{hash(id,16)}", "{id}")),
        Kind("Single", {"id": STRING, "of": STRING}, ROWS, current=Scheme("ONE:{id}", "")),
    )
    found = analyzed(World(0, "Things", kinds, (of, one)), tmp_path)
    told = {t["kind"]: t["current"]["first_break"]["factor"] for t in found["tables"]}
    assert told["Single"] == pytest.approx(20_000 / (16 * of.rate + one.rate), rel=1e-3)
    assert found["account"]["loads"][0]["measured"] < 16 * of.rate


@pytest.mark.long("worlds")
def test_other_figures_and_a_missing_refusal_are_seen(tmp_path: Path) -> None:
    """Planted: the review names another cause, and a stress test lets pass what the analysis refuses."""
    from pkadvisor.report.documents import review_result
    from pkadvisor.stress.experiment import designs

    def changed(scheme: AnalysisScheme) -> AnalysisFigures:
        return changed_figures(figures_of(scheme), break_cause="nothing")

    with patch.object(review_result, "figures_of", changed), patch.object(designs, "_refused", lambda *_: ()):
        found = {b.what for b in one_voice.broken(world(), tmp_path)}
    assert found >= {"cause of the break factor, review --data", "stress passes recommended"}


@pytest.mark.long("worlds")
@pytest.mark.parametrize("seed", sizes((), LONG, "worlds"))
def test_a_drawn_world_has_one_voice(seed: int, tmp_path: Path) -> None:
    found = list(one_voice.broken(draw_world(seed, rows_most=100), tmp_path))
    assert [str(b) for b in found if known(b) is None] == []
