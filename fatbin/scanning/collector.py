"""What takes the errors of damaged places."""

from __future__ import annotations

from fatbin.inventory import Issue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fatbin.errors import FatbinError
    from fatbin.limits import Limits


class Collector:
    """Issues of one library, up to a limit; what comes after it is counted."""

    def __init__(self, location: str, limits: Limits) -> None:
        """Collect for the library at a location."""
        self._location = location
        self._limit = limits.issues
        self._issues: list[Issue] = []
        self._left_out = 0

    def __call__(self, error: FatbinError) -> None:
        """Keep an error as an issue."""
        if len(self._issues) == self._limit:
            self._left_out += 1
            return
        issue = Issue.of(error, self._location)
        if issue not in self._issues:  # headers and inflating can find the same
            self._issues.append(issue)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The issues so far, with one more that counts those left out."""
        if not self._left_out:
            return tuple(self._issues)
        more = Issue(
            code="LimitExceeded",
            message=f"{self._left_out} more issues were left out (limit issues)",
            location=self._location,
            field="issues",
            expected=f"at most {self._limit}",
            found=str(self._limit + self._left_out),
        )
        return (*self._issues, more)
