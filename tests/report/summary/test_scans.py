"""What the first screen says of a query that looks through many rows for few."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.cli.main import main

DESIGN = """\
schema: 1
tables:
  Members:
    partition_key: "{club}"
    row_key: "{pad(no,4)}"
    properties: {no: int32}
    sampling: complete
    queries:
      - {name: one, filter: "club eq '{club}' and no eq {no}", rate: 10/s, draw: entities}
      - {name: turnstile, filter: "club eq '{club}' and card eq '{card}'", rate: RATE/s, draw: entities}
    writes:
      - {name: seen, operation: update, key: [club, no], sets: [at], rate: 6/s, draw: entities}
"""


@pytest.mark.parametrize(("per_club", "says"), [(400, True), (40, False)])
def test_kept_keys_name_the_index_row_that_spares_a_scan_of_their_partitions(
    per_club: int, says: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = (f"c{n % 20},{n // 20},x{n * 7919 % 100_003:05},7\n" for n in range(20 * per_club))
    Path("members.csv").write_text("club,no,card,at\n" + "".join(rows))
    Path("design.yaml").write_text(DESIGN.replace("RATE", "4"))
    main(["analyze", "members.csv", "--design", "design.yaml"])
    page = " ".join(capsys.readouterr().out.split())
    assert "KEEP THE KEY" in page
    told = "'turnstile' still reads 400 rows to return 1; an index row CARD:{card} spares that for 30 % more"
    assert (told in page) is says
