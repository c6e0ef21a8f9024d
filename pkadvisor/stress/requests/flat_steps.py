"""The steps of all scripts of a load as columns: what each loads, and where."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.flat_scripts import HIGH, KIND, LOW, OF_PARTITION, FlatScripts, in_order, offered
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Scripts
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FlatSteps:
    """One entry for each step of each stage of the scripts of one epoch; stages that scripts of a class have in common
    come once. ``entities`` are those that count toward targets.

    ``class_`` says whose it is, ``stage`` of which stage, ``partition`` is a rank or ``SEVERAL``; ``low`` and ``high``
    (exclusive) are ranks, and ``wide`` are pages over several of them (not writes of a PartitionKey that nobody else
    uses, which are ``SEVERAL`` too). ``members``: for each stage of each script (class, parameters, number of it).
    """

    space: KeySpace
    members: tuple[Ints, Ints, Ints]
    class_: Ints
    stage: Ints
    partition: Ints
    low: Ints
    high: Ints
    entities: Floats
    wide: Bools

    @staticmethod
    def of(scripts: Scripts, limits: Limits) -> FlatSteps:
        """Of the scripts of the first epoch, by class and parameters."""
        flat, count = FlatScripts.of(scripts), 0
        members: list[tuple[Ints, Ints, Ints]] = []
        steps: list[tuple[Ints, Ints, Ints]] = []
        for number, mine in enumerate(flat.numbers[0]):
            which, lengths = flat.stages_of(mine), flat.lengths[mine]
            stages, place = in_order(which, len(flat.stages))
            instances = np.repeat(np.arange(len(mine)), lengths)
            members.append((np.full(len(which), number), instances, place[which] + count))
            sizes = flat.sizes[stages]
            of_stage = np.repeat(np.arange(count, count + len(stages)), sizes)
            steps.append((np.full(len(of_stage), number), of_stage, flat.rows_of(stages)))
            count += len(stages)
        class_, stage, rows = (np.concatenate(each).astype(np.int64) for each in zip(*steps, strict=True))
        whose = tuple(np.concatenate(each).astype(np.int64) for each in zip(*members, strict=True))
        raw = flat.raw[rows]
        columns = (raw[:, OF_PARTITION], raw[:, LOW], raw[:, HIGH], offered(raw, limits) / MILLI)
        wide = (columns[0] == SEVERAL) & (raw[:, KIND] == Kind.PAGE)
        return FlatSteps(scripts.space, (whose[0], whose[1], whose[2]), class_, stage, *columns, wide)

    def rates(self, rates_per_s: Sequence[float], weights: Sequence[Floats]) -> Floats:
        """How often each step is sent per second, where classes come at rates, their parameters by weight."""
        sent, place = self._sent(rates_per_s, weights), self.members[2]
        per_stage: Floats = np.bincount(place, sent, minlength=self._stages).astype(np.float64)[self.stage]
        return per_stage

    def _sent(self, rates_per_s: Sequence[float], weights: Sequence[Floats]) -> Floats:
        """How often each stage of each script is sent per second."""
        class_, instance, place = self.members
        sent: Floats = np.zeros(len(place))
        for number, (rate, of_class) in enumerate(zip(rates_per_s, weights, strict=True)):
            mine, total = class_ == number, float(of_class.sum())
            if rate and total:
                sent[mine] = rate / total * of_class[instance[mine]]
        return sent

    @property
    def _stages(self) -> int:
        return max(int(self.stage.max(initial=-1)), int(self.members[2].max(initial=-1))) + 1

    def chains(self, values: Floats, classes: int) -> list[tuple[Floats, Ints]]:
        """By class and parameters (what the steps of one request come to, in how many stages one after another)."""
        class_, instance, place = self.members
        each = np.bincount(self.stage, values, minlength=self._stages)[place]
        out = []
        for number in range(classes):
            there = (class_ == number) & (each > 0)
            sums = np.bincount(instance[there], each[there]).astype(np.float64)
            out.append((sums, np.bincount(instance[there])))
        return out

    def partition_loads(self, rates: Floats) -> Floats:
        """Entities/s by rank: what counts toward partitions, so no pages over several of them."""
        single = self.partition != SEVERAL
        return np.bincount(
            self.partition[single], (rates * self.entities)[single], minlength=len(self.space.keys)
        ).astype(np.float64)

    def wide_loads(self, rates_per_s: Sequence[float], weights: Sequence[Floats]) -> Floats:
        """Entities/s by rank that pages over several PartitionKeys read there, in proportion to its rows.

        Pages of one request that follow one another are one scan: each begins in the PartitionKey where one ended.
        """
        wide = self.wide
        if not wide.any():
            return np.zeros(len(self.space.keys))
        sent = self._sent(rates_per_s, weights)
        single = np.bincount(self.stage, minlength=self._stages) == 1
        scans = np.zeros(self._stages, dtype=bool)
        scans[self.stage[wide & single[self.stage]]] = True
        of_stage = np.zeros(self._stages, dtype=np.int64)
        of_stage[self.stage] = np.arange(len(self.stage))
        class_, instance, place = self.members
        mine = np.flatnonzero(scans[place] & (sent > 0))
        _, firsts, scan = np.unique(class_[mine] << 40 | instance[mine], return_index=True, return_inverse=True)
        steps = of_stage[place[mine]]
        low, high = np.full(len(firsts), len(self.space.keys)), np.zeros(len(firsts), dtype=np.int64)
        np.minimum.at(low, scan, self.low[steps])
        np.maximum.at(high, scan, self.high[steps])
        each = np.bincount(scan, self.entities[steps] * sent[mine], minlength=len(firsts))
        rest = wide & ~scans[self.stage]
        others = np.bincount(place, sent, minlength=self._stages)[self.stage[rest]] * self.entities[rest]
        return self._laid(
            np.concatenate([low, self.low[rest]]),
            np.concatenate([high, self.high[rest]]),
            np.concatenate([each, others]),
        )

    def _laid(self, low: Ints, high: Ints, each: Floats) -> Floats:
        """What is read between ranks, on their rows."""
        sums = np.concatenate([[0], np.cumsum(self.space.rows)])
        slopes = np.zeros(len(self.space.keys) + 1)
        per_row = each / np.maximum(1, sums[high] - sums[low])
        np.add.at(slopes, low, per_row)
        np.subtract.at(slopes, high, per_row)
        laid: Floats = np.maximum(0.0, np.cumsum(slopes[:-1])) * self.space.rows
        return laid

    def spread_at(self, rates: Floats, rank: int) -> float:
        """Entities/s that pages over several PartitionKeys read at one of them, in proportion to its rows."""
        wide = self.wide
        return float((rates[wide] * self.at(rank)[wide]).sum())

    def at(self, rank: int) -> Floats:
        """Entities that each step reads or writes at one PartitionKey: of pages over several those of its rows."""
        wide = self.wide & (self.low <= rank) & (rank < self.high)
        sums = np.concatenate([[0], np.cumsum(self.space.rows)])
        rows = np.maximum(1, sums[self.high] - sums[self.low])
        entities: Floats = self.entities * np.where(wide, self.space.rows[rank] / rows, self.partition == rank)
        return entities

    def touching(self, rank: int, classes: int) -> list[Ints]:
        """By class the parameters whose requests load a PartitionKey."""
        wide = self.wide & (self.low <= rank) & (rank < self.high)
        there = np.zeros(self._stages, dtype=bool)
        there[self.stage[(self.partition == rank) | wide]] = True
        class_, instance, place = self.members
        return [np.unique(instance[there[place] & (class_ == number)]) for number in range(classes)]
