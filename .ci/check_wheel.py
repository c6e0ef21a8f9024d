"""Refuses a wheel that is too large, lacks a resource folder or carries what is not the package's.

Usage: check_wheel.py WHEEL, from the root of the checkout.
"""

import sys
import zipfile
from pathlib import Path

LARGEST_BYTES = 3_000_000
RESOURCES = ("rules", "templates", "samples")


def main(wheel: Path) -> None:
    size = wheel.stat().st_size
    names = set(zipfile.ZipFile(wheel).namelist())
    wrong = []
    if size > LARGEST_BYTES:
        wrong.append(f"{size} bytes are more than {LARGEST_BYTES}")
    wanted = {f"pkadvisor/{path.relative_to('pkadvisor')}" for path in Path("pkadvisor").rglob("*") if shipped(path)}
    for folder in RESOURCES:
        wanted |= {f"pkadvisor/_data/{path}" for path in Path(folder).rglob("*") if shipped(path)}
    wrong += [f"missing: {name}" for name in sorted(wanted - names)]
    wrong += [f"foreign: {name}" for name in sorted(names) if not name.startswith(("pkadvisor/", "pkadvisor-"))]
    if wrong:
        sys.exit("\n".join([wheel.name, *wrong]))
    sys.stdout.write(f"{wheel.name}: {size} bytes, {len(names)} files\n")


def shipped(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
