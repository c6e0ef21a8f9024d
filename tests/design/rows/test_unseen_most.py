"""Groups of random rows: those not at hand are no more than the small groups at hand tell of."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pkadvisor.cli.inputs import load_sample
from pkadvisor.design.rows.draws import draw_weights
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Draw, DrawBy
from pkadvisor.table.edm import EdmType


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_of_tiny_groups_do_not_outweigh_all_groups(seed: int) -> None:
    names = ["event", "distance", "age"]
    table = pl.read_csv(load_sample("footrace").data[0]).select(pl.col(n).cast(pl.String) for n in names)
    rows = table.sample(375, seed=seed, shuffle=True)
    population = Population(rows, dict.fromkeys(names, EdmType.STRING), total=table.height, complete=False)
    instances, weights = draw_weights(Draw(by=DrawBy.DISTINCT, of=tuple(names)), population)
    sizes = population.matching([("p", n) for n in names], np.asarray(instances))
    # Without the bound the groups come to 510 and 956 under two of the seeds.
    assert table.height / float((weights * sizes).sum()) == pytest.approx(table.n_unique(), rel=0.3)
