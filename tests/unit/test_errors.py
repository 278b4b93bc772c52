from __future__ import annotations

import inspect
import pickle

import pytest

import fatbin
from fatbin import errors

ALL = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, fatbin.FatbinError)
]


def make(cls: type[fatbin.FatbinError]) -> fatbin.FatbinError:
    extra: dict[str, object] = {}
    if issubclass(cls, errors.LimitExceededError):
        extra = {"limit": "entries", "allowed": 1, "actual": 2, "offset": 64}
    elif issubclass(cls, errors.MissingDependencyError):
        extra = {"requirement": "lief"}
    elif issubclass(cls, errors.CheckFailed):
        extra = {"outcome": "FAIL"}
    elif issubclass(cls, errors.PolicyError):
        extra = {"key": "ptx", "line": 3}
    elif issubclass(cls, errors.DeviceError):
        extra = {"code": 100, "name": "CUDA_ERROR_NO_DEVICE"}
    elif issubclass(cls, errors.FormatError):
        extra = {"offset": 0x40, "field": "size", "expected": "1", "found": "2"}
    return cls("what happened", location="a.so", **extra)  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", ALL)
def test_errors_cross_process_boundaries(cls: type[fatbin.FatbinError]) -> None:
    error = make(cls)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(copy) is cls
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


@pytest.mark.parametrize("cls", ALL)
def test_every_error_is_public(cls: type[fatbin.FatbinError]) -> None:
    assert getattr(fatbin, cls.__name__) is cls


def test_the_tree() -> None:
    assert issubclass(fatbin.FormatError, ValueError)
    assert issubclass(fatbin.SourceError, OSError)
    assert issubclass(fatbin.ArchitectureError, ValueError)
    assert issubclass(fatbin.MissingDependencyError, ImportError)
    for cls in (fatbin.BadMagicError, fatbin.TruncatedError, fatbin.SizeMismatchError,
                fatbin.UnsupportedVersionError, fatbin.DecompressionError):  # fmt: skip
        assert issubclass(cls, fatbin.FormatError)


def test_texts_name_place_offset_and_facts() -> None:
    assert str(make(fatbin.FormatError)) == "a.so+0x40: what happened"
    assert str(fatbin.FatbinError("x")) == "x"
    assert str(make(fatbin.SourceError)) == "a.so: what happened"
    assert str(make(fatbin.PolicyError)) == "a.so:3: what happened"
    assert str(fatbin.PolicyError("x", line=3)) == "x"
    assert "pip install lief" in make(fatbin.MissingDependencyError).hint
    with pytest.raises(fatbin.FatbinError, match="x"):
        errors.raise_error(fatbin.FatbinError("x"))
