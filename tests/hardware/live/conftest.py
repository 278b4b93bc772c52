"""What the tests with real GPUs and torch stand on."""

from __future__ import annotations

from pathlib import Path

import pytest
from nccl_live import copy_without_code, require_torch

from fatbin import Detection


@pytest.fixture(scope="module")
def torch_is_here() -> None:
    require_torch()


@pytest.fixture(scope="module")
def copy(here: Detection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_without_code(tmp_path_factory.mktemp("nccl"), here)
