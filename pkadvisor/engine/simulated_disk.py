"""Disks of the simulator: files in memory that know which bytes are durable."""

from __future__ import annotations


class SimulatedFile:
    """A file: its bytes, and how many of them a power cut would leave."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.content = bytearray()
        self.durable_bytes = 0

    def size(self) -> int:
        """Bytes appended so far."""
        return len(self.content)

    async def append(self, data: bytes) -> int:
        """Writes at the end."""
        start = len(self.content)
        self.content += data
        return start

    async def sync(self) -> None:
        """Makes everything durable."""
        self.durable_bytes = len(self.content)

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there."""
        return bytes(self.content[offset : offset + length])

    async def truncate(self, size: int) -> None:
        """Cuts the file."""
        del self.content[size:]
        self.durable_bytes = min(self.durable_bytes, size)


class SimulatedDisk:
    """A device with files."""

    def __init__(self) -> None:
        self._files: dict[str, SimulatedFile] = {}

    async def open(self, name: str) -> SimulatedFile:
        """The file, created where it is missing."""
        return self._files.setdefault(name, SimulatedFile(name))

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""
        return tuple(sorted(self._files))

    async def delete(self, name: str) -> None:
        """Removes a file."""
        self._files.pop(name, None)

    async def replace(self, name: str, data: bytes) -> None:
        """Writes a whole file in place of an older one."""
        file = SimulatedFile(name)
        file.content += data
        file.durable_bytes = len(data)
        self._files[name] = file

    def free_bytes(self) -> int:
        """Room left."""
        return 1 << 40
