"""Key schemes for the entities of a world: good and bad ones, with every function of the key language."""

from __future__ import annotations

from random import Random

from tests.worlds.draw.entities import Drawn, Shape
from tests.worlds.model import IndexRow, Kind, Scheme
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, INT32, INT64, STRING

PERIODS = (
    "yyyy", "yyyyMM", "yyyy-MM", "yyyyMMdd", "yyyy-MM-dd", "yyyyMMddHH", "yyyy-MM-ddTHH", "yyyyMMddHHmm",
    "yyyyMMddTHHmmss", "YYYY-Www",
)  # fmt: skip
SEPARATORS = ("_", "_", "_", "-", "|", "__", ":", ";", "~", ".")


def digits_of(kind: Kind, name: str) -> int:
    """Digits of the greatest number of a property."""
    numbers = [abs(int(v)) for row in kind.rows if isinstance(v := row[name], int)]
    return len(str(max(numbers, default=9)))


def part_of(random: Random, drawn: Drawn, shape: Shape, *, exact: bool) -> str:
    """A part over one property; ``exact``: different values have different texts."""
    name, edm = shape.name, shape.edm
    plain = f"{{{name}}}"
    options: list[str] = [plain]
    if edm in (INT32, INT64):
        width = digits_of(drawn.kind, name) + random.choice((0, 0, 1, 3))
        options += [f"{{pad({name},{width})}}"] * 3 + [f"{{reverse_pad({name},{width})}}", f"{{sortable({name})}}"]
        options += [f"{{reverse_sortable({name})}}", f"{{reverse({name})}}"]
        if not exact and width > 2:
            options.append(f"{{pad({name},{width - 2})}}")
    elif edm == DOUBLE:
        options += [f"{{sortable({name})}}", f"{{reverse_sortable({name})}}"]
    elif edm == DATETIME:
        options += [f"{{ticks({name})}}", f"{{reverse_ticks({name})}}", f"{{reverse_sortable({name})}}"]
    elif edm == STRING:
        options += [plain, f"{{reverse({name})}}"]
    if not exact:
        if edm == DATETIME:
            options += [f"{{time({name},'{random.choice(PERIODS)}')}}" for _ in range(5)]
        if edm in (STRING, GUID):
            options += [f"{{lower({name})}}", f"{{prefix({name},{random.randint(1, 3)})}}"]
        count = random.choice((2, 3, 8, 16, 100))
        inner = random.choice((name, name, f"lower({name})", f"concat('x',{name})"))
        if edm == DATETIME:
            inner = random.choice((f"time({name},'yyyyMMdd')", f"ticks({name})"))
        elif edm in (INT32, INT64):
            inner = random.choice((name, f"pad({name},6)"))
        elif edm in (BOOLEAN, BINARY, DOUBLE):
            inner = name
        options += [f"{{hash({inner},{count})}}", f"{{hash_prefix({inner},{random.randint(1, 2)})}}"]
    return random.choice(options)


def _joined(random: Random, parts: list[str], separator: str) -> str:
    label = random.choice(("", "", "", "R:", "K;"))
    return label + separator.join(parts)


def draw_scheme(random: Random, drawn: Drawn, *, index_rows: bool = True) -> Scheme:
    """A scheme whose keys tell every entity from all others, if its separators keep the parts apart."""
    groups = [s for s in drawn.shapes if s.role in ("group", "arrival", "number")]
    unique = random.choice(drawn.of("unique"))
    separator = random.choice(SEPARATORS)
    leading = random.sample(groups, min(len(groups), random.choice((0, 1, 1, 1, 2))))
    partition = [part_of(random, drawn, s, exact=random.random() < 0.5) for s in leading]
    if not partition:
        partition = [random.choice(("all", part_of(random, drawn, unique, exact=False)))]
    inner = random.sample(groups, min(len(groups), random.choice((0, 1, 1, 2))))
    row = [part_of(random, drawn, s, exact=random.random() < 0.7) for s in inner]
    if random.random() < 0.06 and row:
        last = "{seq(4)}"
    else:
        last = part_of(random, drawn, unique, exact=True)
    row = [*row, last] if random.random() < 0.8 or "seq" in last else [last, *row]
    rows: tuple[IndexRow, ...] = ()
    if index_rows and random.random() < 0.5:
        rows = tuple(_index_row(random, drawn, unique, separator, n) for n in range(random.choice((1, 1, 2))))
    return Scheme(_joined(random, partition, separator), _joined(random, row, separator), rows)


def _index_row(random: Random, drawn: Drawn, unique: Shape, separator: str, number: int) -> IndexRow:
    """An index row: its label keeps its keys apart from those of other rows."""
    groups = drawn.of("group", "arrival", "number")
    chosen = random.sample(groups, min(len(groups), random.choice((1, 1, 2))))
    parts = [part_of(random, drawn, s, exact=random.random() < 0.6) for s in chosen]
    last = part_of(random, drawn, unique, exact=True)
    copy = random.choice(("full", "full", "pointer"))
    if random.random() < 0.5:
        return IndexRow(None, f"I{number}:" + separator.join([*parts, last]), copy)
    return IndexRow(f"I{number}:" + parts[0], separator.join([*parts[1:], last]), copy)
