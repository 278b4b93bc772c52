#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = ["construct>=2.10.70,<3", "cramjam>=2.11", "lief>=1.0", "rich>=13"]
# ///
"""Run fatbin from a bare checkout: ``python cli.py list libnccl.so.2``.

The command itself is :mod:`fatbin.cli`; this launcher never enters the wheel.
"""

from fatbin.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
