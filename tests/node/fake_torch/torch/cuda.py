"""The GPUs."""

from __future__ import annotations

import os

import torch


class nccl:  # noqa: N801 - a module of torch's
    @staticmethod
    def version() -> tuple[int, int, int]:
        return (2, 28, 9)


def is_available() -> bool:
    return "gpu" not in os.environ.get("FAKE_LACKS", "")


def device_count() -> int:
    return int(os.environ.get("FAKE_GPUS", "8"))


def set_device(number: int) -> None:
    torch.state.rank = number
    torch.at("device")


def get_device_capability(_device: object) -> tuple[int, int]:
    return (9, 0)


def get_device_name(_device: object) -> str:
    return "NVIDIA H200"


def synchronize(_device: object) -> None:
    torch.at("synchronize")
