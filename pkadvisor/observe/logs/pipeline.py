"""What the formats share: blocks parsed ahead by a few threads, requests classified in the order of the file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import np, pl
from pkadvisor.observe.data.streams import LongLine, line_blocks, locate, open_bytes
from pkadvisor.observe.logs.frame import TOO_LONG, UNREADABLE, ReadOptions, Route, Routes, Skips, conform
from pkadvisor.observe.logs.urls import coarse, spread
from pkadvisor.values import dataclass


@dataclass(slots=True)
class Skip:
    """Lines of one block that are left out; ``line`` is the first one's place in the block, from 0."""

    reason: str
    count: int
    line: int
    text: str
    bad: bool = False


@dataclass(slots=True)
class Parsed:
    """A block after parsing.

    ``frame`` has the columns of a request frame but, instead of ``route``, ``line`` (place in the block) and ``what``:
    a place in ``kinds``, texts that together with the format decide the route, in order of first appearance.
    """

    lines: int
    frame: pl.DataFrame | None
    skips: list[Skip] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


def line_ends(block: bytes) -> int:
    """``block.count(b"\\n")``, three times as fast and without holding other threads up."""
    data = np.frombuffer(block, dtype=np.uint8)
    return sum(int(np.count_nonzero(data[at : at + (1 << 20)] == 10)) for at in range(0, len(data), 1 << 20))


def has_escapes(block: bytes) -> bool:
    """Whether a backslash occurs, without holding other threads up."""
    data = np.frombuffer(block, dtype=np.uint8)
    return any((data[at : at + (1 << 20)] == ord("\\")).any() for at in range(0, len(data), 1 << 20))


def split_columns(
    block: bytes, separator: str, quote: str | None, prefix: str, width: int, wanted: Iterable[int]
) -> pl.DataFrame | None:
    """The wanted ones of the ``width`` pieces of each line as texts named by a prefix and their number, and ``line``;
    None where polars gives up."""
    try:
        return (
            pl.scan_csv(
                block,
                separator=separator,
                quote_char=quote,
                has_header=False,
                schema={f"{prefix}{i}": pl.String() for i in range(width)},
                truncate_ragged_lines=True,
                missing_columns="insert",
                empty_string_is_null=False,
                row_index_name="line",
                low_memory=True,  # a little faster too on blocks of this size
            )
            .select("line", *(f"{prefix}{i}" for i in wanted))
            .collect()
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def first_object(head: bytes) -> dict[str, Any]:
    """The JSON object in the first line that is not blank; empty where it holds none."""
    line = next((line for line in head.split(b"\n", 5)[:5] if line.strip()), b"null")
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def text_of(line: bytes) -> str:
    """A line for humans."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def ahead(
    blocks: Iterator[Callable[[], bytes]], parse: Callable[[bytes], Parsed], options: ReadOptions
) -> Iterator[Parsed]:
    """``parse`` of every block, in order; up to ``options.threads`` blocks are fetched and worked on at a time."""
    if options.threads <= 1:
        for fetch in blocks:
            yield parse(fetch())
        return
    with ThreadPoolExecutor(options.threads, thread_name_prefix="log") as pool:
        waiting: deque[Future[Parsed]] = deque()
        try:
            for fetch in blocks:
                waiting.append(pool.submit(_fetched, fetch, parse))
                if len(waiting) > options.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _fetched(fetch: Callable[[], bytes], parse: Callable[[bytes], Parsed]) -> Parsed:
    return parse(fetch())


_EDGE_BYTES: Final = 1 << 20


def block_fetchers(
    path: str | Path, block_bytes: int, on_long_line: Callable[[LongLine], None], name: str
) -> Iterator[Callable[[], bytes]]:
    """One function for each block of whole lines, to be called in any thread.

    Plain UTF-8 files are read where the blocks are parsed; others, and files with very long lines, as one stream.
    """
    cuts = _cuts(path, block_bytes, name)
    if cuts is None:
        for block in line_blocks(path, block_bytes, on_long_line=on_long_line, name=name):
            yield partial(bytes, block)
        return
    file_path = locate(path)
    for start, end in pairwise(cuts):
        yield partial(_piece, file_path, start, end)


def _piece(path: Path, start: int, end: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        parts = []
        left = end - start
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    block = parts[0] if len(parts) == 1 else b"".join(parts)
    return block if block.endswith(b"\n") else block + b"\n"


def _cuts(path: str | Path, block_bytes: int, name: str) -> list[int] | None:
    """Offsets behind line ends, about ``block_bytes`` apart; None where the file has to be read as a stream."""
    file_path = locate(path)
    with open_bytes(path, name=name) as stream:
        if stream.compression or stream.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return None
        start = 3 if stream.head.startswith(b"\xef\xbb\xbf") else 0
    size = file_path.stat().st_size
    cuts = [start]
    with file_path.open("rb", buffering=0) as file:
        while size - cuts[-1] > block_bytes:
            at = cuts[-1] + block_bytes
            file.seek(at)
            line_end = file.read(_EDGE_BYTES).find(b"\n")
            if line_end < 0:
                return None  # a line of a megabyte: the stream knows what to do about it
            cuts.append(at + line_end + 1)
    if cuts[-1] < size:
        cuts.append(size)
    return cuts


def count_long_lines(skips: Skips, where: str) -> Callable[[LongLine], None]:
    """What counts the lines of a file that nothing reads for their length."""

    def count(line: LongLine) -> None:
        skips.lines += 1
        skips.add(TOO_LONG, 1, f"{where}:{line.line}", text_of(line.head[:200]), bad=True)

    return count


def read_lines(
    path: str | Path,
    parse: Callable[[bytes], Parsed],
    route_of: Callable[[str], Route],
    routes: Routes,
    skips: Skips,
    options: ReadOptions,
    name: str = "",
) -> Iterator[pl.DataFrame]:
    """Request frames of a file of lines; ``route_of`` is asked once for each distinct ``what``."""
    where = name or str(path)

    blocks = block_fetchers(path, options.block_bytes, count_long_lines(skips, where), where)
    yield from classified(ahead(blocks, parse, options), route_of, routes, skips, where)


def classified(
    parsed: Iterator[Parsed], route_of: Callable[[str], Route], routes: Routes, skips: Skips, where: str
) -> Iterator[pl.DataFrame]:
    """Frames with route numbers; requests of routes that say ``skip`` are counted and dropped."""
    numbers: dict[str, int] = {}
    first = 1
    for part in parsed:
        skips.lines += part.lines
        for skip in part.skips:
            skips.add(skip.reason, skip.count, f"{where}:{first + skip.line}", skip.text, bad=skip.bad)
        frame = part.frame
        if frame is not None and frame.height:
            if len(numbers) > 200_000:
                numbers.clear()
            fresh = pl.Series([text for text in part.kinds if text not in numbers], dtype=pl.String)
            if len(fresh):
                # Literals that are not quoted (numbers, tokens) make many texts of one kind: Python reads kinds only.
                kinds: dict[str, int] = {}
                for text, kind in zip(fresh, coarse(fresh), strict=True):
                    if kind not in kinds:
                        kinds[kind] = routes.number(route_of(kind))
                    numbers[text] = kinds[kind]
            codes = pl.Series([numbers[text] for text in part.kinds], dtype=pl.UInt32)
            frame = frame.with_columns(route=codes.gather(frame["what"]))
            for code in sorted(set(codes.to_list())):
                reason = routes.all[code].skip
                if reason:
                    left_out = frame.filter(pl.col("route") == code)
                    line = first + int(left_out.item(0, "line"))
                    skips.add(
                        reason,
                        left_out.height,
                        f"{where}:{line}",
                        part.kinds[left_out.item(0, "what")].replace("\n", " "),
                        bad=reason in UNREADABLE,
                    )
                    frame = frame.filter(pl.col("route") != code)
            if frame.height:
                yield conform(_numbered(frame, routes))
        first += part.lines


def _numbered(frame: pl.DataFrame, routes: Routes) -> pl.DataFrame:
    """The parts of group transactions by number, where an export left their numbers out: else all would be one."""
    grouped = pl.Series([route.grouped for route in routes.all]).gather(frame["route"])
    missing = grouped & (frame["op_number"] == 0)
    if not missing.any():
        return frame
    place = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("request_id")
    number = pl.when(pl.col("request_id").is_null() | (pl.col("request_id") == "")).then(1).otherwise(place)
    parts = frame.filter(missing).with_columns(op_number=number.cast(pl.Int32))
    return frame.with_columns(
        op_number=pl.when(missing).then(spread(parts["op_number"], missing)).otherwise("op_number")
    )
