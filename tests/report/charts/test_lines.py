"""Lines, bands, limits and marks; panels on one axis; parts that add up."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.report.charts import lines, stacked_bar, timeline
from pkadvisor.report.charts.frame import apart, folded, text_width
from pkadvisor.report.charts.lines import LimitLine, LineChart, Mark, Series
from pkadvisor.report.charts.scales import Axis, AxisKind
from pkadvisor.report.charts.stacked_bar import Bar, StackedBars
from pkadvisor.report.charts.timeline import Panel, Timeline
from tests.report.charts.markup import HOSTILE, SVG, finding, inside, keeps_the_rules, parsed, texts, words
from tests.tiers import examples

FORECAST = LineChart(
    alt="the current design passes the target in month 10",
    x=Axis("months from now"),
    y=Axis("hottest partition", unit="times target"),
    series=(
        Series("recommended", tuple((m, 0.1 + 0.01 * m) for m in range(13)), ((0, 0.1, 0.1), (12, 0.1, 0.4))),
        Series("current", tuple((m, 0.5 + 0.05 * m) for m in range(13)), look=1),
    ),
    limits=(LimitLine(1, "target"),),
    marks=(Mark(10, "current passes", "bad"),),
)


def paths(chart: str, look: int) -> list[str]:
    """The lines of a look: what is drawn in its colour and has no area."""
    found = parsed(chart).iter(f"{SVG}path")  # type: ignore[arg-type]
    return [n.attrib["d"] for n in found if n.get("class") == f"ch-{look} ch-stroke" and n.get("d") != "M0 6h28"]


def test_a_line_goes_through_its_points_and_is_named_where_it_ends() -> None:
    chart = lines.draw(FORECAST)
    (line,) = paths(chart, 1)
    places = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", line)]
    assert len(places) == 13
    steps = [b[0] - a[0] for a, b in pairwise(places)]
    assert max(steps) - min(steps) < 0.03 and all(b[1] < a[1] for a, b in pairwise(places)), "up is more"
    pieces = [n.get("class") for n in parsed(chart).iter(f"{SVG}path") if "ch-piece" in n.get("class", "")]
    assert pieces == ["ch-0 ch-stroke ch-piece", "ch-1 ch-stroke ch-piece"], "the look of a line stands before its name"
    names = {n.text: n for n in parsed(chart).iter(f"{SVG}text") if "ch-name" in n.get("class", "")}
    assert abs(float(names["current"].attrib["y"]) - places[-1][1]) < 6
    titles = [n.text for n in parsed(chart).iter(f"{SVG}title")]
    assert "current: 1.1 times target at 12" in titles and "current passes at 10" in titles
    assert finding(chart) == FORECAST.alt
    for wanted in ("hottest partition, times target", "months from now", "target", "current passes", "0", "10"):
        assert wanted in texts(chart)


def test_few_points_are_points_and_one_point_is_a_chart() -> None:
    one = replace(FORECAST, series=(Series("p99", ((5, 80),)),), limits=(), marks=(), x=Axis("time", AxisKind.ELAPSED))
    chart = lines.draw(one)
    inside(chart)
    assert [n.tag for n in parsed(chart).iter() if n.tag in (f"{SVG}circle",)] == [f"{SVG}circle"]
    assert paths(chart, 0) == []
    assert "p99: 80 times target at 5 s" in words(chart)
    many = replace(one, series=(Series("p99", tuple((n, float(n)) for n in range(100))),))
    assert not list(parsed(lines.draw(many)).iter(f"{SVG}circle"))


def test_what_is_not_known_is_a_gap() -> None:
    points: tuple[tuple[float, float | None], ...] = tuple((n, None if n in (3, 4, 8) else 1.0) for n in range(10))
    chart = lines.draw(replace(FORECAST, series=(Series("a", points),), limits=(), marks=()))
    assert len(paths(chart, 0)) == 2, "0 to 2, 5 to 7; 9 alone is a point"
    assert len(list(parsed(chart).iter(f"{SVG}circle"))) == 7
    alone = tuple((n, None if n == 98 else 1.0) for n in range(100))
    assert len(paths(lines.draw(replace(FORECAST, series=(Series("a", alone),), limits=(), marks=())), 0)) == 2
    nothing = lines.draw(replace(FORECAST, series=(Series("a", ((0, None), (1, None))),), limits=(), marks=()))
    inside(nothing)


def test_a_limit_out_of_reach_is_told_and_does_not_flatten_the_lines() -> None:
    low = replace(FORECAST, series=(Series("a", ((0, 0.01), (1, 0.02))),), marks=())
    chart = lines.draw(low)
    assert "target (above this chart)" in texts(chart)
    assert "0.02" in [t.rstrip("0") for t in texts(chart)]
    assert [n for n in parsed(chart).iter(f"{SVG}path") if n.get("class") == "ch-bad ch-stroke"] == []
    near = lines.draw(replace(low, series=(Series("a", ((0, 0.3), (1, 0.5))),)))
    assert "target" in texts(near)
    assert len([n for n in parsed(near).iter(f"{SVG}path") if n.get("class") == "ch-bad ch-stroke"]) == 1


def test_names_of_limits_that_lie_close_do_not_overlap() -> None:
    limits = (LimitLine(1, "target"), LimitLine(0.99, "head-room ends"), LimitLine(50, "far"))
    chart = lines.draw(replace(FORECAST, limits=limits))
    places = {n.text: float(n.attrib["y"]) for n in parsed(chart).iter(f"{SVG}text")}
    assert places["head-room ends"] - places["target"] >= 15
    assert abs(places["far (above this chart)"] - places["target"]) >= 15


def test_long_names_and_many_lines_go_to_a_legend_uncut() -> None:
    long = "latest-by-device-" + "x" * 300
    chart = lines.draw(replace(FORECAST, series=(*FORECAST.series, Series(long, ((0, 1), (3, 2)), look=2))))
    items = ["".join(li.itertext()) for li in parsed(chart).iter("li")]
    assert items == ["recommended", "current", long]
    assert not [n for n in parsed(chart).iter(f"{SVG}text") if "ch-name" in n.get("class", "")]


def test_crowded_marks_are_numbered_in_their_order() -> None:
    marks = tuple(Mark(x, f"split {x}") for x in (11, 2, 2.1, 5))
    chart = lines.draw(replace(FORECAST, marks=marks))
    assert [t for t in texts(chart) if re.fullmatch(r"\d(–\d)?", t)][-3:] == ["1–2", "3", "4"]
    assert {f"split {x} at {x}" for x in (2, 2.1, 5, 11)} <= {n.text for n in parsed(chart).iter(f"{SVG}title")}


points = st.lists(st.tuples(st.floats(-1e6, 1e9), st.none() | st.floats(-1e3, 1e12)), min_size=1, max_size=50).map(
    lambda found: tuple(sorted(found, key=lambda p: p[0]))
)


@given(
    st.lists(points, min_size=1, max_size=10),
    st.sampled_from(list(AxisKind)),
    st.sampled_from([AxisKind.LINEAR, AxisKind.LOG]),
)
@settings(max_examples=examples(60), deadline=None)
def test_any_series_stay_on_the_picture(
    found: list[tuple[tuple[float, float | None], ...]], x: AxisKind, y: AxisKind
) -> None:
    series = tuple(Series(f"s{n}", p, look=n) for n, p in enumerate(found))
    chart = LineChart("a", Axis("x", x), Axis("y", y, "ms"), series, (LimitLine(7, "seven"),), (Mark(3, "three"),))
    drawn = lines.draw(chart)
    keeps_the_rules(drawn)
    inside(drawn)
    assert drawn == lines.draw(chart)


@given(st.lists(st.floats(0, 100), max_size=8))
def test_labels_are_moved_apart_as_little_as_need_be(wanted: list[float]) -> None:
    places = apart(wanted, 10, 0, 100)
    order = sorted(range(len(wanted)), key=lambda n: (wanted[n], n))
    assert all(places[b] - places[a] >= 10 - 1e-6 for a, b in pairwise(order))
    assert all(-1e-6 <= p <= 100 + 1e-6 for p in places)
    if all(wanted[b] - wanted[a] >= 10 for a, b in pairwise(order)):
        assert places == pytest.approx(wanted)
    assert apart([50, 50, 50], 10, 0, 100) == [40, 50, 60]


@given(st.text(max_size=300), st.integers(60, 700))
def test_a_folded_text_fits_and_loses_nothing(label: str, width: int) -> None:
    found = folded(label, width)
    from pkadvisor.report.escapes import clean

    assert "".join("".join(found).split()) == "".join(clean(label).split())
    assert all(text_width(line) <= width or len(line) <= 4 for line in found)


# -- a timeline -------------------------------------------------------------------------------------------------------

RUN = Timeline(
    alt="throttled from minute 2 to 4, until the range was split",
    x=Axis("time since the start", AxisKind.ELAPSED),
    panels=(
        Panel("Requests", Axis("", unit="attempts/s"), (
            Series("offered", tuple((n, 4000.0) for n in range(0, 600, 10))),
            Series("throttled", tuple((n, 900.0 if 120 <= n < 240 else 0.0) for n in range(0, 600, 10)), look=1),
        )),
        Panel("Hottest partition", Axis("", unit="entities/s"),
              (Series("", tuple((n, 900.0) for n in range(0, 600, 10))),), (LimitLine(2000, "target 2,000"),)),
    ),
    marks=(Mark(240, "split"), Mark(120, "server down", "bad")),
)  # fmt: skip


def test_all_panels_share_one_axis_and_marks_run_through_all() -> None:
    chart = timeline.draw(RUN)
    inside(chart)
    keeps_the_rules(chart)
    starts = {d.split("L")[0].split()[0] for look in (0, 1) for d in paths(chart, look)}
    ends = {d.split("L")[-1].split()[0] for look in (0, 1) for d in paths(chart, look)}
    assert len(starts) == 1 and len(ends) == 1
    assert texts(chart).count("2 min") == 1, "values of time stand once, below"
    for wanted in ("Requests, attempts/s", "Hottest partition, entities/s", "target 2,000", "split", "server down"):
        assert wanted in texts(chart)
    svg = next(parsed(chart).iter(f"{SVG}svg"))
    (mark,) = [n for n in svg.iter(f"{SVG}path") if [t.text for t in n] == ["split at 240 s"]]
    top, bottom = (float(v) for v in re.findall(r" ([\d.]+)V([\d.]+)", mark.attrib["d"])[0])
    assert top < 20 and bottom > float(svg.attrib["height"]) - 45


def test_a_timeline_without_anything_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="panels"):
        timeline.draw(replace(RUN, panels=()))
    with pytest.raises(ValueError, match="at least one series"):
        lines.draw(replace(FORECAST, series=()))


# -- stacked bars -----------------------------------------------------------------------------------------------------

SCORE = StackedBars(
    alt="entities counted make most of the difference",
    parts=("requests", "entities counted", "storage"),
    bars=(Bar("1  {deviceId} | {ts}", (100, 300, 0), 400), Bar("now", (400, 1200, 5), 1605)),
    unit="points",
)


def test_parts_are_as_long_as_they_are_large_and_lie_end_to_end() -> None:
    chart = stacked_bar.draw(SCORE)
    keeps_the_rules(chart)
    inside(chart)
    rects = [n for n in parsed(chart).iter(f"{SVG}rect") if len(n)]
    told = {n[0].text: (float(n.attrib["x"]), float(n.attrib["width"])) for n in rects}
    assert set(told) == {
        "requests: 100 points", "entities counted: 300 points",
        "requests: 400 points", "entities counted: 1,200 points", "storage: 5 points",
    }  # fmt: skip
    unit = told["requests: 100 points"][1] / 100
    for name, (_, width) in told.items():
        assert width == pytest.approx(unit * float(name.split()[-2].replace(",", "")), abs=0.1)
    left, width = told["requests: 400 points"]
    assert told["entities counted: 1,200 points"][0] == pytest.approx(left + width, abs=0.02)
    assert {"A 400", "B 1,200", "400 points", "1,605 points"} <= set(texts(chart))
    assert ["".join(li.itertext()) for li in parsed(chart).iter("li")] == [
        "A requests", "B entities counted", "C storage",
    ]  # fmt: skip


def test_names_of_bars_are_folded_and_never_cut() -> None:
    key = "{tenantId}_" + "x" * 400 + " | {ts}"
    chart = stacked_bar.draw(replace(SCORE, bars=(Bar(key, (1, 2, 3), 6), Bar(HOSTILE, (0, 0, 0), 0))))
    keeps_the_rules(chart)
    inside(chart)
    assert key.replace(" ", "") in "".join(texts(chart)).replace(" ", "")


@pytest.mark.parametrize(
    "change",
    [{"bars": ()}, {"parts": ()}, {"bars": (Bar("a", (1, 2), 3),)}, {"bars": (Bar("a", (1, -2, 3), 2),)}],
)
def test_bars_that_do_not_fit_their_parts_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="at least"):
        replace(SCORE, **change)  # type: ignore[arg-type]
