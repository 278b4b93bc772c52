"""The errors that fatbin raises, one tree with :class:`FatbinError` at its root.

Every message is one line without a full stop and says what was expected, what was found and
where. Offsets are printed in hexadecimal, sizes in bytes. Errors of construct, lief and cramjam
never leave the library: they become one of these.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Report = Callable[["FatbinError"], None]
    """What takes the errors of damaged places, so that reading can go on."""


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters of hostile names escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class FatbinError(Exception):
    """Anything that fatbin cannot do; catch this to catch everything below.

    Attributes:
        message: the one-line text without the location.
        location: where, as a path such as ``libx.a::member.o::.nv_fatbin``; empty when unknown.
        hint: what the user can do about it; empty when there is nothing to say.
    """

    def __init__(self, message: str, *, location: str = "", hint: str = "") -> None:
        """Keep the facts as attributes; what a message quotes of a file does not break its line."""
        message = printable(message)
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        """Return ``location: message``."""
        return f"{self.location}: {self.message}" if self.location else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by attributes, so that errors cross process boundaries unharmed."""
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(cls: type[FatbinError], state: dict[str, object]) -> FatbinError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = (state["message"],)
    return error


class FormatError(FatbinError, ValueError):
    """Bytes that are not what the format demands.

    Attributes:
        offset: where the field lies, in bytes from the start of the library, or -1.
        field: name of the field in the format reference; empty when no single field is at fault.
        expected: what the format demands, as text.
        found: what the bytes say, as text.
    """

    def __init__(
        self,
        message: str,
        *,
        offset: int = -1,
        field: str = "",
        expected: str = "",
        found: str = "",
        location: str = "",
        hint: str = "",
    ) -> None:
        """Keep the facts as attributes."""
        super().__init__(message, location=location, hint=hint)
        self.offset = offset
        self.field = field
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Return ``location+0xoffset: message``."""
        if self.offset < 0:
            return super().__str__()
        return f"{self.location}+{self.offset:#x}: {self.message}"


class BadMagicError(FormatError):
    """The bytes that should identify a structure do not."""


class TruncatedError(FormatError):
    """A structure runs past the end of what holds it."""


class SizeMismatchError(FormatError):
    """Two sizes that must agree do not."""


class UnsupportedVersionError(FormatError):
    """A structure of a version that nobody has described yet."""


class DecompressionError(FormatError):
    """A compressed payload that does not inflate to exactly the declared size."""


class UnknownFormatError(FatbinError):
    """Not a file that fatbin knows: absent is not broken."""


class SourceError(FatbinError, OSError):
    """A file or archive member that cannot be read at all."""


class LimitExceededError(FatbinError):
    """Something is larger than :class:`fatbin.Limits` allows; the message names the limit.

    Attributes:
        limit: name of the field of :class:`fatbin.Limits`.
        allowed: its value.
        actual: what the input claims or holds.
        offset: where, in bytes from the start of the library, or -1.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        allowed: int,
        actual: int,
        offset: int = -1,
        location: str = "",
        hint: str = "",
    ) -> None:
        """Keep the facts as attributes."""
        super().__init__(f"{message} (limit {limit})", location=location, hint=hint)
        self.limit = limit
        self.allowed = allowed
        self.actual = actual
        self.offset = offset


class ArchitectureError(FatbinError, ValueError):
    """Text that names no architecture or compute capability."""


class UnknownGpuError(FatbinError, ValueError):
    """Text that names no GPU, or several that differ."""


class DriverError(FatbinError, ValueError):
    """Text that names no driver that the tables reach."""


class InventoryError(FatbinError, ValueError):
    """A document that is not an inventory, or one of an unknown schema version."""


class BaselineError(FatbinError, ValueError):
    """A document that cannot be a baseline: not a verdict, or one of a later schema version."""


class MissingDependencyError(FatbinError, ImportError):
    """An optional library is needed for this and not installed.

    Attributes:
        requirement: what to install, as pip spells it.
    """

    def __init__(
        self, message: str, *, requirement: str, location: str = "", hint: str = ""
    ) -> None:
        """Keep the facts as attributes."""
        super().__init__(
            message, location=location, hint=hint or f"install it: pip install {requirement}"
        )
        self.requirement = requirement


class CheckFailed(FatbinError):  # noqa: N818 - it is no error of fatbin: it is the answer
    """A verdict that is not a pass, raised by :meth:`fatbin.Verdict.require_pass`.

    Attributes:
        outcome: ``FAIL``, ``WARN`` or ``NOTHING``.
    """

    def __init__(self, message: str, *, outcome: str, location: str = "", hint: str = "") -> None:
        """Keep the facts as attributes."""
        super().__init__(message, location=location, hint=hint)
        self.outcome = outcome


class PolicyError(FatbinError, ValueError):
    """A policy that cannot be used.

    Attributes:
        key: the key at fault, such as ``ignore[2].code``; empty when the document is no TOML.
        line: of the file, counted from 1; 0 when not known.
    """

    def __init__(
        self, message: str, *, key: str = "", line: int = 0, location: str = "", hint: str = ""
    ) -> None:
        """Keep the facts as attributes."""
        super().__init__(message, location=location, hint=hint)
        self.key = key
        self.line = line

    def __str__(self) -> str:
        """Return ``location:line: message``."""
        if self.line <= 0 or not self.location:
            return super().__str__()
        return f"{self.location}:{self.line}: {self.message}"


class DeviceError(FatbinError):
    """No GPU that CUDA can use on this machine, or a driver that does not answer.

    Attributes:
        code: the CUresult that libcuda gave; 0 when it gave none.
        name: of that code, ``CUDA_ERROR_NO_DEVICE``; empty when there is none.
    """

    def __init__(
        self, message: str, *, code: int = 0, name: str = "", location: str = "", hint: str = ""
    ) -> None:
        """Keep the facts as attributes."""
        super().__init__(message, location=location, hint=hint)
        self.code = code
        self.name = name


def raise_error(error: FatbinError) -> None:
    """Raise what is reported: the strict way to read."""
    raise error
