"""numpy and polars, loaded at first use: many commands need neither, and each takes as long to load as they run.

``NDArray`` and its kinds (``U64``: unsigned integers of 64 bits) are for annotations alone.
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
    U64 = NDArray[np.uint64]
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
    NDArray = Ints = Floats = Bools = U64 = Any

__all__ = ["U64", "Bools", "Floats", "Ints", "NDArray", "np", "pl", "special"]
