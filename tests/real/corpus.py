"""Wheels of real libraries: downloaded once by name and version, members unzipped once.

The cache is the folder that FATBIN_CACHE names, else ``~/.cache/fatbin/wheels``. Nothing in it is
ever committed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from support import require

_CHUNK = 1 << 20


class Wheel(NamedTuple):
    """A wheel as a package index knows it.

    Attributes:
        name: of the package.
        version: exactly this one.
        platform: tag to ask for.
        abi: ``cp312`` for wheels that hold extension modules of that Python; empty for any.
    """

    name: str
    version: str
    platform: str
    abi: str = ""


NCCL_2_26 = Wheel("nvidia-nccl-cu12", "2.26.2", "manylinux2014_x86_64")
NCCL_2_29 = Wheel("nvidia-nccl-cu12", "2.29.7", "manylinux_2_18_x86_64")
NCCL_2_31_ARM = Wheel("nvidia-nccl-cu12", "2.31.2", "manylinux_2_18_aarch64")
NCCL_2_32 = Wheel("nvidia-nccl-cu13", "2.32.3", "manylinux_2_27_x86_64")
FAISS = Wheel("faiss-gpu-cu12", "1.13.2", "manylinux2014_x86_64", "cp312")
CTRANSLATE2 = Wheel("ctranslate2", "4.8.5", "manylinux_2_27_x86_64", "cp312")
BITSANDBYTES_ARM = Wheel("bitsandbytes", "0.46.1", "manylinux_2_24_aarch64")
AUTOAWQ_WINDOWS = Wheel("autoawq-kernels", "0.0.9", "win_amd64", "cp312")
CUFFT = Wheel("nvidia-cufft", "12.4.0.43", "manylinux2014_x86_64")
CUBLAS = Wheel("nvidia-cublas-cu12", "12.9.3.13", "manylinux_2_27_x86_64")
CUSPARSE = Wheel("nvidia-cusparse-cu12", "12.5.10.65", "manylinux2014_x86_64")
CUSPARSE_13 = Wheel("nvidia-cusparse", "12.6.3.3", "manylinux2014_x86_64")
CURAND_WINDOWS = Wheel("nvidia-curand-cu12", "10.3.10.19", "win_amd64")
NVJPEG_WINDOWS_ARM = Wheel("nvidia-nvjpeg", "13.3.2.43", "win_arm64")
GSPLAT = Wheel("gsplat", "1.5.3", "any")
FLASHINFER_CUBIN = Wheel("flashinfer-cubin", "0.6.13", "any")


def wheel_path(wheel: Wheel) -> Path:
    """Return the file of a wheel; download it when the cache has none."""
    folder = _cache()
    found = _find(wheel, folder)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--disable-pip-version-check", "-d", temporary]
        if wheel.platform != "any":
            command += ["--platform", wheel.platform]
        if wheel.abi:
            version = wheel.abi.removeprefix("cp")
            command += ["--implementation", "cp", "--python-version", version, "--abi", wheel.abi]
        command.append(f"{wheel.name}=={wheel.version}")
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        downloaded = _find(wheel, Path(temporary))
        if downloaded is None:
            said = done.stderr.strip().splitlines()[-1:]
            require("real", f"{wheel.name} {wheel.version} was not downloaded: {said}")
        os.replace(downloaded, folder / downloaded.name)
    return folder / downloaded.name


def library(wheel: Wheel, member: str) -> Path:
    """Return a member of a wheel as a file; unzip it when the cache does not have it yet."""
    path = wheel_path(wheel)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
        target = path.parent / path.stem / member
        if target.is_file() and target.stat().st_size == info.file_size:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent)
        try:
            with archive.open(info) as source, os.fdopen(descriptor, "wb") as out:
                shutil.copyfileobj(source, out, _CHUNK)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    return target


def _cache() -> Path:
    folder = Path(os.environ.get("FATBIN_CACHE") or "~/.cache/fatbin/wheels").expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _find(wheel: Wheel, folder: Path) -> Path | None:
    stem = f"{wheel.name.replace('-', '_')}-{wheel.version}"
    for path in sorted(folder.glob(f"{stem}-*.whl")):
        *_, abi, platforms = path.stem.split("-")
        if wheel.platform in platforms.split(".") and abi == (wheel.abi or "none"):
            return path
    return None
