"""Azurite's table service through the official client: tables to fill with typed entities and to ask with filters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ResourceNotFoundError
from azure.core.pipeline.transport import RequestsTransport
from azure.data.tables import EdmType as WireType
from azure.data.tables import EntityProperty, TableClient, TableServiceClient

from pkadvisor.table.edm import EdmType, TypedValue, format_ticks

# The account that every Azurite has. Name and key are public constants of its documentation and guard nothing.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

LONGEST_KEY = 512
"""UTF-16 units that a PartitionKey and a RowKey may have: 1 KiB."""

TRANSACTION_ENTITIES = 100
TRANSACTION_CHARACTERS = 2_000_000  # the service takes 4 MiB a request; the estimate leaves room for JSON and headers

Entity = tuple[str, str, Mapping[str, TypedValue]]
"""PartitionKey, RowKey, and the properties; one that is not in the mapping is absent."""


@dataclass(frozen=True)
class Azurite:
    """A running table service on the loopback interface."""

    port: int
    service: TableServiceClient

    @classmethod
    def at(cls, port: int) -> Azurite:
        """A client of the service that listens on a port; it fails at once and dials nobody else."""
        host = f"127.0.0.1:{port}/{ACCOUNT}"
        # Without a secondary host of our own the client would derive one of the public cloud, and without
        # use_env_settings=False it would send everything to a proxy that the environment names.
        service = TableServiceClient(
            f"http://{host}",
            credential=AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY),
            secondary_hostname=host,
            retry_total=0,
            permit_redirects=False,
            transport=RequestsTransport(use_env_settings=False, connection_timeout=5, read_timeout=60),
        )
        return cls(port, service)

    def create(self, name: str) -> Table:
        """A new, empty table; its name must not be in use."""
        return Table(self.service.create_table(name))

    def close(self) -> None:
        """Closes the sockets of the client and of all its tables."""
        self.service.close()


@dataclass
class Table:
    """One table of the service."""

    client: TableClient
    left_out: int = field(default=0, init=False)
    """Entities that ``load`` did not write, because a key of theirs is too long."""

    def load(self, entities: Iterable[Entity]) -> int:
        """Inserts entities by group transactions and returns how many; a key that is there already is an error."""
        partitions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        written = 0
        for partition_key, row_key, properties in entities:
            # Azurite answers 400 InvalidInput to a key beyond 512 UTF-16 units, as the service does, and the whole
            # transaction is lost with it.
            if max(utf16_length(partition_key), utf16_length(row_key)) > LONGEST_KEY:
                self.left_out += 1
                continue
            partitions[partition_key].append(_wire_entity(partition_key, row_key, properties))
            written += 1
        # One after the other: the service has one thread and is the slower side; two or four writers gained nothing.
        for partition in partitions.values():
            for batch in _batches(partition):
                if len(batch) == 1:  # half the price of a transaction of one
                    self.client.create_entity(batch[0])
                else:
                    self.client.submit_transaction([("create", entity) for entity in batch])
        return written

    def query(self, filter_text: str, top: int | None = None, *, page: int | None = None) -> list[tuple[str, str]]:
        """Both keys of what a ``$filter`` selects, in the order of the answer; an empty text selects everything.

        ``top`` goes out as ``$top`` and bounds the result; ``page`` goes out as ``$top`` and bounds only a page. Pages
        are followed to the end. A filter that the service refuses raises HttpResponseError.
        """
        answer = self.client.query_entities(
            filter_text, results_per_page=page or top, select=["PartitionKey", "RowKey"]
        )
        return [(entity["PartitionKey"], entity["RowKey"]) for entity in islice(answer, top)]

    def get(self, partition_key: str, row_key: str) -> bool:
        """Whether a point read finds the entity, and finds just this one."""
        try:
            entity = self.client.get_entity(partition_key, row_key)
        except ResourceNotFoundError:
            return False
        assert (entity["PartitionKey"], entity["RowKey"]) == (partition_key, row_key)
        return True


def utf16_length(text: str) -> int:
    """UTF-16 code units of a text, which is what the limits of the service count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _wire_entity(partition_key: str, row_key: str, properties: Mapping[str, TypedValue]) -> dict[str, Any]:
    entity = {name: _wire_value(literal) for name, literal in properties.items()}
    if not entity.keys().isdisjoint(("PartitionKey", "RowKey", "Timestamp")):
        raise ValueError(f"a property has the name of a system property: {sorted(entity)}")
    return {"PartitionKey": partition_key, "RowKey": row_key, **entity}


def _wire_value(literal: TypedValue) -> Any:
    """What the client sends with exactly the literal's type: it guesses from Python values, and only some of them well.

    Every whole number would go out as Int32, a date with microseconds instead of ticks.
    """
    value = literal.value
    if literal.type is EdmType.DATETIME:
        assert isinstance(value, int)
        value = format_ticks(value)
    return EntityProperty(value, WireType(f"Edm.{literal.type}"))


def _batches(entities: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Group transactions of entities of one partition: bounded by number and by size."""
    batch: list[dict[str, Any]] = []
    size = 0
    for entity in entities:
        weight = 500 + sum(len(name) + _characters(value) for name, value in entity.items())
        if batch and (len(batch) == TRANSACTION_ENTITIES or size + weight > TRANSACTION_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(entity)
        size += weight
    if batch:
        yield batch


def _characters(value: Any) -> int:
    """About how many characters a value takes in JSON; beyond ASCII each UTF-16 unit is written as six."""
    content = value.value if isinstance(value, EntityProperty) else value
    if isinstance(content, str):
        return len(content) if content.isascii() else 6 * utf16_length(content)
    return 2 * len(content) if isinstance(content, bytes) else 40
