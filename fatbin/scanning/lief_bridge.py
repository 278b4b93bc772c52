"""The one module that imports LIEF, and what it is asked.

LIEF is slow to import and reads whole files into memory. It is therefore imported when first asked
and fed small files made of headers alone. It answers with ``None`` on garbage and logs to stderr;
both are turned into errors here.
"""

from __future__ import annotations

import warnings

from fatbin._record import Record
from fatbin.errors import FormatError, MissingDependencyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _T = TypeVar("_T")


class PeHeaders(Record):
    """What LIEF read from PE headers.

    Attributes:
        machine: number of the COFF header.
        image_base: where the image wants to be mapped.
        sections: ``(name, address, virtual size, file offset, raw size, characteristics)``.
        imports_at: address of the import directory, 0 when there is none.
        delay_imports_at: address of the delay-import directory, 0 when there is none.
    """

    machine: int
    image_base: int
    sections: tuple[tuple[str, int, int, int, int, int], ...]
    imports_at: int
    delay_imports_at: int


def pe_headers(data: bytes, location: str) -> PeHeaders:
    """Parse PE headers, from the start of the file to the end of the section table.

    Raises:
        FormatError: LIEF does not take them.
        MissingDependencyError: without LIEF.
    """
    lief = _lief()

    def read() -> PeHeaders | None:
        binary: Any = lief.PE.parse(data)
        if binary is None or not hasattr(binary, "data_directory"):
            return None
        types = lief.PE.DataDirectory.TYPES
        directories = []
        for which in (types.IMPORT_TABLE, types.DELAY_IMPORT_DESCRIPTOR):
            directory = binary.data_directory(which)
            directories.append(int(directory.rva) if directory is not None else 0)
        return PeHeaders(
            int(binary.header.machine),
            int(binary.optional_header.imagebase),
            tuple(
                (
                    str(section.name),
                    int(section.virtual_address),
                    int(section.virtual_size),
                    int(section.pointerto_raw_data),
                    int(section.sizeof_raw_data),
                    int(section.characteristics),
                )
                for section in binary.sections
            ),
            directories[0],
            directories[1],
        )

    headers = _quietly(read)
    if headers is None:
        msg = "PE headers cannot be read"
        raise FormatError(msg, offset=0, field="PE headers", location=location)
    return headers


def pe_imports(data: bytes) -> tuple[str, ...]:
    """Return the DLL names that a small PE file imports.

    Raises:
        MissingDependencyError: without LIEF.
    """
    lief = _lief()

    def read() -> tuple[str, ...]:
        binary: Any = lief.PE.parse(data)
        if binary is None or not hasattr(binary, "delay_imports"):
            return ()
        names = [entry.name for entry in binary.imports] + [e.name for e in binary.delay_imports]
        return tuple(dict.fromkeys(str(name) for name in names))

    return _quietly(read)


def _lief() -> Any:  # noqa: ANN401 - LIEF is not typed well enough to be named here
    try:
        import lief  # noqa: PLC0415 - slow, and only PE files need it
    except ModuleNotFoundError as exc:
        msg = "PE files cannot be read without LIEF"
        raise MissingDependencyError(msg, requirement="lief") from exc
    return lief


def _quietly(call: Callable[[], _T]) -> _T:
    """Call LIEF with its log off: it reports on stderr what is missing in a header-only file.

    Its warnings about numbers without a name (tags, machines) are off too: unknown is no fault.

    Raises:
        FormatError: LIEF fails; names that are no UTF-8 come out of it as these errors.
    """
    logging = _lief().logging
    with logging.level_scope(logging.LEVEL.OFF), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return call()
        except (SystemError, UnicodeError, ValueError) as exc:
            msg = "the tables of linkage cannot be read: damaged names or values"
            raise FormatError(msg, field="import directory") from exc
