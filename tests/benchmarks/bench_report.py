"""Pages: how long they take to draw, how large they are, and how long a browser takes to open them.

python -m tests.benchmarks.bench_report [RESULT.json …]   without a file: all samples
Goals: at most 300 kB typically and 1.5 MB at most, 0.5 s to draw the largest, 1 s to open it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pkadvisor.report.html.page import render_html
from tests.report.support import SAMPLES, result


def documents(paths: list[str]) -> dict[str, Any]:
    if paths:
        return {Path(path).stem: json.loads(Path(path).read_bytes()) for path in paths}
    return {name: result(name) for name in SAMPLES}


def main(paths: list[str]) -> None:
    folder = Path(tempfile.mkdtemp())
    pages = []
    for name, document in documents(paths).items():
        times = []
        for _ in range(3):
            began = time.process_time()
            page = render_html(document)
            times.append(time.process_time() - began)
        path = folder / f"{name}.html"
        path.write_bytes(page)
        pages.append((name, path, len(page), times[0], min(times[1:])))
    opened = _opened([path for _, path, *_ in pages])
    print(f"{'page':<20} {'kB':>8} {'first CPU s':>12} {'then CPU s':>11} {'opens in ms':>12}")
    for (name, _, size, first, then), took in zip(pages, opened, strict=True):
        print(f"{name:<20} {size / 1000:>8.0f} {first:>12.3f} {then:>11.3f} {took:>12}")
    shutil.rmtree(folder)


def _opened(paths: list[Path]) -> list[str]:
    """Milliseconds until each page is loaded in Chromium, by the wall clock."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        return ["no Chromium"] * len(paths)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        times = []
        for path in paths:
            page.goto(path.as_uri())
            page.reload()
            took = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
            times.append(f"{took:.0f}")
        browser.close()
    return times


if __name__ == "__main__":
    main(sys.argv[1:])
