"""The one place that finds bundled files: ``rules/``, ``templates/``, ``samples/`` and ``manual/``."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """The path of a bundled file or folder, e.g. ``resource("samples", "footrace")``.

    The manual lies in the package. The other folders lie in ``pkadvisor/_data`` in a wheel, and beside the
    package in a checkout.
    """
    if parts[0] == "manual":
        return _PACKAGE.joinpath(*parts)
    installed = _PACKAGE / "_data"
    root = installed if installed.is_dir() else _PACKAGE.parent
    return root.joinpath(*parts)
