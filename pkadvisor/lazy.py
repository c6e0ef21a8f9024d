"""numpy and polars, loaded at first use: many commands need neither, and each takes as long to load as they run.

``Ints``, ``Floats`` and ``Bools`` are types of arrays, for annotations alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray
    from scipy import special

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
else:
    from importlib import import_module
    from types import ModuleType

    class LazyModule(ModuleType):
        """A module that is imported when something in it is first asked for."""

        def __getattr__(self, name: str) -> Any:
            module = import_module(self.__name__)
            self.__dict__.update(vars(module))
            return getattr(module, name)

    np, pl, special = LazyModule("numpy"), LazyModule("polars"), LazyModule("scipy.special")
    Ints = Floats = Bools = Any

__all__ = ["Bools", "Floats", "Ints", "np", "pl", "special"]
