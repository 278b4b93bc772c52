"""The variables of the driver that change what it loads; here so that nothing heavy names them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FORCE_PTX_JIT = "CUDA_FORCE_PTX_JIT"
DISABLE_PTX_JIT = "CUDA_DISABLE_PTX_JIT"
FORCE_JIT = "CUDA_FORCE_JIT"
DISABLE_JIT = "CUDA_DISABLE_JIT"
MODULE_LOADING = "CUDA_MODULE_LOADING"
CUDA_VARIABLES = (FORCE_PTX_JIT, DISABLE_PTX_JIT, FORCE_JIT, DISABLE_JIT, MODULE_LOADING)


def cuda_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those of an environment that the judge asks for.

    >>> cuda_variables({"CUDA_FORCE_PTX_JIT": "1", "HOME": "/home/a"})
    {'CUDA_FORCE_PTX_JIT': '1'}
    """
    return {name: environment[name] for name in CUDA_VARIABLES if name in environment}
