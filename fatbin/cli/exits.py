"""Exit codes of every command; ``docs/reference/cli.md`` has the same table, and a test says so."""

PASS = 0
"""Done, and everything could be read."""
FAIL = 1
"""A gate fails: ``diff --exit-code`` found a difference."""
ERROR = 2
"""Could not do it, or not whole: usage, unreadable or damaged input."""
NOTHING = 3
"""Nothing to judge: no device code anywhere."""
