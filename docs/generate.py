"""Rewrite the generated blocks of the documentation: ``python docs/generate.py [--check]``.

A block stands between ``<!-- what: argument -->`` and ``<!-- end -->``. Its text comes from the
code: layouts from the schema, reference entries from signatures and docstrings, help and examples
from the command line itself. The completions of shells and the manual page are made whole, from
the parser. With ``--check`` nothing is written; the exit code is 1 when a page is stale, and its
name is printed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from difference_blocks import differences
from judge_blocks import CODE_FOLDER, CODE_PAGES, code, codes, facts, statements, table
from limit_blocks import limits
from record_blocks import json_type
from shell_files import shell_files
from symptom_blocks import symptoms

from fatbin.cli.main import build_parser
from fatbin.format.schema import LAYOUTS, markdown_table
from fatbin.kinds import flag_names, kind_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fatbin.judge.policy import Key


ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"(<!-- (\w+): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):\n((?:    .*\n?|\n)+)", re.MULTILINE)
_ITEM = re.compile(r"^([\w.]+): ")
_SECTION_TITLES = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises"}
Class = ast.ClassDef
Definition = ast.ClassDef | ast.FunctionDef


# What the source says -----------------------------------------------------------------------------


def find(name: str) -> Definition:
    """Return the syntax tree of a class or function: a public one, or one named with its module."""
    module, _, own = name.rpartition(".")
    package = importlib.import_module(module or "fatbin")
    home = importlib.import_module(getattr(package, own).__module__)
    for node in ast.parse(inspect.getsource(home)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == own:
            return node
    raise LookupError(name)


def values(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield ``(name, value, docstring)`` of each assignment of a body to an upper-case name."""
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            text = str(after.value.value) if documented else ""  # type: ignore[attr-defined]
            if name.isupper():
                yield name, node.value, prose(text)


def prose(text: str) -> str:
    """Return docstring text as Markdown: roles and double backticks become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`").strip()


def items(text: str) -> Iterator[tuple[str, str]]:
    """Yield ``(name, meaning)`` of an Args, Attributes or Raises section."""
    for part in re.split(r"\n(?=\S)", inspect.cleandoc("\n" + text).strip()):
        line = " ".join(part.split())
        match = _ITEM.match(line)
        yield (match[1], prose(line[match.end() :])) if match else ("", prose(line))


def split(node: Definition) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring and its sections by name."""
    text = (ast.get_docstring(node) or "") + "\n"
    sections = dict(_SECTION.findall(text))
    return prose(_SECTION.sub("", text)), sections


def fields(node: Class) -> list[ast.AnnAssign]:
    """Return the annotated fields of a record, in order."""
    return [n for n in node.body if isinstance(n, ast.AnnAssign)]


def method(node: Class, name: str) -> ast.FunctionDef:
    """Return a method of a class."""
    return next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name)


# Blocks -------------------------------------------------------------------------------------------


def layout(name: str) -> str:
    """Return the table of one layout of the schema."""
    return markdown_table(LAYOUTS[name])


def words(name: str) -> str:
    """Return the table of an enumeration's members."""
    node = find(name)
    head, cells = {
        "EntryKind": ("| number | member | word |", lambda n: (f"{n}", kind_label(n))),
        "EntryFlags": ("| bit | member | word |", lambda n: (f"`{n:#x}`", flag_names(n)[0])),
    }.get(name, ("| word | member |", lambda word: (f"`{word}`",)))
    rows = [head + " note |", "|---" * (head.count("|")) + "|"]
    for member, value, note in values(node.body):
        first, *rest = cells(ast.literal_eval(value))
        rows.append("| " + " | ".join((first, f"`{member}`", *rest, " ".join(note.split()))) + " |")
    return "\n".join(rows)


def record(name: str) -> str:
    """Return the table of a record's keys in JSON."""
    node = find(name)
    assert isinstance(node, ast.ClassDef)  # noqa: S101
    meanings = dict(items(split(node)[1]["Attributes"]))
    rows = ["| key | type | meaning |", "|---|---|---|"]
    for field in fields(node):
        key = ast.unparse(field.target)
        meaning = re.sub(r"\bNone\b", "null", meanings[key])
        meaning = re.sub(r"\b(True|False)\b", lambda m: m[0].lower(), meaning)
        rows.append(f"| `{key}` | {json_type(ast.unparse(field.annotation))} | {meaning} |")
    return "\n".join(rows)


def attributes(name: str) -> str:
    """Return the table of a dictionary of attribute names, and what fatbin reads of them."""
    named: dict[int, str] = getattr(importlib.import_module("fatbin.format.attributes"), name)
    rows = [f"| `{number:#04x}` | {word} |" for number, word in sorted(named.items())]
    return "\n".join(["| id | name |", "|---|---|", *rows])


def policy(name: str) -> str:
    """Return the table of the keys of a policy file."""
    home = importlib.import_module("fatbin.judge.policy")
    keys: dict[str, Key] = getattr(home, name)
    meanings: dict[str, str] = {}
    defaults: dict[str, str] = {}
    for record_name in ("policy.Policy", "policy_file.PolicyFile"):
        node = find(f"fatbin.judge.{record_name}")
        assert isinstance(node, ast.ClassDef)  # noqa: S101
        meanings |= items(split(node)[1]["Attributes"])
        for field in fields(node):
            if field.value:
                defaults[ast.unparse(field.target)] = ast.unparse(field.value)
    rows = [
        (
            f"`{key}`",
            spec.form,
            _DEFAULTS.get(defaults[spec.field], f"`{defaults[spec.field]}`").replace("'", '"'),
            meanings[spec.field],
            f"`{spec.option}`",
        )
        for key, spec in keys.items()
    ]
    return table(["key", "written", "default", "what it is", "option"], rows)


_DEFAULTS = {"()": "none", "''": "none", "False": "`false`"}


def exits(module: str) -> str:
    """Return the table of exit codes."""
    rows = [f"| {code} | `{name}` | {meaning} |" for code, name, meaning in exit_codes(module)]
    return "\n".join(["| code | name | meaning |", "|---|---|---|", *rows])


def exit_codes(module: str) -> list[tuple[str, str, str]]:
    """Return code, name and meaning of each exit code."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return [
        (str(ast.literal_eval(value)), name, " ".join(note.split()))
        for name, value, note in values(tree.body)
    ]


def epilogs(program: str) -> str:
    """Return the table of what the help of each command says of its exit codes."""
    said: dict[str, list[str]] = {}
    for name, parser in commands().items():
        link = f"[`{program} {name}`](cli.md#{program}-{name})"
        said.setdefault((parser.epilog or "").partition(": ")[2], []).append(link)
    rows = [(", ".join(links), text) for text, links in said.items()]
    return table(["command", "exit codes"], rows)


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    actions = build_parser()._actions  # noqa: SLF001 - argparse tells in no other way
    choices = next(a.choices for a in actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001
    return dict(choices)


def output(command: str) -> str:
    """Return a command and what it prints, as a console block."""
    arguments = command.split()[1:]
    done = subprocess.run(  # noqa: S603 - this project's own command
        [sys.executable, "-m", "fatbin", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        check=True,
        capture_output=True,
        text=True,
    )
    return f"```console\n$ {command}\n{done.stdout}```"


def api(name: str) -> str:
    """Return the reference entry of a public name, or of one named with its module."""
    node = find(name)
    full, name = name, name.rpartition(".")[2]
    shown = full if "." in full else f"fatbin.{name}"
    lines: list[str] = []
    if isinstance(node, ast.FunctionDef):
        lines += ["```text", signature(node, shown), "```", "", *described(node)]
        return "\n".join(lines).strip()
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    bases = "str, Enum" if bases == "Word" else bases
    lines += [f"*class, {bases}*" if bases else "*class*", "", *described(node)]
    constructor = [
        f"{ast.unparse(f.target)}: {ast.unparse(f.annotation)}"
        + (f" = {ast.unparse(f.value)}" if f.value else "")
        for f in fields(node)
    ]
    if bases == "Record":
        lines += ["```text", wrapped(shown, constructor, ""), "```", ""]
    made = "." in full and not bases  # public ones without a base are returned, never made
    if bases == "Value" or made:
        lines += ["```text", signature(method(node, "__init__"), shown), "```", ""]
    if "Enum" in bases or bases == "IntFlag":
        lines += [words(full), ""]
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            lines += [f"**`{node.name}.{member.name}`**", ""]
            decorators = {ast.unparse(d) for d in member.decorator_list}
            if "property" in decorators:
                kind = ast.unparse(member.returns) if member.returns else ""
                lines += [f"*property, {kind}*", ""]
            else:
                prefix = "classmethod " if "classmethod" in decorators else ""
                lines += ["```text", prefix + signature(member, member.name), "```", ""]
            lines += described(member)
    return "\n".join(lines).strip()


def signature(node: ast.FunctionDef, name: str) -> str:
    """Return a function's signature, wrapped when it is long."""
    node.args.args = [a for a in node.args.args if a.arg not in {"self", "cls"}]
    listed = [part for part in re.split(r", (?![^\[(]*[\])])", ast.unparse(node.args)) if part]
    listed = [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", part) for part in listed]
    return wrapped(name, listed, f" -> {ast.unparse(node.returns)}" if node.returns else "")


def wrapped(name: str, arguments: list[str], after: str) -> str:
    """Return a call on one line, or one line an argument when that is too long."""
    line = f"{name}({', '.join(arguments)}){after}"
    if len(line) <= 96:  # noqa: PLR2004 - what a page shows without scrolling
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){after}"])


def described(node: Definition) -> list[str]:
    """Return a docstring as Markdown lines."""
    text, sections = split(node)
    lines = [text, ""] if text else []
    for name, content in sections.items():
        if name == "Returns":
            lines += [f"Returns: {prose(' '.join(content.split()))}", ""]
            continue
        lines += [f"{_SECTION_TITLES[name]}:", ""]
        lines += [f"- `{item}`: {meaning}" for item, meaning in items(content)] + [""]
    return lines


GENERATORS: dict[str, Callable[[str], str]] = {
    "api": api,
    "attributes": attributes,
    "code": code,
    "codes": codes,
    "differences": differences,
    "epilogs": epilogs,
    "exits": exits,
    "facts": facts,
    "layout": layout,
    "limits": limits,
    "output": output,
    "policy": policy,
    "record": record,
    "statements": statements,
    "symptoms": symptoms,
    "words": words,
}


def rewrite(text: str) -> str:
    """Return a page with its generated blocks as the code has them now."""
    return _BLOCK.sub(lambda m: f"{m[1]}{GENERATORS[m[2]](m[3])}\n{m[4]}", text)


def settled(text: str) -> str:
    """Return a page without what versions of Python lay out in their own way: the help."""

    def plain(match: re.Match[str]) -> str:
        return " ".join(re.sub(r"(-\w) [A-Z]+, (--\w+)", r"\1, \2", match[0]).split())

    return re.sub(r"<!-- output: [^\n]* --help -->.*?<!-- end -->", plain, text, flags=re.DOTALL)


def stale() -> dict[str, str]:
    """Return what is not current by its path, as it should be; empty to be removed."""
    folder = ROOT / "docs"
    pages = {page.relative_to(folder).as_posix(): page for page in sorted(folder.rglob("*.md"))}
    found = {}
    for name, page in pages.items():
        text = page.read_text(encoding="utf-8")
        gone = name.startswith(CODE_FOLDER) and name not in {*CODE_PAGES, f"{CODE_FOLDER}index.md"}
        new = "" if gone else rewrite(text)
        if settled(text) != settled(new):
            found[f"docs/{name}"] = new
    found |= {
        f"docs/{name}": rewrite(CODE_PAGES[name]) for name in CODE_PAGES.keys() - pages.keys()
    }
    exits = [(code, meaning) for code, _, meaning in exit_codes("fatbin.cli.exits")]
    for name, wanted in shell_files(exits).items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            found[name] = wanted
    return found


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or say which are stale."""
    pages = stale()
    for name, text in pages.items():
        page = ROOT / name
        if "--check" in arguments:
            print(f"{name} is stale; run: python docs/generate.py")
        elif text:
            page.write_text(text, encoding="utf-8")
            print(f"{name} written")
        else:
            page.unlink()
            print(f"{name} removed")
    return 1 if pages and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
