"""The one place that finds ``rules/``, ``templates/``, ``samples/`` and ``schemas/``, in a checkout and in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """The path of a bundled file or folder, e.g. ``resource("samples", "footrace")``.

    In a wheel the folders lie in ``pkadvisor/_data``; in a checkout beside the package.
    """
    if parts[0] == "schemas":
        return _PACKAGE.joinpath(*parts)
    installed = _PACKAGE / "_data"
    root = installed if installed.is_dir() else _PACKAGE.parent
    return root.joinpath(*parts)
