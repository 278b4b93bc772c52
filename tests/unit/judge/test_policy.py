"""Policies: what they take, what they refuse, and where they say it is."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatbin.arch import Architecture
from fatbin.errors import PolicyError, SourceError
from fatbin.judge import policy as module
from fatbin.judge.policy import KEYS, Ignore, Policy, matches, share_of
from fatbin.judge.policy_file import MOST_BYTES, PolicyFile, find_policy, read_policy

CODES = ("FB101", "FB106", "FB203")


@pytest.fixture(autouse=True)
def _codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_codes", lambda: CODES)


def read(folder: Path, text: str, name: str = "fatbin.toml") -> PolicyFile:
    (folder / name).write_text(text, encoding="utf-8")
    return read_policy(folder / name)


def refusal(folder: Path, text: str, name: str = "fatbin.toml") -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        read(folder, text, name)
    assert caught.value.location == str(folder / name)
    assert "\n" not in str(caught.value)
    return caught.value


# Rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "glob", "reason"),
    [
        ("FB106: reason", "FB106", "*", "reason"),
        ("FB106:reason: with a colon", "FB106", "*", "reason: with a colon"),
        (
            "FB106@*/libfoo.so: single-arch by design",
            "FB106",
            "*/libfoo.so",
            "single-arch by design",
        ),
        ("FB101@lib/x.a::m.o: why", "FB101", "lib/x.a::m.o", "why"),
        ("FB101@C:\\x\\y.dll: a: b", "FB101", "C:\\x\\y.dll", "a: b"),
        ("  FB101 @ my lib.so :  two\n lines ", "FB101", "my lib.so", "two lines"),
    ],
)
def test_rules_are_read(text: str, code: str, glob: str, reason: str) -> None:
    assert Ignore.parse(text) == Ignore(code, glob, reason)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected CODE: REASON or CODE@GLOB: REASON, found ''"),
        ("FB106", "expected CODE: REASON or CODE@GLOB: REASON, found 'FB106'"),
        ("FB106@libx.so:why", "expected CODE: REASON or CODE@GLOB: REASON"),
        ("FB106:", "expected a reason, found ''"),
        ("FB106:  \t", "expected a reason"),
        ("FB106@libx.so: ", "expected a reason"),
        ("FB106@: why", "expected a glob behind the @"),
        ("fb106: why", "found 'fb106'; the nearest is FB106"),
        ("FB107: why", "found 'FB107'; the nearest is FB10"),
        ("FB\u0661\u0660\u0666: why", "expected the code of a finding, such as FB101"),
        ("*: why", "expected the code of a finding, such as FB101, found '*'"),
    ],
)
def test_rules_are_refused(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Ignore.parse(text)
    assert str(caught.value).startswith("ignore: ")
    assert message in str(caught.value)


def test_known_codes_can_be_given() -> None:
    assert Ignore.parse("FB999: why", codes={"FB999"}).code == "FB999"
    with pytest.raises(PolicyError, match="the nearest is FB999"):
        Ignore.parse("FB998: why", codes={"FB999"})


def test_a_rule_without_its_reason() -> None:
    assert Ignore.parse("FB106@*/x.so: why").rule == "FB106@*/x.so"
    assert Ignore.parse("FB106: why").rule == "FB106"


def test_a_rule_covers_its_code_and_libraries_only() -> None:
    rule = Ignore.parse("FB106@libx.so: why")
    assert rule.covers("FB106", "/opt/lib/libx.so")
    assert not rule.covers("FB101", "/opt/lib/libx.so")
    assert not rule.covers("FB106", "/opt/lib/liby.so")
    assert Ignore.parse("FB106: why").covers("FB106", "")


@pytest.mark.parametrize(
    ("glob", "location", "expected"),
    [
        ("libx.so", "a/b/libx.so", True),
        ("libx.so", "libx.so.1", False),
        ("*/libx.so", "a/b/libx.so", True),
        ("*/libx.so", "libx.so", False),
        ("a/*.so", "a/b/libx.so", True),
        ("./a/libx.so", "a/libx.so", True),
        ("a/libx.so", "./a/libx.so", True),
        ("a\\lib*.dll", "a/libx.dll", True),
        ("a/lib*.dll", "a\\libx.dll", True),
        ("LIBX.so", "libx.so", False),
        ("x.o", "a/libx.a::x.o", True),
        ("libx.a::*", "a/libx.a::x.o", True),
        ("libx.a", "a/libx.a::x.o", False),
        ("lib[xy].so", "liby.so", True),
        ("lib[xy].so", "libz.so", False),
        ("x.whl::*", "dist/x.whl::x/liby.so", True),
        ("x.whl::*.so", "C:\\dist\\x.whl::x/liby.so", True),
        ("y.whl::*", "dist/x.whl::x/liby.so", False),
    ],
)
def test_globs(glob: str, location: str, expected: bool) -> None:  # noqa: FBT001
    assert matches(glob, location) is expected
    assert Policy(optional=("nothing", glob)).is_optional(location) is expected


# Merging ------------------------------------------------------------------------------------------


def test_merged_replaces_and_adds() -> None:
    first, second = Ignore("FB101", "*", "a"), Ignore("FB106", "*", "b")
    archs = Architecture.parse_list("8.0 9.0")
    base = Policy(ptx="fail", ignore=(first,), optional=("a",), forbid=archs, strict=True)
    merged = base.merged({"ptx": "pass", "ignore": (second,), "optional": ("b",), "expect": archs})
    assert merged == Policy(
        ptx="pass",
        ignore=(first, second),
        optional=("a", "b"),
        expect=archs,
        forbid=archs,
        strict=True,
    )
    assert base.merged({"forbid": archs[:1]}).forbid == archs[:1]
    assert base.merged({}) == base


# Files --------------------------------------------------------------------------------------------

WHOLE = """
gpus = ["9.0", "RTX 5090"]
driver = "570.124"
ptx = "fail"
max-holes = 0
max-newer-only = "12.5%"
expect = "8.0 9.0a 12.0+PTX"
forbid = ["5.0", "6.0;7.0"]
ignore = [
  {code = "FB106", path = "*/libx.so", reason = "why"},
  "FB101: for now",
]
optional = ["*/tests/*"]
baseline = "old/verdict.json"
strict = true
skip = "the cluster is down"
"""
READ = Policy(
    ptx="fail",
    max_holes=0.0,
    max_newer_only=0.125,
    expect=Architecture.parse_list("sm_80 sm_90a sm_120 compute_120"),
    forbid=Architecture.parse_list("sm_50 sm_60 sm_70"),
    ignore=(Ignore("FB106", "*/libx.so", "why"), Ignore("FB101", "*", "for now")),
    optional=("*/tests/*",),
    strict=True,
    skip_reason="the cluster is down",
)


def test_every_key_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found == PolicyFile(
        READ,
        ("9.0", "RTX 5090"),
        "570.124",
        str(tmp_path / "fatbin.toml"),
        str(tmp_path / "old" / "verdict.json"),
    )
    assert all(f"\n{key} = " in WHOLE for key in KEYS)


def test_pyproject_has_the_same_keys_in_its_table(tmp_path: Path) -> None:
    found = read(
        tmp_path, f"[project]\nname = 'x'\n[tool.fatbin]{WHOLE}[tool.y]\nz = 1\n", "pyproject.toml"
    )
    assert found[:3] == (READ, ("9.0", "RTX 5090"), "570.124")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing\n")[:3] == (Policy(), (), "")


def test_defaults_are_those_of_the_record() -> None:
    assert Policy() == ("warn", 0.02, 0.10, (), (), (), (), False, "")


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        ("\nmax_holes = 1", 2, "max_holes", "unknown key 'max_holes'; the nearest is max-holes"),
        ("gpu = '9.0'", 1, "gpu", "unknown key 'gpu'; the nearest is gpus"),
        ("zzzzzz = 1", 1, "zzzzzz", "unknown key 'zzzzzz'; expected one of gpus, driver, ptx"),
        ("\n'tool.fatbin' = 1", 2, "tool.fatbin", "unknown key 'tool.fatbin'; expected one of"),
        ("\n'ignore[0]' = 1", 2, "ignore[0]", "unknown key 'ignore[0]'; the nearest is ignore"),
        ("'' = 1", 1, "", "unknown key ''; expected one of"),
        ("gpus = 9.0", 1, "gpus", "gpus: expected GPUs such as '9.0, RTX 5090', found 9.0"),
        ("gpus = []", 1, "gpus", "found []"),
        ("gpus = ''", 1, "gpus", "gpus: expected GPUs such as 9.0 or RTX 5090, found ''"),
        ("gpus = ['9.0',\n'RTX 9999']", 2, "gpus[1]", "gpus[1]: "),
        ("gpus = ['9.0',\n9.0]", 2, "gpus[1]", "gpus[1]: expected text, found 9.0"),
        ("gpus = 'sm_90a'", 1, "gpus", "architecture of code"),
        ("driver = 570.124", 1, "driver", "as text, such as '570.124', found 570.124"),
        ("driver = ''", 1, "driver", "driver: expected a driver"),
        ("driver = '12.8'", 1, "driver", "looks like a CUDA version"),
        ("ptx = 'allow'", 1, "ptx", "ptx: expected pass, warn or fail, found 'allow'"),
        ("ptx = true", 1, "ptx", "found True"),
        ("#\n#\nmax-holes = true", 3, "max-holes", "found True"),
        ("max-holes = -0.1", 1, "max-holes", "from 0 to 1, such as 0.02 or 2%, found -0.1"),
        ("max-holes = 2", 1, "max-holes", "found 2"),
        ("max-holes = nan", 1, "max-holes", "found nan"),
        ("max-holes = inf", 1, "max-holes", "found inf"),
        ("max-holes = '101%'", 1, "max-holes", "found '101%'"),
        ("max-holes = '5'", 1, "max-holes", "found '5'"),
        ("max-holes = '-1%'", 1, "max-holes", "found '-1%'"),
        ("max-newer-only = []", 1, "max-newer-only", "found []"),
        ("expect = ''", 1, "expect", "expected architectures such as '8.0 9.0a 12.0+PTX', found ''"),
        ("expect = '9.x'", 1, "expect", "expect: expected an architecture such as sm_90a"),
        ("expect = [8.0]", 1, "expect[0]", "expect[0]: expected text, found 8.0"),
        ("forbid = {}", 1, "forbid", "found {}"),
        ("ignore = 'FB101: x'", 1, "ignore", "ignore: expected a list of rules"),
        ("ignore = [1]", 1, "ignore[0]", "expected a table of code, path and reason"),
        ("ignore = ['FB101: x',\n  'FB106']", 2, "ignore[1]", "ignore[1]: expected CODE: REASON"),
        ("ignore = [\n\n{code = 'FB101'}]", 3, "ignore[0]", "expected the key reason, found none"),
        ("[[ignore]]\nreason = 'x'", 1, "ignore[0]", "expected the key code, found none"),
        (
            "[[ignore]]\ncode = 'FB101'\nreason = 'x'\n[[ignore]]\nreason = 'x'\ncode = 'FB999'",
            6,
            "ignore[1].code",
            "ignore[1].code: expected the code of a finding, such as FB101, found 'FB999'",
        ),
        ("[[ignore]]\ncode = 'FB101'\nreason = ' '", 3, "ignore[0].reason", "expected a reason"),
        ("[[ignore]]\ncode = 'FB101'\nreason = 1", 3, "ignore[0].reason", "expected text, found 1"),
        ("[[ignore]]\ncode = 'FB101'\npath = ''", 1, "ignore[0]", "expected the key reason"),
        (
            "[[ignore]]\ncode = 'FB101'\nreason='x'\npath = ' '",
            4,
            "ignore[0].path",
            "expected a glob",
        ),
        ("[[ignore]]\ncode = 'FB101'\nreson = 'x'", 3, "ignore[0].reson", "the nearest is reason"),
        ("optional = 'x'", 1, "optional", "optional: expected a list of globs, found 'x'"),
        ("optional = ['x', '']", 1, "optional[1]", "optional[1]: expected a glob, found ''"),
        ("strict = 1", 1, "strict", "strict: expected true or false, found 1"),
        ("skip = ' '", 1, "skip", "skip: expected a reason, found ' '"),
        ("skip = true", 1, "skip", "skip: expected a reason, found True"),
        ("ptx = 'pass'\nstrict = ", 2, "", "expected TOML, found: "),
        ("a = [\n", 1, "", "expected TOML, found: "),
        ("a = 1\na = 2", 2, "", "expected TOML, found: "),
        (f"a = {'9' * 5000}", 0, "", "expected TOML, found: "),
        ("a = " + "[" * 5000, 0, "", "expected a policy, found nesting too deep"),
    ],
)  # fmt: skip
def test_files_are_refused(tmp_path: Path, text: str, line: int, key: str, message: str) -> None:
    error = refusal(tmp_path, text)
    assert message in error.message
    assert (error.line, error.key) == (line, key)
    where = f"{tmp_path / 'fatbin.toml'}:{line}: " if line else f"{tmp_path / 'fatbin.toml'}: "
    assert str(error) == where + error.message


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool.x]\nptx = 1\n\n[tool.fatbin]\nstrict = true\nptx = 1\n[tool.y]\nptx = 1", 6, "found 1"),
        ("[tool]\nfatbin.strict = true\nfatbin.ptx = 1\n", 3, "found 1"),
        ("[tool]\nfatbin = {strict = true, ptx = 1}\n", 2, "found 1"),
        ("tool.x = 1\ntool.fatbin.ptx = 1\n", 2, "found 1"),
        ("[tool]\n\nfatbin = 3", 3, "tool.fatbin: expected a table, found 3"),
        ("[tool.fatbin.pypi]\nx = 1", 1, "unknown key 'pypi'; "),
        ("[project]\nname = 'x'", 0, "expected a table [tool.fatbin], found none"),
        ("tool = 3", 0, "expected a table [tool.fatbin], found none"),
    ],
)  # fmt: skip
def test_lines_of_pyproject(tmp_path: Path, text: str, line: int, message: str) -> None:
    error = refusal(tmp_path, text, "pyproject.toml")
    assert message in error.message
    assert error.line == line


def test_a_long_file_is_refused_without_a_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, "# nothing\n" * 5000 + "ptx = 1")
    assert (error.key, error.line) == ("ptx", 0)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "fatbin.toml"
    path.write_bytes(b"ptx = 'fail'\nskip = '\xff'")
    with pytest.raises(PolicyError, match=r":2: expected UTF-8 text, found the byte 0xff"):
        read_policy(path)


def test_files_that_are_no_policies(tmp_path: Path) -> None:
    path = tmp_path / "fatbin.toml"
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(PolicyError, match="at most 1,048,576 bytes, found more"):
        read_policy(path)
    path.write_bytes(b"#" * MOST_BYTES)
    assert read_policy(path).policy == Policy()


@pytest.mark.parametrize("name", ["", "missing.toml", "a\0b.toml"])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="cannot be read: "):
        read_policy(f"{tmp_path}/{name}")


# Shares -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "share"),
    [("2%", 0.02), ("0.02", 0.02), (".5", 0.5), ("100 %", 1.0), ("0%", 0.0), (" 1 ", 1.0), (1, 1.0), (0.1, 0.1)],
)  # fmt: skip
def test_shares(value: object, share: float) -> None:
    assert math.isclose(share_of(value, "max-holes"), share)


# Finding ------------------------------------------------------------------------------------------


def test_the_nearest_policy_above_is_found(tmp_path: Path) -> None:
    top, middle, low = tmp_path, tmp_path / "a", tmp_path / "a" / "b"
    low.mkdir(parents=True)
    (top / ".git").mkdir()
    assert find_policy(low) is None
    (top / "fatbin.toml").write_text("")
    assert find_policy(low) == str(top / "fatbin.toml")
    (middle / "pyproject.toml").write_text("[tool.fatbin]\n")
    assert find_policy(low) == str(middle / "pyproject.toml")
    (middle / "fatbin.toml").write_text("")
    assert find_policy(low) == str(middle / "fatbin.toml")
    (low / "pyproject.toml").write_text("[tool.other]\nname = 'fatbin'\n")
    assert find_policy(low) == str(middle / "fatbin.toml")
    (low / "fatbin.toml").mkdir()  # a folder of the name is no policy
    assert find_policy(low) == str(middle / "fatbin.toml")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nothing_above_a_repository_is_found(tmp_path: Path, kind: str) -> None:
    (tmp_path / "fatbin.toml").write_text("")
    repository = tmp_path / "repository"
    repository.mkdir()
    assert find_policy(repository) == str(tmp_path / "fatbin.toml")
    if kind == "folder":
        (repository / ".git").mkdir()
    else:
        (repository / ".git").write_text("gitdir: elsewhere")
    assert find_policy(repository) is None


def test_a_broken_pyproject_counts_only_when_it_speaks_of_fatbin(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.x\n")
    assert find_policy(tmp_path) is None
    path.write_text("[tool.fatbin\n")
    with pytest.raises(PolicyError, match="expected TOML"):
        find_policy(tmp_path)


# Anything -----------------------------------------------------------------------------------------

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", "9.0", "RTX 5090", "570", "FB101: x", "FB106@*: y", "sm_90a", "8.0+PTX", "2%", "warn"]
)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return str(value)


_SCALARS = st.booleans() | st.integers() | st.floats() | _TEXTS | st.dates() | st.times()
_NAMES = st.sampled_from(["code", "path", "reason"]) | _TEXTS
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(KEYS)) | _TEXTS, _VALUES, max_size=4))
def test_any_values_make_a_policy_or_a_policy_error(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text("".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in values.items()))
    try:
        found = read_policy(path)
    except PolicyError as error:
        assert error.location == str(path)
        assert 1 <= error.line <= len(values)
    else:
        assert set(values) <= set(KEYS)
        assert isinstance(found.policy, Policy)
        assert 0 <= found.policy.max_holes <= 1


@given(st.text(max_size=40) | st.from_regex(r"FB10[16](@[^:]{0,5})?: ?.{0,5}", fullmatch=True))
def test_any_text_is_a_rule_with_a_reason_or_refused(text: str) -> None:
    try:
        rule = Ignore.parse(text, codes=CODES)
    except PolicyError as error:
        assert error.key == "ignore"
    else:
        assert rule.code in CODES
        assert rule.reason == rule.reason.strip() != ""
        assert rule.glob.strip() != ""
        assert Ignore.parse(f"{rule.rule}: {rule.reason}", codes=CODES) == rule


@given(_SCALARS)
def test_any_share_is_from_0_to_1_or_refused(value: object) -> None:
    try:
        share = share_of(value, "max-holes")
    except PolicyError as error:
        assert error.key == "max-holes"
    else:
        assert 0 <= share <= 1
        assert type(share) is float


@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_make_a_policy_or_a_policy_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(data)
    try:
        assert isinstance(read_policy(path), PolicyFile)
    except PolicyError as error:
        assert error.location == str(path)


@pytest.mark.parametrize("text", ["a." * 201 + "b = 1\n", "\n[" + "'x' . " * 300 + "y]\n"])
def test_a_key_of_many_parts_is_refused_before_it_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "fatbin.toml"
    path.write_text(text)
    with pytest.raises(PolicyError, match="at most 200 parts") as caught:
        read_policy(path)
    assert caught.value.line == 1 + text.startswith("\n")


def test_many_dots_in_a_value_are_no_key(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    listed = ", ".join(f'"p{number}>=1.2.3"' for number in range(200))
    path.write_text(f'[project]\nx = [{listed}]\n[tool.fatbin]\ngpus = ["9.0"]\n')
    assert read_policy(path).gpus == ("9.0",)
