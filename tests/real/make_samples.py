"""Rebuild the data and the log of the bundled samples, byte for byte.

    PKADVISOR_SHARED=DIR python tests/real/make_samples.py [OUT] [NAME ...]

``DIR`` holds the real data (``DIR/data/chicago-marathon``, ``DIR/data/beijing-air-quality``); only ``footrace`` and
``sensors`` read it. ``OUT`` defaults to ``samples/`` of the checkout. Everything else is drawn from SHA-256 of a stated
seed and a counter, so that the bytes depend neither on the Python version nor on the platform.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import sys
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

Rows = list[tuple[object, ...]]


class Dice:
    """Reproducible draws: number ``i`` is SHA-256 of ``seed:i``."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        self._drawn += 1
        return digest(f"{self._seed}:{self._drawn}") % limit

    def weighted(self, cumulative: list[int]) -> int:
        """An index, drawn in proportion to the whole-number weights whose running sum is ``cumulative``."""
        return bisect_right(cumulative, self.below(cumulative[-1]))

    def guid(self) -> str:
        """Text in the shape of a GUID."""
        self._drawn += 1
        text = hashlib.sha256(f"{self._seed}:{self._drawn}".encode()).hexdigest()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def digest(text: str) -> int:
    """The first 64 bits of the SHA-256 of ``text``."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def zipf(ranks: int, *, hundredths: int) -> list[int]:
    """Running sums of weights 1/rank^(``hundredths``/100), as whole numbers."""
    return list(accumulate(max(1, round(1e6 / (rank ** (hundredths / 100)))) for rank in range(1, ranks + 1)))


def iso(time: datetime) -> str:
    """``time`` (UTC) to the second, as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def to_csv(header: str, rows: Rows) -> bytes:
    """``rows`` as CSV with line feeds."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return out.getvalue().encode()


def gz(data: bytes) -> bytes:
    """``data`` as gzip, without name and time."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(data)
    return out.getvalue()


# --- footrace: chicago-marathon runners, MIT ---------------------------------------------------------------------------

RACES = (  # event, distance, how many runners; only the first is real, see samples/footrace/README.md
    ("2023 Chicago Marathon", "Full", 1800),
    ("2023 Lakefront Run", "Half", 1200),
    ("2023 Lakefront Run", "10K", 900),
    ("2023 Prairie Run", "Full", 700),
    ("2023 Prairie Run", "Half", 800),
    ("2023 Prairie Run", "10K", 600),
)
RACES_OPEN = datetime(2022, 10, 25, 15, tzinfo=UTC)
RACES_OPEN_S = 3000  # 48,000 registrations at 16 a second


def age_in_group(group: str, salt: int) -> int:
    """A whole age inside an age group of the source: ``20-24``, ``19 and under`` or ``80+``."""
    if group == "80+":
        return 80 + salt % 5
    if group == "19 and under":
        return 16 + salt % 4
    return int(group[:2]) + salt % 5


def footrace(shared: Path) -> dict[str, bytes]:
    """6,000 of the 48,000 runners, chosen and spread over the races by hash of the bib."""
    with gzip.open(shared / "data/chicago-marathon/runners.csv.gz", "rt", encoding="utf-8", newline="") as file:
        runners = [r for r in csv.DictReader(file) if r["bib"] != "1544" and r["age_group"][0].isdigit()]
    runners.sort(key=lambda r: digest(f"footrace-1:{r['bib']}"))
    made: list[tuple[datetime, tuple[object, ...]]] = []
    left = iter(runners)
    for event, distance, count in RACES:
        for _ in range(count):
            r = next(left)
            bib = int(r["bib"])
            salt = digest(f"footrace-1:details:{bib}")
            at = RACES_OPEN + timedelta(seconds=(salt >> 16) % RACES_OPEN_S)
            age = age_in_group(r["age_group"], salt)
            row = (event, distance, bib, r["initials"], r["gender"], age, r["city_state"], iso(at))
            made.append((at, row))
    made.sort(key=lambda m: (m[0], m[1][2]))
    header = "event,distance,bib,initials,gender,age,city,registered_at"
    return {"registrations.csv": to_csv(header, [row for _, row in made])}


SAMPLES = {
    "footrace": footrace,
}


def main(args: list[str]) -> None:
    """Write the samples named in ``args`` (all of them without names)."""
    out = Path(args[0]) if args else Path(__file__).resolve().parents[2] / "samples"
    shared = Path(os.environ.get("PKADVISOR_SHARED", "."))
    for name in args[1:] or list(SAMPLES):
        for file, data in SAMPLES[name](shared).items():
            path = out / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
