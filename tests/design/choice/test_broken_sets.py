"""Where no key holds everything: required sets of writes count by their number, and no target is lost on top."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.plain import analyze

DESIGN = """\
schema: 1
tables:
  Meters:
    properties: {{tenant: string, region: string, meter: int32, state: int32}}
    queries:
      - {{name: of-region, filter: "tenant eq '{{tenant}}' and region eq '{{region}}' and meter eq {{meter}}",
         rate: {read}/s, draw: entities}}
    writes:
      - {{name: close, operation: update, key: [tenant, region, meter], sets: [state], rate: 0.01/s, draw: entities}}
    transactions:
      - {{name: close-tenant, together: [close], group_by: [tenant], required: true}}
    growth: {{rate: 0 %/month, of: rate}}
"""


def analyzed(folder: Path, read: int) -> dict[str, Any]:
    """3 tenants of 4 regions of 60 meters each: the 240 entities of a tenant fit no group transaction."""
    rows = [f"t{t},r{r},{60 * (4 * t + r) + m},0" for t in range(3) for r in range(4) for m in range(60)]
    (folder / "Meters.csv").write_text("tenant,region,meter,state\n" + "\n".join(rows) + "\n")
    (folder / "design.yaml").write_text(DESIGN.format(read=read))
    found = analyze(
        AnalyzeRequest(data=(str(folder / "Meters.csv"),), design=str(folder / "design.yaml")), SilentProgress()
    )
    return dict(found["tables"][0])


def broken(scheme: dict[str, Any]) -> list[str]:
    return [v["code"] for v in scheme["violations"]]


def test_sets_that_no_key_keeps_whole_do_not_cost_a_target_as_well(tmp_path: Path) -> None:
    """Under {tenant} all 3 sets are too large and a partition takes 3,000 of 2,000 entities/s; under a finer key the
    same 3 sets are apart, and nothing else is wrong."""
    table = analyzed(tmp_path, read=9_000)
    assert broken(table["recommended"]) == ["transaction-broken"]
    assert "3 of 3 sets" in table["recommended"]["violations"][0]["message"]


def test_sets_that_fit_nowhere_stay_together_where_that_costs_no_target(tmp_path: Path) -> None:
    """At 900 reads a second a tenant's partition is within its target."""
    table = analyzed(tmp_path, read=900)
    assert broken(table["recommended"]) in (["transaction-too-large"], ["transaction-broken"])


def test_a_conflict_is_true_of_every_scheme_that_was_priced(tmp_path: Path) -> None:
    """Sets that are too large for a group transaction are broken under every key; the target of a partition is not."""
    table = analyzed(tmp_path, read=9_000)
    said = [[c["code"] for c in conflict["constraints"]] for conflict in table["conflicts"]]
    assert said == [["transaction-broken"]]
