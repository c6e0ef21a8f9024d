"""``advisor profile``: data, logs and other profiles become one document that can stand in for them."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.design.choice.sections import observed, sections_of
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.rows.dependencies import dependencies
from pkadvisor.design.rows.population import Population
from pkadvisor.documents.profile import StoredProfile
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest, data_of, declaration_of, documents_of, merged_documents, traffic_of
from pkadvisor.observe.design_file.declaration import Declaration
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import POSITION
from pkadvisor.observe.profile.profile_file import ProfileDocument
from pkadvisor.observe.profile.table_profiles import TableProfile, seed_of
from pkadvisor.observe.workload import DrawBy, QueryClass, Workload
from pkadvisor.progress import Progress


def profile(request: AnalyzeRequest, progress: Progress, *, salt: bytes) -> StoredProfile:
    """Data, logs and other profiles as one document."""
    if request.entities_total is not None:
        fix = "leave it out here and give it with 'advisor analyze --profile', or write it into the design file"
        raise UsageError("a profile holds what was read, not how much there is", where="--entities-total", fix=fix)
    declaration = declaration_of(request)
    documents = documents_of(request)
    data = data_of(request, declaration, progress, file_sample=True, seed=seed_of(salt))
    traffic = traffic_of(request, progress, declaration)
    if not data and traffic is None and not documents:
        raise UsageError("nothing to profile", fix="give data files, --log FILE or --profile FILE")
    if data or traffic is not None:
        tables = []
        for section in sections_of(request.tables, declaration, [profile for profile, _ in data], traffic, []):
            workload = observed(section)[0]
            logged = None if section.traffic is None else replace(workload, classes=_logged(workload))
            covered = traffic.clock.covered_s if traffic is not None else 0.0
            named = section.table if declaration is not None or section.traffic is not None else ""
            tables.append(TableProfile(named, section.kind, _with_dependencies(section.data), logged, covered))
        workloads = [t.workload for t in tables if t.workload is not None]
        own = ProfileDocument(tuple(tables)).hidden(salt, _ordered(declaration, workloads))
        documents.insert(0, ("the data given", own))
    return merged_documents(documents).stored()


def _with_dependencies(data: DataProfile | None) -> DataProfile | None:
    """The data with the properties that are functions of others: hidden values no longer show that."""
    if data is None:
        return None
    rows = Population(data.sample.sort(POSITION).drop(POSITION, "#hash"), data.types)
    rules = tuple((each.target, each.source, str(each.rule)) for each in dependencies(rows))
    return replace(data, dependencies=rules)


def _logged(workload: Workload) -> tuple[QueryClass, ...]:
    return tuple(c for c in workload.classes if c.draw.by is DrawBy.LOG)


def _ordered(declaration: Declaration | None, logged: list[Workload]) -> frozenset[str]:
    """Properties whose order some query needs, declared or logged, so that a profile must keep their values."""
    tables = declaration.tables if declaration else ()
    properties = {t.arrival for t in tables if t.arrival}
    for workload in (*(t.workload for t in tables), *logged):
        for query in workload.classes:
            properties |= set(conditions(query.filter).ranges)
    return frozenset(properties)
