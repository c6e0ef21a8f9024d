"""What a client sends for one request of a workload under a key scheme: stages of store operations.

    query              the requests of its plan ──► further pages ──► the entities behind pointers
    insert, upsert     rows of one partition in a group ──► index rows elsewhere
    update, delete     (look-up, where the key is not known) ──► rows of the partition ──► index rows elsewhere
    read-modify-write  read ──► write under If-Match; 412: once more, at most ``UPDATES_MAX`` times

The plan is the one that ``estimate`` of ``design/cost/cost.py`` chose, and requests are counted as
``design/cost/class_cost.py`` counts them. Classes for analysis are not run.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from pkadvisor.design.cost.class_cost import falls_together, kept_together, locates
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.load.counting import common_to, keeps_together, set_entities_most
from pkadvisor.design.load.estimates import Bench, ClassCost
from pkadvisor.design.load.keyfacts import typed_values
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.plan.caller import touched
from pkadvisor.design.plan.requests import Request, constant_of, requests
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.observe.workload import Operation as Does
from pkadvisor.observe.workload import Transaction
from pkadvisor.stress.requests.asked_values import AskedValue, parameters_asked, values_asked
from pkadvisor.stress.requests.fresh_entities import FreshEntities, Inserting, ends_of, start_after
from pkadvisor.stress.requests.program_reads import Reader, Stages, in_rounds, properties_of, target_of
from pkadvisor.stress.requests.program_writes import Changes, OtherValues, Sent, changed_together, in_stages, inserted
from pkadvisor.stress.requests.retry import UPDATES_MAX, GivenUp
from pkadvisor.stress.requests.rows import KeyTexts, Placed, Properties, stored_entities
from pkadvisor.table.edm import TypedValue
from pkadvisor.table.filters import lower_case
from pkadvisor.table.store import Entity, EntityKey
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class _Class:
    """One class of the workload under the scheme."""

    demand: Demand
    cost: ClassCost
    asked: tuple[AskedValue, ...]
    reader: Reader | None = None
    inserting: Inserting | None = None
    changes: Changes | None = None
    locates: bool = False
    together: bool = False
    """Whether the entities that one request changes go in one group."""
    own: dict[int, Properties] = field(default_factory=dict)
    planned: dict[int, tuple[Properties, Iterable[Request]]] = field(default_factory=dict)
    """By instance its parameters and first requests, where no clock has a say in them."""
    changed: dict[int, list[Sent]] = field(default_factory=dict)
    """By instance its writes, where nothing is read before them."""


class Programs:
    """The programs of one table under one scheme.

    ``entities`` are the data rows of ``bench.population`` in their order (``entities_of``): the table holds them, and
    number n is row n. The run begins right after the newest entity. UsageError: the scheme gives two entities one key.
    """

    def __init__(
        self,
        bench: Bench,
        scheme: KeyScheme,
        entities: Sequence[Mapping[str, TypedValue]],
        *,
        table: str,
        seed: int = 0,
    ) -> None:
        self.bench, self.scheme, self.entities, self.table, self.seed = bench, scheme, entities, table, seed
        population = bench.population
        self.types = population.types
        self.start_ticks = start_after(population, entities)
        self.estimate = estimate(scheme, bench)
        run = [
            (cost, demand)
            for cost, demand in zip(self.estimate.classes, bench.demands, strict=True)
            if not demand.query.analytic
        ]
        self._classes = tuple(self._class(cost, demand) for cost, demand in run)
        self.demands = tuple(c.demand for c in self._classes)
        self.classes = tuple(c.demand.query.name for c in self._classes)
        self.instances = tuple(len(c.demand.instances) for c in self._classes)
        self._ends: dict[str, tuple[int, int]] = {}
        self._texts = KeyTexts(scheme, self.types)
        self._filler: dict[int, dict[str, TypedValue]] = {}

    # -- the table -----------------------------------------------------------------------------------------------

    @cached_property
    def stored(self) -> tuple[Entity, ...]:
        """Every row that the table holds before the run."""
        return tuple(row for _, _, row in stored_entities(self.scheme, self.entities, self.types))

    def plan(self, class_number: int) -> AccessPlan | None:
        """How a class finds its entities; None for inserts."""
        return self._classes[class_number].cost.plan

    def periods(self, class_number: int) -> tuple[PeriodPart, ...]:
        """The periods in keys that a class takes from the clock: with each of them its requests change."""
        request_class = self._classes[class_number]
        if request_class.inserting is not None:
            return request_class.inserting.fresh.periods
        plan = request_class.cost.plan
        grows = plan is not None and plan.periods is not None and plan.periods.property == self._arrival
        return (plan.periods,) if plan is not None and plan.periods is not None and grows and self._open(plan) else ()

    def inserts_may_part(self, class_number: int, short: Collection[PeriodPart]) -> bool:
        """Whether an insert may have a PartitionKey that another one like it has not; ``short``: periods that each
        request has for its own."""
        inserting = self._classes[class_number].inserting
        return inserting is not None and inserting.fresh.may_part(short)

    # -- what is sent --------------------------------------------------------------------------------------------

    def start(self, class_number: int, instance: int, request: int, at_ns: int) -> Stages:
        """The program of one request: it yields stages and is sent their outcomes, those that were accepted.

        It may yield nothing: of entities that are inserted in one group, one request sends all. A client sends at most
        ``fan_out_parallel`` operations at once.
        """
        return in_rounds(self.program(class_number, instance, request, at_ns), self.bench.limits.fan_out_parallel)

    def program(self, class_number: int, instance: int, request: int, at_ns: int) -> Stages:
        """The same for a client that sends the whole of a stage at once."""
        request_class = self._classes[class_number]
        if request_class.inserting is not None:
            yield from self._insert(request_class, request_class.inserting, instance, request, at_ns)
        elif request_class.changes is None:
            assert request_class.reader is not None
            values, planned = self._planned(request_class, instance, at_ns)
            yield from request_class.reader.run(planned, values, keep=False)
        elif request_class.locates:
            for member in self._members(request_class, instance):
                yield from self._located(request_class, request_class.changes, member, at_ns)
        else:
            yield from in_stages(self._sent(request_class, request_class.changes, instance))

    def query_requests(self, class_number: int, instance: int, at_ns: int) -> tuple[Request, ...] | None:
        """All that a query sends but for further pages; None where an answer decides what is sent, or rows change."""
        request_class = self._classes[class_number]
        if request_class.reader is None or request_class.changes is not None or not request_class.reader.plain:
            return None
        return tuple(self._planned(request_class, instance, at_ns)[1])

    def _planned(self, request_class: _Class, instance: int, at_ns: int) -> tuple[Properties, Iterable[Request]]:
        """The parameters of one request of a class that reads, and what it sends first."""
        known = request_class.planned.get(instance)
        if known is None:
            reader, values = request_class.reader, self._parameters(request_class, instance)
            assert reader is not None
            known = values, reader.requests(values, self._ends_at(request_class, at_ns))
            if not reader.plan.back and reader.plan.periods is None:
                request_class.planned[instance] = known
        return known

    def asked(self, class_number: int, instance: int) -> tuple[object, ...] | None:
        """What tells one query of a class from others; None for classes that write."""
        request_class = self._classes[class_number]
        if request_class.changes is not None or request_class.inserting is not None:
            return None
        values = self.values(class_number, instance)
        return tuple(values.get(each.name) for each in request_class.asked)

    def updated(self, class_number: int, instance: int) -> Hashable | None:
        """What tells the entity that a request reads, changes and writes from others; None for other requests."""
        request_class, query = self._classes[class_number], self.demands[class_number].query
        if not query.read_modify_write or query.entities_per_request != 1:
            return None
        return tuple(sorted(self._fixed(request_class, self.values(class_number, instance)).items(), key=repr)) or None

    def values(self, class_number: int, instance: int) -> Properties:
        """The parameters of one request, from the row that it is drawn from: all that its sender knows of a table."""
        return self._parameters(self._classes[class_number], instance)

    def _parameters(self, request_class: _Class, instance: int) -> Properties:
        instances = request_class.demand.instances

        def drawn(number: int) -> Properties:
            row = int(instances[(instance + number) % len(instances)])
            return self.entities[row] if row < len(self.entities) else self._logged(row)

        return values_asked(request_class.asked, drawn)

    def entity(self, request_class: _Class, instance: int) -> Properties:
        """The entity that an insert or a change without look-up names; what a log does not tell is as in some row."""
        row = int(request_class.demand.instances[instance])
        if row < len(self.entities):
            return self.entities[row]
        if row not in request_class.own:
            logged = {n: v for n, v in self._logged(row).items() if n in self.types}
            like = self.entities[row % len(self.entities)] if self.entities else {}
            request_class.own[row] = dict(like) | logged
        return request_class.own[row]

    def _logged(self, row: int) -> Properties:
        if row not in self._filler:
            literals = typed_values(self.bench.population, row)
            self._filler[row] = {n: TypedValue(v.type, v.value) for n, v in literals.items()}
        return self._filler[row]

    def _insert(self, request_class: _Class, how: Inserting, instance: int, request: int, at_ns: int) -> Stages:
        if how.groups is not None:
            like = [self.entities[n] for n in how.groups[instance]]
        else:
            own = self.entity(request_class, instance)
            count = int((instance + 1) * how.each) - int(instance * how.each)
            like = [own] * count
        if not like:
            return
        replace = request_class.demand.query.operation is Does.UPSERT
        placed: list[Sequence[Placed]] = []
        for member, properties in enumerate(like):
            if replace:
                placed.append(tuple(self._texts.rows_of(properties)))
            else:
                placed.append(how.fresh.rows(properties, request, at_ns, member))
        sent = inserted(self.table, self.scheme, placed, together=how.together, gathered=how.gathered, replace=replace)
        yield from in_stages((sent,))

    def _members(self, request_class: _Class, instance: int) -> list[int]:
        """The instances that one request changes: its own, and the next ones where it changes several entities."""
        each = request_class.demand.query.entities_per_request
        count = int((instance + 1) * each) - int(instance * each)
        return [(instance + n) % len(request_class.demand.instances) for n in range(count)]

    def _changing(self, request_class: _Class, instance: int) -> list[Properties]:
        """The entities that one request changes: those of its instances, or of its partition where they go together."""
        members = self._members(request_class, instance)
        if not request_class.together or len(members) <= 1:
            return [self.entity(request_class, member) for member in members]
        own = self.entity(request_class, instance)
        others = [e for e in self._by_partition.get(self._main_key(own).partition_key, ()) if e != own]
        begin = instance % max(1, len(others))
        return [own, *(others[begin:] + others[:begin])[: len(members) - 1]]

    @cached_property
    def _by_partition(self) -> dict[str, list[Properties]]:
        out: dict[str, list[Properties]] = {}
        for properties in self.entities:
            out.setdefault(self._main_key(properties).partition_key, []).append(properties)
        return out

    def _located(self, request_class: _Class, changes: Changes, instance: int, at_ns: int) -> Stages:
        """Reads, then writes what it found; under If-Match where it must be unchanged since.

        An entity that an earlier request of the run removed is written all the same: a request that finds its entity
        costs as much, and the load is declared as such requests.
        """
        drawn = self.entity(request_class, instance)
        reader, query = request_class.reader, request_class.demand.query
        assert reader is not None
        for _ in range(UPDATES_MAX if query.read_modify_write else 1):
            values, planned = self._planned(request_class, instance, at_ns)
            rows = yield from reader.run(planned, values)
            sent: list[Sent] = []
            conditional, plan = False, reader.plan
            for entity in rows:
                if plan.pointer and not plan.follows:
                    if (target := target_of(entity)) is not None:
                        sent.append(
                            self._changed(request_class, changes, target, self._fixed(request_class, values), drawn)
                        )
                    continue
                properties = properties_of(entity)
                copy = plan.via > 0 and not plan.follows
                key = self._main_key(properties) if copy else entity.key
                etag = entity.etag if query.read_modify_write and entity.etag else "*"
                conditional = conditional or etag != "*"
                sent.append(self._changed(request_class, changes, key, properties, properties, etag, whole=True))
            if not rows:
                sent.append(self._changed(request_class, changes, self._main_key(drawn), drawn, drawn))
            outcomes = yield tuple(operation for each in sent for operation in each.first)
            if not conditional or all(outcome.status != 412 for outcome in outcomes):
                after = tuple(operation for each in sent for operation in each.after)
                if after:
                    yield after
                return
        raise GivenUp

    def _sent(self, request_class: _Class, changes: Changes, instance: int) -> Sequence[Sent]:
        """The writes of a request that reads nothing before."""
        sent = request_class.changed.get(instance)
        if sent is None:
            sent = [self._named(request_class, changes, asked) for asked in self._changing(request_class, instance)]
            if request_class.together and len(sent) > 1:
                sent = [changed_together(sent)]
            request_class.changed[instance] = sent
        return sent

    def _named(self, request_class: _Class, changes: Changes, asked: Properties) -> Sent:
        """Writes the entity that the filter names, from the values that it names; nothing is read."""
        plan = request_class.cost.plan
        assert plan is not None
        values = values_asked(request_class.asked, lambda _: asked)
        (request,) = requests(replace(plan, rest=()), request_class.demand.conditions, values, self.types)
        assert request.point is not None
        return self._changed(
            request_class, changes, EntityKey(*request.point), self._fixed(request_class, values), asked
        )

    def _fixed(self, request_class: _Class, values: Properties) -> Properties:
        """The properties of the entity that the equalities of a filter tell, of some no more than the lower case."""
        wanted = request_class.demand.conditions
        told = {n: constant_of(operand, values) for n, operand in {**wanted.equal, **wanted.folded}.items()}
        return told | {n: TypedValue(told[n].type, lower_case(str(told[n].value))) for n in wanted.folded}

    def _changed(
        self,
        request_class: _Class,
        changes: Changes,
        key: EntityKey,
        known: Properties,
        drawn: Properties,
        etag: str = "*",
        *,
        whole: bool = False,
    ) -> Sent:
        """The writes of one change. ``known``: what the caller knows of the entity, ``whole`` where that is all of it;
        ``drawn`` is an entity like it, whose values decide which new ones are set."""
        match request_class.demand.query.operation:
            case Does.DELETE:
                return changes.delete(key, known, etag)
            case Does.UPDATE:
                others = self._others.changed(drawn, changes.sets)
                new = {**known, **{n: others[n] for n in changes.sets or others if n in others}}
                return changes.update(key, known, new, etag, whole=whole)
            case _:
                return changes.upsert(key, drawn)

    def _main_key(self, properties: Properties) -> EntityKey:
        return next(iter(self._texts.rows_of(properties))).key

    @cached_property
    def _others(self) -> OtherValues:
        names = {name for c in self._classes for name in c.demand.query.sets}
        return OtherValues(self.entities, sorted(names))

    # -- classes -------------------------------------------------------------------------------------------------

    def _class(self, cost: ClassCost, demand: Demand) -> _Class:
        query, scheme, asked = demand.query, self.scheme, parameters_asked(demand.query)
        if cost.plan is None:
            return _Class(demand, cost, asked, inserting=self._inserting(demand))
        reader = Reader(self.table, cost.plan, demand.conditions, scheme, self.types, query.top)
        if query.operation is Does.QUERY:
            return _Class(demand, cost, asked, reader)
        changes = Changes(self.table, scheme, self.types, query.sets, tuple(touched(query, scheme)))
        together = kept_together(query.name, self.bench, self.estimate.transactions) == 1
        return _Class(demand, cost, asked, reader, None, changes, locates(cost.plan), together)

    def _inserting(self, demand: Demand) -> Inserting:
        query, scheme, population = demand.query, self.scheme, self.bench.population
        each = query.entities_per_request
        outcome, declared = next(
            (
                (o, t)
                for o, t in zip(self.estimate.transactions, self.bench.workload.transactions, strict=True)
                if query.name in t.together
            ),
            (None, None),
        )
        guaranteed = outcome is not None and outcome.kept
        partitions = [key.partition for key, _ in scheme.each_key()]
        away = {via for via, row in enumerate(scheme.index_rows, 1) if not scheme.same_partition(row)}
        group_by = common_to(declared, scheme) if declared is not None else ()
        groups: Sequence[Sequence[int]] | None = None
        gathered = frozenset[int]()
        together, members = False, 1
        if each > 1:
            members = int(each) + 1
            together = guaranteed or not atoms_of(scheme.main.partition)
            if together:
                gathered = frozenset(v for v in away if falls_together(partitions[v], declared, population))
        elif guaranteed and declared is not None and outcome is not None:
            together = True
            most = set_entities_most(scheme, self.bench)
            groups = self._groups(demand, declared, outcome.mean_entities, most)
            gathered = frozenset(v for v in away if keeps_together(declared, partitions[v], population))
            members = max(map(len, groups), default=1)
        common = group_by if together else ()
        fresh = FreshEntities(scheme, population, self.start_ticks, group_by=common, members=members)
        return Inserting(fresh, together, gathered, groups, each)

    def _groups(self, demand: Demand, declared: Transaction, mean: float, most: int) -> list[list[int]]:
        """For each instance the data rows of its group, at its first row; none at the others.

        Logged inserts tell how large groups are, not which: every so-manieth sends as many entities like its own.
        """
        rows = [int(row) for row in demand.instances]
        at = {row: n for n, row in enumerate(rows)}
        out: list[list[int]] = [[] for _ in rows]
        if declared.entities is not None or any(row >= len(self.entities) for row in rows):
            size = max(1.0, min(mean, float(most)))
            leader, count = 0, len(self.entities)
            for n in range(len(rows)):
                if int(n / size) != int((n - 1) / size) or not n:
                    leader = n
                out[leader].append(rows[n] if rows[n] < count else n % max(1, count))
            return out
        names = [n for n in common_to(declared, self.scheme) if self.bench.population.has(n)]
        most = min(2, most) if declared.pair is not None else most
        gathered: dict[tuple[object, ...], list[int]] = {}
        for row in rows:
            entity = self.entities[row]
            agreed = tuple(None if (p := entity.get(n)) is None else p.value for n in names)
            gathered.setdefault(agreed, []).append(row)
        for group in gathered.values():
            for begin in range(0, len(group), most):
                out[at[group[begin]]] = group[begin : begin + most]
        return out

    # -- time ----------------------------------------------------------------------------------------------------

    @property
    def inserting(self) -> tuple[bool, ...]:
        """Whether each class inserts."""
        return tuple(c.inserting is not None for c in self._classes)

    @cached_property
    def _arrival(self) -> str | None:
        """The moment of insertion, where the load inserts at all: then the newest entity is that of now."""
        inserting = [c.inserting for c in self._classes if c.inserting is not None]
        return inserting[0].fresh.arrival if inserting else None

    def _open(self, plan: AccessPlan) -> bool:
        return plan.back or plan.periods_open

    def _ends_at(self, request_class: _Class, at_ns: int) -> tuple[int, int]:
        """The first and the last moment of the property whose periods a plan enumerates, at a moment of the run."""
        plan = request_class.cost.plan
        if plan is None or plan.periods is None:
            return 0, 0
        name = plan.periods.property
        if name not in self._ends:
            self._ends[name] = ends_of(name, self.entities)
        oldest, newest = self._ends[name]
        if name == self._arrival:
            newest = max(newest, self.start_ticks + at_ns // 100)
        return oldest, newest
