"""A review without data does not wait for the libraries that read data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CODE = """
import json, sys
from pkadvisor.cli.main import main
code = main(["review", *sys.argv[1:], "--fail-on", "never", "--quiet"])
heavy = ("polars", "numpy", "scipy", "rich", "jinja2")
print("\\n" + json.dumps([code, [m for m in heavy if m in sys.modules]]))
"""


def test_no_library_of_data_is_imported_for_designs_alone() -> None:
    samples = Path(__file__).parents[2] / "samples"
    designs = samples.glob("*/design*.yaml")
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, sorted(designs))], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []], done.stderr
