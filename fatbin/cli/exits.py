"""Exit codes of every command; ``docs/reference/exit-codes.md`` has them too, as a test says."""

PASS = 0
"""Done, and everything could be read; of ``check`` and ``preflight``: PASS, or WARN without
``--strict``."""
FAIL = 1
"""A gate fails: ``check`` says FAIL, ``diff --exit-code`` found a difference, ``diagnose`` a cause,
``probe`` an answer that was not predicted, ``smoke`` and ``preflight`` what does not work."""
ERROR = 2
"""Could not do it, or not whole: usage, a bad policy, unreadable or damaged input, no GPU."""
NOTHING = 3
"""Nothing to judge: no device code anywhere; of ``detect``: no GPU; of ``smoke``:
nothing was tried."""
