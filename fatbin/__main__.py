"""``python -m fatbin``."""

from fatbin.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
