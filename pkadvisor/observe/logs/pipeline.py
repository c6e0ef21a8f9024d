"""What the formats share: blocks parsed ahead by a few threads, requests classified in the order of the file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.observe.logs.frame import NOT_PARSEABLE, ReadOptions, Route, Routes, Skips, conform
from pkadvisor.observe.logs.urls import coarse
from pkadvisor.observe.streams import LongLine, line_blocks

if TYPE_CHECKING:
    import polars as pl


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
    a text that together with the format decides the route.
    """

    lines: int
    frame: pl.DataFrame | None
    skips: list[Skip] = field(default_factory=list)


def text_of(line: bytes) -> str:
    """A line for humans."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def ahead(
    blocks: Iterator[bytes], parse: Callable[[bytes], Parsed], options: ReadOptions
) -> Iterator[Parsed]:
    """``parse`` of every block, in order; up to ``options.threads`` blocks are worked on at a time."""
    if options.threads <= 1:
        for block in blocks:
            yield parse(block)
        return
    with ThreadPoolExecutor(options.threads, thread_name_prefix="log") as pool:
        waiting: deque[Future[Parsed]] = deque()
        try:
            for block in blocks:
                waiting.append(pool.submit(parse, block))
                del block
                if len(waiting) >= options.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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

    def long_line(found: LongLine) -> None:
        skips.lines += 1
        skips.add("line too long", 1, f"{where}:{found.line}", text_of(found.head[:200]), bad=True)

    blocks = line_blocks(path, options.block_bytes, on_long_line=long_line, name=where)
    yield from classified(ahead(blocks, parse, options), route_of, routes, skips, where)


def classified(
    parsed: Iterator[Parsed], route_of: Callable[[str], Route], routes: Routes, skips: Skips, where: str
) -> Iterator[pl.DataFrame]:
    """Frames with route numbers; requests of routes that say ``skip`` are counted and dropped."""
    import polars as pl

    numbers: dict[str, int] = {}
    first = 1
    for part in parsed:
        skips.lines += part.lines
        for skip in part.skips:
            skips.add(skip.reason, skip.count, f"{where}:{first + skip.line}", skip.text, bad=skip.bad)
        frame = part.frame
        if frame is not None and frame.height:
            seen = frame["what"].unique(maintain_order=True)
            # Literals that are not quoted (numbers, tokens) make many texts of one kind: only kinds are read in Python.
            kinds = coarse(seen)
            for kind in kinds.unique(maintain_order=True):
                if kind not in numbers:
                    if len(numbers) > 200_000:
                        numbers.clear()
                    numbers[kind] = routes.number(route_of(kind))
            codes = pl.Series([numbers[kind] for kind in kinds], dtype=pl.UInt32)
            frame = frame.with_columns(
                route=pl.col("what").replace_strict(seen, codes, return_dtype=pl.UInt32)
            )
            for code in sorted(set(codes.to_list())):
                reason = routes.all[code].skip
                if reason:
                    left_out = frame.filter(pl.col("route") == code)
                    line = first + int(left_out["line"][0])
                    skips.add(
                        reason, left_out.height, f"{where}:{line}", left_out["what"][0].replace("\n", " "),
                        bad=reason == NOT_PARSEABLE,
                    )
                    frame = frame.filter(pl.col("route") != code)
            if frame.height:
                yield conform(frame)
        first += part.lines
