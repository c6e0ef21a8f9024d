"""The reader of Parquet files: what their schema states, mapped to Edm types."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pkadvisor.errors import InputError
from pkadvisor.files import redirected
from pkadvisor.lazy import pl
from pkadvisor.observe.data.records import Chunk, Tally, added_by_service, canonical_name, check_names, escape_name
from pkadvisor.table.edm import EdmType


@contextmanager
def quiet_panics(refusal: Callable[[str], InputError]) -> Iterator[None]:
    """Standard error as a file meanwhile: dropped where a library panics, written after all where it does not.

    The report of a panic goes straight to the descriptor, and no handler of exceptions comes before it. Threads that
    write to standard error meanwhile are heard afterwards. A library that aborts, for memory that it cannot have,
    ends the process: with the ``refusal`` for what the library printed, and with its exit code.
    """
    with tempfile.TemporaryFile() as file:
        try:
            with redirected(2, file.fileno()) as before, _refusing_aborts(before, file.fileno(), refusal):
                yield
        finally:
            file.seek(0)
            printed = file.read()
            if b"panicked at" not in printed:  # one thread may panic where another answers
                with suppress(OSError):
                    os.write(2, printed)


@contextmanager
def _refusing_aborts(terminal: int | None, printed: int, refusal: Callable[[str], InputError]) -> Iterator[None]:
    """Within it an abort of the process writes the refusal on the terminal, and ends it with the code of the refusal.

    A handler of Python's own would run when the main thread is back in Python, which after an abort it never is.
    """
    if terminal is None or sys.platform == "win32":  # an abort is no signal there
        yield
        return

    def refuse(_: int) -> None:
        error = refusal(os.pread(printed, 4096, 0).decode("utf-8", "replace").strip())
        first, *rest = error.lines()
        lines = (f"error: {first}", *(f"  {line}" for line in rest))
        os.write(terminal, "".join(f"{_harmless(line)}\n" for line in lines).encode("utf-8", "replace"))
        os._exit(error.exit_code)

    libc = ctypes.CDLL(None)
    libc.signal.restype, libc.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(refuse)
    former = libc.signal(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        libc.signal(signal.SIGABRT, former)


def _harmless(line: str) -> str:
    """A line without characters that move a cursor or colour a terminal."""
    return "".join(c if c.isprintable() else "?" for c in line)


_ROWS: Final = 65_536
_AHEAD: Final = 1 << 20
"""Rows that the reader may be ahead of whoever takes them: it does not wait by itself."""


class ParquetSource:
    """One Parquet file, read by polars in slices of rows.

    Structs are flattened to ``a.b``, lists become JSON text, wider or narrower numbers the next Edm type, dates and
    times without zone UTC, and everything else (durations, times of day, categories) text.
    """

    format = "parquet"

    def __init__(self, path: Path, where: str, tally: Tally) -> None:
        self.path, self.where = path, where
        with self._reading():
            # Fewer row groups at a time: as fast, and a fifth less memory.
            self._scan = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
            schema = self._scan.collect_schema()
        self._columns: dict[str, tuple[EdmType, pl.Expr]] = {}
        added = added_by_service(schema.names())
        for number, (name, dtype) in enumerate(schema.items()):
            if name in added:
                continue
            self._add(name, pl.col(name) if escape_name(name) == name else pl.nth(number), dtype, tally)
        if not self._columns:
            raise InputError("the Parquet file has no columns", where=where, fix="export it again")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """InputError for whatever the reader finds wrong, or dies of: a panic of it is no exception of Python's."""
        try:
            with quiet_panics(self._refusal):
                yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError) as error:
            raise self._refusal(str(error).strip()) from None

    def _refusal(self, reason: str) -> InputError:
        what = f"the Parquet file is damaged or cut short ({reason.split(chr(10))[0][:120]})"
        return InputError(what, where=self.where, fix="copy the file again")

    def _add(self, name: str, value: pl.Expr, dtype: pl.DataType, tally: Tally) -> None:
        if isinstance(dtype, pl.Struct):
            for child in dtype.fields:
                inner = child.dtype if isinstance(child.dtype, pl.DataType) else child.dtype()
                self._add(f"{name}.{child.name}", value.struct.field(child.name), inner, tally)
            return
        final = canonical_name(escape_name(name), tally)
        while final in self._columns:
            tally.remarks[f"two columns are named {final}; the later one is called {final}_2"] = None
            final += "_2"
        edm, expr = self._typed(final, value, dtype, tally)
        self._columns[final] = (edm, expr.alias(final))
        check_names(len(self._columns), self.where)

    def _typed(self, name: str, value: pl.Expr, dtype: pl.DataType, tally: Tally) -> tuple[EdmType, pl.Expr]:
        utc = pl.Datetime("us", "UTC")
        if dtype in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16):
            return EdmType.INT32, value.cast(pl.Int32)
        if dtype in (pl.Int64, pl.UInt32):
            return EdmType.INT64, value.cast(pl.Int64)
        if dtype == pl.UInt64 and self._fits_int64(value):
            return EdmType.INT64, value.cast(pl.Int64)
        if dtype in (pl.Float32, pl.Float64) or isinstance(dtype, pl.Decimal):
            if isinstance(dtype, pl.Decimal):
                tally.remarks[f"decimal column {name} is read as Double"] = None
            return EdmType.DOUBLE, value.cast(pl.Float64)
        if dtype == pl.Boolean:
            return EdmType.BOOLEAN, value
        if dtype == pl.Date or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None):
            tally.remarks[f"times without a zone are read as UTC: {name}"] = None
            return EdmType.DATETIME, value.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        if isinstance(dtype, pl.Datetime):
            return EdmType.DATETIME, value.dt.convert_time_zone("UTC").cast(utc)
        if dtype == pl.Binary:
            return EdmType.BINARY, value
        if isinstance(dtype, pl.List | pl.Array):
            return EdmType.STRING, value.map_batches(_json_lists, return_dtype=pl.String)
        return EdmType.STRING, value.cast(pl.String)

    def _fits_int64(self, value: pl.Expr) -> bool:
        with self._reading():
            top = self._scan.select(value.max()).collect().item()
        return top is None or top < 2**63

    def counted(self, tally: Tally) -> dict[str, dict[EdmType, int]]:
        """How many values each column states, by type: what ``chunks`` would tell, without making any of them."""
        missing = [expr.is_null().sum().alias(f"{i}") for i, (_, expr) in enumerate(self._columns.values())]
        with self._reading():
            totals = self._scan.select(pl.len().alias("rows"), *missing).collect(engine="streaming").row(0)
        rows = int(totals[0])
        tally.rows += rows
        counts = zip(self._columns.items(), totals[1:], strict=True)
        return {name: {edm: rows - int(nulls)} for (name, (edm, _)), nulls in counts}

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        """All rows in file order; only the wanted columns are read."""
        wanted = {n: c for n, c in self._columns.items() if columns is None or n in columns}
        exprs = [expr for _, expr in wanted.values()] or [next(iter(self._columns.values()))[1]]
        with self._reading():
            rows = int(self._scan.select(pl.len()).collect().item())
        for start in range(0, rows, _AHEAD):
            for frame in self._batches(self._scan.slice(start, _AHEAD).select(exprs)):
                tally.rows += frame.height
                part = frame.select(list(wanted))
                stated = {n: {edm: frame.height - part[n].null_count()} for n, (edm, _) in wanted.items()}
                yield Chunk(frame.height, part, stated)

    def _batches(self, rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        with self._reading():
            batches = iter(rows.collect_batches(chunk_size=_ROWS, maintain_order=True))
        while True:
            with self._reading():
                frame = next(batches, None)
            if frame is None:
                return
            yield frame


def _json_lists(values: pl.Series) -> pl.Series:
    import json

    texts = [
        None if v is None else json.dumps(v, ensure_ascii=False, separators=(",", ":"), default=str)
        for v in values.to_list()
    ]
    return pl.Series(values.name, texts, dtype=pl.String)
