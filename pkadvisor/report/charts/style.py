"""Colours, dashes and the style sheet of the charts.

Heat: luminance rises strictly over all steps, so that it survives colour-vision deficiency and grey print; below the
target it is cividis (Nuñez, Anderton, Renslow 2018, PLOS ONE 13(7):e0199239), from it on orange. Lines: hues of Okabe
and Ito (2008), some darkened for white and lightened for dark paper until each has a contrast of 3:1 to it. A colour
never stands alone: lines also differ by dash and by the shape of their points, parts of a bar carry letters, cells of a
grid carry words.
"""

from __future__ import annotations

from pkadvisor.values import dataclass

BELOW_TARGET = (
    "#00224e", "#0b2e63", "#1c3a6f", "#36466c", "#49536c", "#5a606e", "#6a6c72", "#7a7975", "#8a8678",
)  # fmt: skip
"""Nine steps of the dark half of cividis: what is below a target is blue to grey."""
OVER_TARGET = ("#ee7f2d", "#f6a13a", "#fbc04f", "#fddd82", "#fff8dc")
"""What has reached a target is orange to nearly white."""
NOTHING = "#000000"
"""A cell with next to no load: darker than every step."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is told from others: a colour on white, one on dark, a dash pattern."""

    light: str
    dark: str
    dash: str | None


LOOKS = (
    Look("#0072b2", "#56b4e9", None),
    Look("#d55e00", "#ff8f3d", "7 3"),
    Look("#00845f", "#2fc89c", "2 2"),
    Look("#b3538c", "#e29ac4", "9 3 2 3"),
    Look("#a87400", "#f0b429", "12 4"),
    Look("#4f5fc4", "#a5b0ff", "4 2 1 2"),
    Look("#6b6b6b", "#bdbdbd", "1 2"),
    Look("#7a5230", "#d2a679", "7 2 2 2 2 2"),
)
BAD, BAD_DARK = "#a1260d", "#ff9c8a"
GOOD, GOOD_DARK = "#0b5d1e", "#7fd69a"
WARN, WARN_DARK = "#7a5200", "#f0c36d"
PAPER, PAPER_DARK = "#ffffff", "#16181c"
FONT_PX = 12


def look_of(number: int) -> Look:
    """The look of a number; beyond the last they begin anew."""
    return LOOKS[number % len(LOOKS)]


def _sheet() -> str:
    """Rules of the classes that charts use. Their colours follow the page's ``color-scheme``."""
    rules = [
        ".chart{margin:0 0 1rem;color:inherit}",
        ".chart svg{display:block;font-family:inherit;max-width:none}",
        ".ch-scroll{overflow-x:auto;max-width:100%}",
        ".ch-scroll>svg{width:100%;height:auto;min-width:36rem}",
        ".ch-scroll>svg.ch-small{width:auto;min-width:0;max-width:100%}",
        ".chart figcaption{font-size:.875rem;margin-top:.25rem}",
        ".ch-say{font-size:.875rem;min-height:1.3em;margin:.25rem 0 0;overflow-wrap:anywhere}",
        ".ch-legend{list-style:none;margin:.25rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem 1rem;"
        "font-size:.875rem}",
        ".ch-legend li{overflow-wrap:anywhere}",
        ".ch-legend svg{display:inline-block;vertical-align:middle;margin-right:.35rem}",
        ".ch-picture{image-rendering:pixelated}",
        f".ch-halo{{paint-order:stroke;stroke:light-dark({PAPER},{PAPER_DARK});stroke-width:4px;"
        "stroke-linejoin:round}",
        f".ch-bad{{--ch:light-dark({BAD},{BAD_DARK})}}",
        f".ch-good{{--ch:light-dark({GOOD},{GOOD_DARK})}}",
        f".ch-warn{{--ch:light-dark({WARN},{WARN_DARK})}}",
    ]
    rules += [f".ch-{number}{{--ch:light-dark({look.light},{look.dark})}}" for number, look in enumerate(LOOKS)]
    rules += [
        ".ch-stroke{stroke:var(--ch)}",
        ".ch-fill{fill:var(--ch)}",
        ".ch-grid{border-collapse:collapse;font-size:.875rem}",
        ".ch-grid caption{text-align:left;padding-bottom:.25rem}",
        ".ch-grid th,.ch-grid td{border:1px solid color-mix(in srgb,currentColor 30%,transparent);padding:.3rem .5rem;"
        "text-align:left;vertical-align:top}",
        ".ch-grid td.ch-good,.ch-grid td.ch-warn,.ch-grid td.ch-bad{"
        "background:color-mix(in srgb,var(--ch) 14%,transparent);border-left:4px solid var(--ch)}",
        ".ch-grid td span{display:block;font-size:.8125rem}",
        "@media print{.ch-scroll{overflow:visible}.ch-scroll>svg{min-width:0;max-width:100%}"
        ".chart{break-inside:avoid;print-color-adjust:exact;-webkit-print-color-adjust:exact}.ch-say{display:none}}",
        "@media (forced-colors:active){.ch-stroke{stroke:CanvasText}.ch-picture{forced-color-adjust:none}}",
    ]
    return "\n".join(rules) + "\n"


CHART_CSS = _sheet()
"""For the page's style sheet. The page sets ``color-scheme`` on its root; print sets it to ``light``."""
