"""The argument parser and the entry point."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys

from fatbin import __version__
from fatbin._record import Record
from fatbin.cli import (
    check,
    completion,
    detect,
    diagnose,
    diff,
    exits,
    explain,
    extract,
    gpus,
    kernels,
    preflight,
    probe,
    read,
    size,
    smoke,
)
from fatbin.cli.tell import tell, tell_error
from fatbin.errors import FatbinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EPILOG = "exit codes: 0 done, 1 a gate fails, 2 could not do it, 3 no device code anywhere"
PROBE_EPILOG = (
    "exit codes: 0 as predicted, 1 not as predicted, 2 no GPU or could not do it, "
    "3 nothing to probe"
)
SMOKE_EPILOG = (
    "exit codes: 0 PASS, 1 FAIL or TIMEOUT, 2 could not do it, 3 SKIPPED: nothing was tried"
)
PREFLIGHT_EPILOG = (
    "exit codes: 0 PASS or WARN, 1 FAIL (WARN with --strict), 2 could not do it, 3 no GPU or "
    "nothing to look at"
)
DETECT_EPILOG = "exit codes: 0 there is a GPU, 2 could not do it, 3 there is none"


class _Formatter(argparse.HelpFormatter):
    """Knows the width by itself: argparse imports shutil for it, and asks with every argument.

    Colours, which Python 3.14 looks for as often, and imports dataclasses for, wait until help is
    shown.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_WIDTH)

    def _set_color(self, *color: object, **more: object) -> None:
        self._asked = (color, more)

    def __getattr__(self, name: str) -> object:
        """Look for colours now; only what they would have set is missing."""
        if name not in {"_theme", "_decolor"}:
            raise AttributeError(name)
        color, more = self._asked
        super()._set_color(*color, **more)  # type: ignore[misc]
        return getattr(self, name)


def _terminal_width() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) - 2
    except ValueError:
        pass
    try:
        return os.get_terminal_size().columns - 2
    except OSError:
        return 98


_WIDTH = max(40, _terminal_width())


class Command(Record):
    """One command: what it is called, how it is configured, and what runs it.

    Attributes:
        name: on the command line.
        help: one line in the list of commands.
        description: at the top of its own help.
        configure: adds its arguments to a parser; imports nothing heavy.
        run: does it and returns the exit code.
        epilog: at the bottom of its own help.
    """

    name: str
    help: str
    description: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    epilog: str = EPILOG


COMMANDS = (
    Command(
        "list",
        "which device code a file holds, by place, kind and architecture",
        "List the device code of libraries, objects, archives, fatbins, cubins, PTX.",
        read.configure_list,
        read.run_list,
    ),
    Command(
        "inspect",
        "containers, headers, options, linkage and damage of a file",
        "Show everything the headers say: containers with their entries, flags, options and "
        "identifiers, how the library is linked, and what is damaged.",
        read.configure_inspect,
        read.run_inspect,
    ),
    Command(
        "kernels",
        "the kernels inside, with registers, shared memory, stack and code size",
        "List the kernels of each image with the resources they need.",
        kernels.configure_kernels,
        kernels.run_kernels,
    ),
    Command(
        "extract",
        "images into files of their own: .cubin, .ptx, .ltoir",
        "Write each image, inflated, to a file of its own. Nothing is overwritten unasked.",
        extract.configure_extract,
        extract.run_extract,
    ),
    Command(
        "size",
        "where the bytes of libraries go, each counted once",
        "Account for every byte of libraries, objects, archives, fatbins: host code and data, "
        "device code by architecture, kind or place, what containers add, what a device link left "
        "over. Of packages, images and environments all libraries together.",
        size.configure_size,
        size.run_size,
    ),
    Command(
        "diff",
        "what changed between two builds: libraries, wheels, environments, images",
        "Compare two targets: architectures, PTX versions, kernels, sizes and linkage. Names of "
        "files, order, offsets, compression and debug text are no difference.",
        diff.configure_diff,
        diff.run_diff,
    ),
    Command(
        "check",
        "whether device code runs on given GPUs and drivers: a gate for builds",
        "Judge whether the device code of files runs on GPUs. Exit 0 for PASS and WARN, 1 for "
        "FAIL, 3 when there is nothing to judge.",
        check.configure_check,
        check.run_check,
    ),
    Command(
        "explain",
        "what the code of a finding means, and what to do",
        "Print what is behind the findings of a check: what they mean, why, and what to do.",
        explain.configure_explain,
        explain.run_explain,
    ),
    Command(
        "diagnose",
        "what logs of NCCL, torch, Ray and the kernel say about device code",
        "Read logs and name likely causes, each with the lines that show it, what it does not "
        "prove and a command that checks it. Exit 0 when no cause is named, 1 when one is.",
        diagnose.configure_diagnose,
        diagnose.run_diagnose,
    ),
    Command(
        "gpus",
        "GPUs, their compute capabilities, and who compiles for and drives them",
        "Show the architectures of NVIDIA's GPUs: compute capability, first and last toolkit, "
        "first PTX ISA, first and last driver branch. No file is read.",
        gpus.configure_gpus,
        gpus.run_gpus,
    ),
    Command(
        "detect",
        "the GPUs and the driver of this machine",
        "Say which GPUs and which driver this machine has, what a CUDA program sees of them, and "
        "where it sees none, why. Needs no toolkit.",
        detect.configure_detect,
        detect.run_detect,
        DETECT_EPILOG,
    ),
    Command(
        "probe",
        "whether the driver of this machine loads a file's modules, as predicted",
        "Give the modules of a file to the driver of this machine, without running a kernel, and "
        "compare with what check would say. Crashes and hangs stay in child processes.",
        probe.configure_probe,
        probe.run_probe,
        PROBE_EPILOG,
    ),
    Command(
        "smoke",
        "whether NCCL works on this machine's GPUs, by trying it",
        "Run a small job of NCCL's with the torch that is installed, one process a GPU, and say "
        "what comes of it and why. Needs GPUs and torch; without them it is SKIPPED, exit 3.",
        smoke.configure_smoke,
        smoke.run_smoke,
        SMOKE_EPILOG,
    ),
    Command(
        "preflight",
        "whether this node is ready: GPUs, libraries, driver, NCCL; for init containers",
        "Look for GPUs, check the libraries that programs would load, give them to the driver, and "
        "try NCCL. One block of text; JSON, metrics and a termination message beside it.",
        preflight.configure_preflight,
        preflight.run_preflight,
        PREFLIGHT_EPILOG,
    ),
    Command(
        "completion",
        "what bash, zsh or fish needs to complete these commands",
        "Print the completions of commands, options, words and file names for a shell.",
        completion.configure_completion,
        completion.run_completion,
    ),
)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    Args:
        only: a command whose arguments are wanted; those of the others are left out, which saves
            a few milliseconds. Without it all are there.
    """
    parser = argparse.ArgumentParser(
        prog="fatbin",
        formatter_class=_Formatter,
        description="Know what CUDA device code a file holds, and on which GPUs it runs. No CUDA "
        "toolkit, no GPU needed.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"fatbin {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog=parser.prog
    )
    for command in COMMANDS:
        inner = commands.add_parser(
            command.name,
            help=command.help,
            description=command.description,
            epilog=command.epilog,
            formatter_class=_Formatter,
        )
        if only in (None, command.name):
            command.configure(inner)
        inner.set_defaults(run=command.run)
    return parser


def _output_failed(error: OSError) -> int:
    """Tell that the output could not be written (a full disk); Python must not complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    tell(f"the output cannot be written: {error}")
    return exits.ERROR


_SWITCH_SECONDS = 0.0001


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Records are tuples without cycles: the collector would only walk them again and again.
    collecting = gc.isenabled()
    gc.disable()
    # A thread that inflates asks for the interpreter often and briefly; by default it would wait
    # five milliseconds each time, longer than its work takes.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return _run(argv)
    finally:  # a program that calls this goes on
        sys.setswitchinterval(interval)
        if collecting:
            gc.enable()


def _run(argv: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # file names are any bytes
    words = sys.argv[1:] if argv is None else list(argv)
    named = words[0] if words and any(words[0] == command.name for command in COMMANDS) else None
    arguments = build_parser(named).parse_args(words)
    if sys.stdout is None:
        tell("standard output is closed")
        return exits.ERROR
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.ERROR
    except KeyboardInterrupt:
        return 130
    except FatbinError as exc:
        tell_error(exc)
        return exits.ERROR
    except OSError as exc:
        return _output_failed(exc)
    return code
