"""What ``--version`` says."""

from __future__ import annotations

import sys

from pkadvisor import __version__


def version_text(*, machine: bool) -> str:
    """``pkadvisor 1.2.3``, or as JSON everything that a result depends on besides its inputs."""
    if not machine:
        return f"pkadvisor {__version__}"

    import json
    import platform
    import tomllib
    from importlib.metadata import PackageNotFoundError, version

    from pkadvisor.resources import resource

    libraries: dict[str, str | None] = {}
    for name in ("polars", "scipy", "numpy"):
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            libraries[name] = None
    limits: dict[str, str | None] = {}
    for path in sorted(resource("rules", "limits").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        dates = [str(figure["date"]) for figure in table.values() if isinstance(figure, dict) and "date" in figure]
        limits[path.stem] = max(dates, default=None)
    facts = {
        "schema_version": 1,
        "name": "pkadvisor",
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "libraries": libraries,
        "limits_checked": limits,
    }
    return json.dumps(facts, indent=2)
