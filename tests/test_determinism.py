"""The same input gives the same bytes, whatever the process, its folder, its locale and its threads are like."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pkadvisor.report.documents.result import dump_json
from pkadvisor.resources import resource
from tests.cli.support import clean_environment
from tests.report.support import result
from tests.tiers import sizes

PLAIN = {
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
OTHER = {
    "PYTHONHASHSEED": "4242",
    "TZ": "Asia/Kathmandu",
    "LANG": "C",
    "LC_ALL": "C",
    "POLARS_MAX_THREADS": "4",
    "OMP_NUM_THREADS": "3",
    "OPENBLAS_NUM_THREADS": "3",
}
LINES = {
    "bank": ["transactions.csv", "--design", "design.yaml"],
    "footrace": ["registrations.csv", "--design", "design.yaml"],
    "microblog": ["blogs.csv", "--log", "table-000000.log.gz", "--design", "design.yaml"],
}
ANALYSED = sizes(["bank"], sorted(LINES))
READ = sizes(["microblog"], sorted(LINES))
"""In the short form: the samples whose reading, in blocks and by threads, is the subject, and the cheapest analysis."""
FORMS = ("json", "sarif", "junit", "markdown", "text")


def said(command: str, words: list[str], folder: Path, env: dict[str, str]) -> bytes:
    """Standard output of a run of its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "pkadvisor", command, *words],
        capture_output=True,
        env=clean_environment(**env),
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def as_if_there(page: bytes) -> bytes:
    """A page up to the next command, which names files as they were typed."""
    return page.partition(b"\n  next: ")[0]


def placed(words: list[str], at: str) -> list[str]:
    """File names below a folder; options as they are."""
    return [word if word.startswith("--") else os.path.join(at, word) for word in words]  # noqa: PTH118


@pytest.mark.parametrize("name", ANALYSED)
def test_the_result_and_the_page_have_the_same_bytes_wherever_they_are_made(name: str, tmp_path: Path) -> None:
    home = resource("samples", name)
    texts, pages = [], []
    for folder, at, environment in ((home, "", PLAIN), (tmp_path, str(home), OTHER)):
        out = tmp_path / f"{len(pages)}.json"
        words = [*placed(LINES[name], at), "--out", f"json={out}"]
        pages.append(said("analyze", words, folder, {**environment, "PYTHONUTF8": "1"}))
        texts.append(out.read_bytes())
    assert texts[0] == texts[1]
    assert as_if_there(pages[0]) == as_if_there(pages[1])
    assert str(tmp_path).encode() not in texts[0]
    assert str(home.parent).encode() not in texts[0]


@pytest.mark.long("proofs")
@pytest.mark.parametrize("name", ["footrace"])
def test_the_result_is_the_stored_one_whatever_the_process_is_like(name: str, tmp_path: Path) -> None:
    """A process of another hash seed and other threads, given relative paths, gives the bytes that this process
    computed for all tests."""
    climbing = os.path.relpath(resource("samples", name), tmp_path)
    found = said("analyze", [*placed(LINES[name], climbing), "--format", "json"], tmp_path, OTHER)
    assert found == dump_json(result(name))


@pytest.mark.parametrize("name", READ)
def test_the_profile_has_the_same_bytes_wherever_it_is_made(name: str, tmp_path: Path) -> None:
    home = resource("samples", name)
    pages = [
        said("profile", LINES[name], home, {**PLAIN, "PYTHONUTF8": "1"}),
        said("profile", placed(LINES[name], str(home)), tmp_path, {**OTHER, "PYTHONUTF8": "1"}),
    ]
    assert as_if_there(pages[0]) == as_if_there(pages[1])


REVIEWS = {
    "with-data": ["bank/design.yaml", "--data", "bank/transactions.csv"],
    "against": ["footrace/design.yaml", "--against", "footrace/design-bib-only.yaml"],
}


@pytest.mark.parametrize("name", sizes(["against"], REVIEWS))
def test_a_review_has_the_same_bytes_in_every_form_wherever_it_is_made(name: str, tmp_path: Path) -> None:
    words = [*REVIEWS[name], "--fail-on", "never", "--isolated", "-q"]
    words += [word for form in FORMS for word in ("--out", f"{form}=out.{form}")]
    places = [tmp_path / "one", tmp_path / "two" / "deeper"]
    for place, environment in zip(places, (PLAIN, OTHER), strict=True):
        for sample in ("bank", "footrace"):
            shutil.copytree(resource("samples", sample), place / sample)
        said("review", words, place, {**environment, "PYTHONUTF8": "1"})
    for form in FORMS:
        first, second = ((place / f"out.{form}").read_bytes() for place in places)
        assert first == second, form
        assert b"PK303" in first
        assert str(tmp_path).encode() not in first
