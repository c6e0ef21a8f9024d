"""``advisor review`` as a process: one design alone and with a profile, 200 designs, files that are made to take long.

usage: bench_review.py [ROUNDS] [FOLDER]

Prints one JSON object: medians and maxima of seconds, peak memory, and the ratio to an empty Python process. The goals:
one design within 0.6 s, with a profile 0.8 s, 200 designs within 10 s, a file that cannot be a design refused within
2 s. ``class_us``: what a frozen class costs when its module is imported, by the standard library and by the package.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pkadvisor import values

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HOSTILE = {
    "many-values": "x: [" + "1," * 950_000 + "1]",
    "many-keys": "x: {" + "a: 1, " * 300_000 + "}",
    "many-anchors": "x:\n" + "  - &a b\n" * 190_000,
    "deep": "[" * 1_900_000,
    "long-key": 'schema: 1\ntables:\n  Abc:\n    partition_key: "' + "{a}" * 600_000 + '"\n    row_key: ""\n',
    "comments": "# as people write\n" * 105_000,
    "blank": "schema: 1\ntables:\n  Abc:\n" + "\n" * 1_900_000,
    "aliases": "a: &a 1\nb: [" + "*a," * 600_000 + "1]",
}


def run(arguments: list[str]) -> tuple[float, float, int]:
    """(seconds, peak MB, exit code) of a Python process."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1000, os.waitstatus_to_exitcode(status)


def measured(name: str, arguments: list[str], rounds: int, empty_s: float) -> dict[str, object]:
    runs = [run(["-m", "pkadvisor", "review", *arguments]) for _ in range(rounds)]
    median = statistics.median(r[0] for r in runs)
    return {
        "name": name,
        "rounds": rounds,
        "seconds_median": round(median, 3),
        "seconds_max": round(max(r[0] for r in runs), 3),
        "ratio_to_empty": round(median / empty_s, 1),
        "peak_mb": round(max(r[1] for r in runs), 1),
        "exit": sorted({r[2] for r in runs}),
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    texts = [path.read_text(encoding="utf-8") for path in sorted(SAMPLES.glob("*/design*.yaml"))]
    for i in range(200):
        path = folder / "many" / f"{i:03d}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# design {i}\n{texts[i % len(texts)]}", encoding="utf-8")
    for name, text in HOSTILE.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    empty_s = statistics.median(run(["-c", "pass"])[0] for _ in range(max(rounds, 5)))
    never = ["--fail-on", "never"]
    design, profile = str(SAMPLES / "footrace" / "design.yaml"), str(folder / "footrace.profile.json")
    run(["-m", "pkadvisor", "profile", "--sample", "footrace", "--out", profile])
    out = [
        measured("one design", [design, *never], rounds, empty_s),
        measured("one design with a profile", ["--profile", profile, design, *never], rounds, empty_s),
        measured("200 designs", [str(folder / "many" / "*.yaml"), *never], max(1, rounds // 3), empty_s),
        *(measured(name, [str(folder / f"{name}.yaml"), *never], 1, empty_s) for name in HOSTILE),
    ]
    made = {"library": class_us(dataclasses.dataclass), "package": class_us(values.dataclass)}
    print(
        json.dumps({"empty_process_s": round(empty_s, 4), "class_us": made, "rules": _rules(), "runs": out}, indent=2)
    )


def class_us(decorator: Any, classes: int = 200) -> float:
    """CPU microseconds for each class of four members."""
    body = {"__doc__": "x", "__annotations__": {"a": "int", "b": "str", "c": "float", "d": "int"}, "c": 0.0, "d": 0}
    bare = [type(f"C{n}", (), {**body, "__module__": __name__}) for n in range(classes)]
    began = time.process_time()
    for each in bare:
        decorator(frozen=True, slots=True)(each)
    return round((time.process_time() - began) * 1e6 / classes, 1)


def _rules() -> int:
    from pkadvisor.review.rules.rule import load_rules

    return len(load_rules())


if __name__ == "__main__":
    main()
