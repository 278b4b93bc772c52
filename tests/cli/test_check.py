"""``fatbin check`` and ``fatbin explain`` as a user meets them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES, ROOT

import fatbin.judge.check
from fatbin.arch import Architecture
from fatbin.cli import exits, main
from fatbin.cli.check import FORMATS
from fatbin.judge.policy import Ignore, Policy
from fatbin.judge.verdict import Finding, Outcome, Severity, Verdict
from fatbin.scanning.targets import scan
from fatbin.variables import CUDA_VARIABLES


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run in a folder of a repository of its own, without what a developer may have set."""
    for name in ("FATBIN_GPUS", "FATBIN_DRIVER", "FATBIN_SKIP", *CUDA_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def fixture(name: str) -> str:
    return str(FIXTURES / name)


MULTI = fixture("multi.fatbin")


class Asked:
    """Stands for the judge: keeps what it was asked and gives one outcome."""

    def __init__(self, outcome: Outcome = Outcome.PASS) -> None:
        self.outcome = outcome
        self.calls: list[dict[str, Any]] = []

    def __call__(self, inventory: object, **asked: Any) -> Verdict:  # noqa: ANN401
        self.calls.append({"inventory": inventory, **asked})
        severity = {"FAIL": Severity.FAIL, "WARN": Severity.WARN}.get(self.outcome.value)
        return Verdict(
            outcome=self.outcome,
            gpus=tuple(map(str, asked["gpus"])),
            findings=(Finding("FB101", severity, "said"),) if severity else (),
            skip_reason=asked["policy"].skip_reason,
        )

    @property
    def policy(self) -> Policy:
        policy = self.calls[-1]["policy"]
        assert isinstance(policy, Policy)
        return policy

    @property
    def gpus(self) -> list[str]:
        return [str(gpu) for gpu in self.calls[-1]["gpus"]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    judge = Asked()
    monkeypatch.setattr(fatbin.judge.check, "check", judge)
    return judge


# Exit codes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "codes"),
    [
        # plain, --strict, --allow-empty, --skip
        (Outcome.PASS, (0, 0, 0, 0)),
        (Outcome.WARN, (0, 1, 0, 0)),
        (Outcome.FAIL, (1, 1, 1, 0)),
        (Outcome.NOTHING, (3, 3, 0, 0)),
    ],
)
def test_exit_codes(
    asked: Asked,
    capsys: pytest.CaptureFixture[str],
    outcome: Outcome,
    codes: tuple[int, int, int, int],
) -> None:
    asked.outcome = outcome
    base = ("--gpu", "9.0", MULTI)
    options: tuple[tuple[str, ...], ...] = ((), ("--strict",), ("--allow-empty",), ("--skip", "x"))
    assert tuple(run(capsys, *base, *more)[0] for more in options) == codes
    assert run(capsys, *base, "--skip", "x", "--strict")[0] == codes[3]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Outcome.PASS, 2), (Outcome.WARN, 2), (Outcome.NOTHING, 2), (Outcome.FAIL, 1)],
)
def test_a_target_that_cannot_be_read_does_not_stop_the_rest(
    asked: Asked, capsys: pytest.CaptureFixture[str], outcome: Outcome, code: int
) -> None:
    asked.outcome = outcome
    got, out, err = run(capsys, "--gpu", "9.0", "--format", "json", "no/such", MULTI)
    assert got == code
    assert json.loads(out)["outcome"] == outcome.value
    assert err == "fatbin: no/such: No such file or directory\n"
    (call,) = asked.calls
    assert [library.location for library in call["inventory"].libraries] == [MULTI]
    assert call["inventory"].targets == ("no/such", MULTI)


def test_nothing_that_can_be_read_is_no_document(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "--gpu", "9.0", "no/such", "--skip", "why", "-o", "out")
    assert (code, out) == (exits.ERROR, "")
    assert err == "fatbin: no/such: No such file or directory\n"
    assert not Path("out").exists()
    assert asked.calls == []


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gpu", "RTX 9999"), "--gpu: "),
        (("--gpu", ""), "--gpu: expected GPUs"),
        (("--gpu", "sm_90a"), "--gpu: expected a GPU, found 'sm_90a'"),
        (("--gpu", "9.0", "--driver", "twelve"), "--driver: expected a driver"),
        (("--gpu", "9.0", "--driver", ""), "--driver: expected a driver"),
        (("--gpu", "9.0", "--max-holes", "2"), "--max-holes: expected a share from 0 to 1"),
        (("--gpu", "9.0", "--max-holes", "x%"), "found 'x%'"),
        (("--gpu", "9.0", "--max-newer-only", ""), "--max-newer-only: expected a share"),
        (("--gpu", "9.0", "--expect", ""), "--expect: expected architectures"),
        (("--gpu", "9.0", "--expect", "9.x"), "--expect: expected an architecture"),
        (("--gpu", "9.0", "--forbid", "Hopper"), "--forbid: expected an architecture"),
        (("--gpu", "9.0", "--ignore", "FB101"), "--ignore[0]: expected CODE: REASON"),
        (("--gpu", "9.0", "--ignore", "FB101:"), "--ignore[0]: expected a reason"),
        (("--gpu", "9.0", "--ignore", "FB991: x"), "found 'FB991'; the nearest is FB"),
        (("--gpu", "9.0", "--optional", " "), "--optional[0]: expected a glob"),
        (("--gpu", "9.0", "--skip", " "), "--skip: expected a reason, found ' '"),
        (("--gpu", "9.0", "--policy", "missing.toml"), "missing.toml: cannot be read: "),
        (("--gpu", "9.0", "--policy", "bad.toml"), "bad.toml:2: unknown key 'max_holes'"),
        (("--gpu", "9.0", "--policy", ""), "'': cannot be read: "),
        (("--gpu", "9.0", "-o", "no/such/out"), "no/such/out: cannot be written: there is no such"),
        (("--gpu", "9.0", "-o", ""), "'': cannot be written: expected the name of a file"),
        (("--gpu", "9.0", "-o", "."), ".: cannot be written: expected the name of a file"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_judged(
    asked: Asked, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    Path("bad.toml").write_text("\nmax_holes = 1")
    code, out, err = run(capsys, *arguments, MULTI)
    assert (code, out) == (exits.ERROR, "")
    first, *hints = err.splitlines()
    assert message in first
    assert len(hints) <= 1
    assert asked.calls == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("FATBIN_GPUS=RTX 9999", "fatbin: FATBIN_GPUS: "),
        ("FATBIN_DRIVER=twelve", "fatbin: FATBIN_DRIVER: expected a driver"),
        ("FATBIN_SKIP= ", "fatbin: FATBIN_SKIP: expected a reason"),
    ],
)
def test_bad_variables(
    asked: Asked,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: str,
    message: str,
) -> None:
    monkeypatch.setenv("FATBIN_GPUS", "9.0")
    monkeypatch.setenv(*given.split("="))
    code, _, err = run(capsys, MULTI)
    assert code == exits.ERROR
    assert err.startswith(message)
    assert asked.calls == []


def test_without_a_gpu_it_says_what_to_write(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATBIN_GPUS", "")
    code, out, err = run(capsys, MULTI)
    assert (code, out) == (exits.ERROR, "")
    assert "--gpu 9.0" in err
    assert "FATBIN_GPUS" in err
    assert asked.calls == []


def test_policy_and_no_policy_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "--policy", "x", "--no-policy", MULTI])
    assert caught.value.code == exits.ERROR
    assert "not allowed with" in capsys.readouterr().err


# Where values come from ---------------------------------------------------------------------------


def test_options_become_the_policy(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        capsys,
        *("--gpu", "8.0 9.0", "--gpu", "RTX 5090", "--driver", "570.124"),
        *("--ptx", "fail", "--max-holes", "5%", "--max-newer-only", "0.2"),
        *("--expect", "8.0 9.0+PTX", "--forbid", "5.0", "--forbid", "6.0", "--strict"),
        *("--ignore", "FB106@*/x.so: a", "--ignore", "FB101: b", "--optional", "*.a", MULTI),
    )
    assert (code, err) == (exits.PASS, "")
    assert asked.gpus == ["8.0", "9.0", "RTX 5090 (12.0)"]
    assert str(asked.calls[0]["driver"]) == "570.124"
    assert asked.policy == Policy(
        ptx="fail",
        max_holes=0.05,
        max_newer_only=0.2,
        expect=Architecture.parse_list("sm_80 sm_90 compute_90"),
        forbid=Architecture.parse_list("sm_50 sm_60"),
        ignore=(Ignore("FB106", "*/x.so", "a"), Ignore("FB101", "*", "b")),
        optional=("*.a",),
        strict=True,
    )


def test_nothing_given_is_the_default_policy(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "--gpu", "9.0", MULTI)[0] == exits.PASS
    assert (asked.policy, asked.calls[0]["driver"], asked.calls[0]["environment"]) == (
        Policy(),
        None,
        {},
    )


FILE = """
gpus = "7.5"
driver = "550"
ptx = "fail"
expect = "7.5"
ignore = ["FB101: file"]
optional = ["file"]
"""


def test_option_over_variable_over_file(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("fatbin.toml").write_text(FILE)
    _, _, err = run(capsys, MULTI)
    assert err == "fatbin: policy: fatbin.toml\n"
    assert (asked.gpus, str(asked.calls[-1]["driver"])) == (["7.5"], "550")
    assert asked.policy.ptx == "fail"
    assert asked.policy.expect == (Architecture(75),)

    monkeypatch.setenv("FATBIN_GPUS", "8.0, 8.6")
    monkeypatch.setenv("FATBIN_DRIVER", "560")
    run(capsys, MULTI)
    assert (asked.gpus, str(asked.calls[-1]["driver"])) == (["8.0", "8.6"], "560")

    rest = ("--ptx", "pass", "--expect", "9.0", "--ignore", "FB106: line", "--optional", "line")
    run(capsys, "--gpu", "9.0", "--driver", "570", *rest, MULTI)
    assert (asked.gpus, str(asked.calls[-1]["driver"])) == (["9.0"], "570")
    assert asked.policy == Policy(
        ptx="pass",
        expect=(Architecture(90),),
        ignore=(Ignore("FB101", "*", "file"), Ignore("FB106", "*", "line")),
        optional=("file", "line"),
    )


def test_a_policy_is_found_above_named_or_refused(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("fatbin.toml").write_text(FILE)
    Path("other.toml").write_text("gpus = '8.9'\n")
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    _, _, err = run(capsys, MULTI)
    assert err == f"fatbin: policy: {os.path.join('..', 'fatbin.toml')}\n"
    assert asked.gpus == ["7.5"]
    _, _, err = run(capsys, "--policy", "../other.toml", MULTI)
    assert err == ""
    assert asked.gpus == ["8.9"]
    assert asked.policy == Policy()
    code, _, err = run(capsys, "--no-policy", MULTI)
    assert (code, len(asked.calls)) == (exits.ERROR, 2)
    assert "expected a GPU" in err


def test_a_bad_policy_that_is_found_is_refused(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("fatbin.toml").write_text("strict = 1\n")
    code, out, err = run(capsys, "--gpu", "9.0", MULTI)
    assert (code, out, asked.calls) == (exits.ERROR, "", [])
    assert "fatbin: fatbin.toml:1: strict: expected true or false, found 1\n" in err


def test_the_judge_is_told_the_variables_of_the_driver(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_FORCE_PTX_JIT", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    run(capsys, "--gpu", "9.0", MULTI)
    assert asked.calls[0]["environment"] == {"CUDA_FORCE_PTX_JIT": "1"}


# Targets ------------------------------------------------------------------------------------------


def test_saved_inventories_are_targets(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    saved = scan(fixture("lib_rdc.so"))
    Path("saved").write_text("\n " + saved.to_json())
    Path("bom.json").write_bytes(b"\xef\xbb\xbf" + saved.to_json(indent=None).encode())
    assert run(capsys, "--gpu", "9.0", "saved", MULTI, "bom.json")[0] == exits.PASS
    inventory = asked.calls[0]["inventory"]
    assert inventory.libraries == saved.libraries + scan(MULTI).libraries + saved.libraries
    assert inventory.targets == ("saved", MULTI, "bom.json")


def test_an_inventory_on_standard_input(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = io.BytesIO(scan(MULTI).to_json().encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert run(capsys, "--gpu", "9.0", "-")[0] == exits.PASS
    assert asked.calls[0]["inventory"].libraries == scan(MULTI).libraries


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_an_inventory_from_a_pipe(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    import threading

    os.mkfifo("pipe")
    text = scan(MULTI).to_json()
    writer = threading.Thread(target=lambda: Path("pipe").write_text(text), daemon=True)
    writer.start()
    assert run(capsys, "--gpu", "9.0", "pipe")[0] == exits.PASS
    writer.join()
    assert asked.calls[0]["inventory"].libraries == scan(MULTI).libraries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "x.json: expected an inventory as JSON, found: "),
        ('{"schema_version": 1, "files": []}', "x.json: expected an inventory with targets"),
        (
            json.dumps(Verdict(Outcome.PASS, ()).to_dict()),
            "x.json: expected an inventory, found a verdict",
        ),
        (
            '{"schema_version": 99, "targets": [], "libraries": []}',
            "x.json: expected schema_version 1",
        ),
        ('{"targets": [], "libraries": []}', "x.json: expected an inventory with a schema_version"),
        ('{"schema_version": 1, "targets": 1, "libraries": []}', "x.json: inventory.targets: "),
        ('{"a": ' * 50_000, "x.json: expected an inventory as JSON, found: "),
    ],
    ids=["cut", "other", "verdict", "newer", "none", "type", "deep"],
)
def test_documents_that_are_no_inventories(
    asked: Asked, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    Path("x.json").write_text(text)
    code, out, err = run(capsys, "--gpu", "9.0", "x.json")
    assert (code, out, asked.calls) == (exits.ERROR, "", [])
    assert err.startswith(f"fatbin: {message}")


def test_files_are_read_for_a_judge(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    path = fixture("lib_rdc.so")
    run(capsys, "--gpu", "9.0", path)
    assert asked.calls[0]["inventory"].libraries == scan(path).libraries
    run(capsys, "--gpu", "9.0", "--verify", path)
    verified = scan(path, verify=True).libraries
    assert verified != scan(path).libraries
    assert asked.calls[1]["inventory"].libraries == verified


# Output -------------------------------------------------------------------------------------------


def test_a_document_goes_to_a_file_whole(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.outcome = Outcome.FAIL
    base = ("--gpu", "9.0", "--format", "json", MULTI)
    _, document, _ = run(capsys, *base)
    path = Path("out.json")
    path.write_text("old")
    path.chmod(0o640)
    Path("link").symlink_to(path)
    code, out, err = run(capsys, *base, "-o", "link")
    assert (code, out, err) == (exits.FAIL, "", "fatbin: FAIL: FB101 said\n")
    assert path.read_text() == document
    assert path.stat().st_mode & 0o777 == 0o640
    assert Path("link").is_symlink()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path.write_text("old")
    monkeypatch.setattr(os, "replace", broken)
    code, out, err = run(capsys, *base, "-o", "out.json")
    assert (code, out) == (exits.ERROR, "")
    assert err == "fatbin: out.json: cannot be written: No space left on device\n"
    assert path.read_text() == "old"
    assert sorted(os.listdir()) == [".git", "link", "out.json"]


def test_a_judge_that_breaks_leaves_the_file_as_it_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(fatbin.judge.check, "check", broken)
    Path("out").write_text("old")
    with pytest.raises(RuntimeError):
        run(capsys, "--gpu", "9.0", "-o", "out", MULTI)
    assert Path("out").read_text() == "old"


def test_a_device_is_written_to_as_it_is(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--gpu", "9.0", "-o", os.devnull, MULTI)[:2] == (exits.PASS, "")
    assert not Path(os.devnull).is_file()
    assert len(asked.calls) == 1


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="standard output has no name")
def test_standard_output_by_its_name() -> None:
    command = [sys.executable, "-m", "fatbin", "check", "--gpu", "9.0", "-o", "/dev/stdout", MULTI]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.startswith("PASS: ")


def test_every_format_can_be_chosen() -> None:
    from fatbin.report import formats

    assert tuple(formats.FORMATS) == FORMATS


@pytest.mark.parametrize("form", FORMATS)
def test_a_skip_leaves_a_trace(capsys: pytest.CaptureFixture[str], form: str) -> None:
    base = ("--gpu", "12.0", "--format", form, fixture("sm_80.fatbin"))
    code, before, _ = run(capsys, *base)
    assert code == exits.FAIL
    code, out, err = run(capsys, *base, "--skip", "cluster down, see the runbook")
    assert code == exits.PASS
    assert "cluster down, see the runbook" in out
    assert "cluster down" not in before
    assert "FAIL" in out
    assert "fatbin: FAIL does not count: cluster down, see the runbook\n" in err


def test_formats_are_told_what_is_strict_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    base = ("--gpu", "9.0", fixture("lib_1arch.so"))
    _, plain, _ = run(capsys, *base, "--format", "junit")
    code, strict, err = run(capsys, *base, "--format", "junit", "--strict")
    assert (code, err) == (exits.FAIL, "fatbin: WARN fails too: strict\n")
    assert 'failures="1"' in strict
    assert 'failures="1"' not in plain
    _, short, _ = run(capsys, *base)
    _, verbose, _ = run(capsys, *base, "--verbose")
    assert "because: " in verbose
    assert "because: " not in short


def test_sarif_has_titles(capsys: pytest.CaptureFixture[str]) -> None:
    from fatbin.judge.codes import CODES

    _, out, _ = run(capsys, "--gpu", "12.0", "--format", "sarif", fixture("sm_80.fatbin"))
    assert CODES["FB101"].title in out


def test_a_skip_from_the_environment(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.outcome = Outcome.FAIL
    base = ("--gpu", "9.0", "--format", "json", MULTI)
    monkeypatch.setenv("FATBIN_SKIP", "")
    assert run(capsys, *base)[0] == exits.FAIL
    monkeypatch.setenv("FATBIN_SKIP", "why")
    code, out, _ = run(capsys, *base)
    document = json.loads(out)
    assert (code, document["outcome"], document["skip_reason"]) == (exits.PASS, "FAIL", "why")
    assert run(capsys, *base, "--skip", "other")[0] == exits.PASS
    assert asked.policy.skip_reason == "other"


def test_a_skip_of_a_pass_says_nothing(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--gpu", "9.0", "--skip", "why", MULTI)[::2] == (exits.PASS, "")
    assert asked.policy.skip_reason == "why"


# With the judge -----------------------------------------------------------------------------------


def judged(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(capsys, "--format", "json", *arguments)
    document = json.loads(out)
    assert isinstance(document, dict)
    return code, document


@pytest.mark.parametrize(
    ("name", "gpu", "code", "outcome"),
    [
        ("lib_3arch.so", "7.5", exits.PASS, "PASS"),
        ("lib_3arch.so", "9.0", exits.PASS, "PASS"),
        ("lib_3arch.so", "8.0", exits.FAIL, "FAIL"),
        ("lib_3arch.so", "10.0", exits.FAIL, "FAIL"),
        ("lib_1arch.so", "9.0", exits.PASS, "WARN"),
        ("libnocuda.a", "9.0", exits.NOTHING, "NOTHING"),
        ("truncated.fatbin", "9.0", exits.FAIL, "FAIL"),
    ],
)
def test_fixtures(
    capsys: pytest.CaptureFixture[str], name: str, gpu: str, code: int, outcome: str
) -> None:
    got, document = judged(capsys, "--gpu", gpu, fixture(name))
    assert (got, document["outcome"]) == (code, outcome)


def test_what_is_ignored_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    base = ("--gpu", "12.0", fixture("sm_80.fatbin"))
    code, document = judged(capsys, *base)
    assert (code, [f["code"] for f in document["findings"]]) == (exits.FAIL, ["FB101"])
    code, document = judged(capsys, *base, "--ignore", "FB101@sm_80.fatbin: by design")
    assert code == exits.PASS
    assert document["findings"] == []
    (ignored,) = document["ignored"]
    assert (ignored["rule"], ignored["reason"]) == ("FB101@sm_80.fatbin", "by design")
    assert ignored["finding"]["code"] == "FB101"
    _, out, _ = run(capsys, *base, "--ignore", "FB101@sm_80.fatbin: by design")
    assert "by design" in out
    code, document = judged(capsys, *base, "--ignore", "FB101@other.fatbin: by design")
    assert code == exits.FAIL
    assert [f["code"] for f in document["findings"]] == ["FB101", "FB404"]


def test_a_file_and_its_inventory_are_judged_alike(capsys: pytest.CaptureFixture[str]) -> None:
    path = fixture("lib_rdc.so")
    Path("saved.json").write_text(scan(path).to_json())
    _, of_file = judged(capsys, "--gpu", "8.0, 9.0, 10.0", path)
    _, of_saved = judged(capsys, "--gpu", "8.0, 9.0, 10.0", "saved.json")
    assert of_file | {"targets": ["saved.json"]} == of_saved


# explain ------------------------------------------------------------------------------------------


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["explain", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_explain_prints_pages(capsys: pytest.CaptureFixture[str]) -> None:
    from fatbin.judge.codes import page

    assert explain(capsys, "fb101", "FB106") == (0, page("FB101") + "\n" + page("FB106"), "")


def test_explain_lists_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    from fatbin.judge.codes import CODES

    code, out, _ = explain(capsys, "--list")
    assert code == exits.PASS
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(CODES)


def test_explain_names_the_nearest_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explain(capsys, "FB101", "FB1O6")
    assert code == exits.ERROR
    assert out != ""
    assert err.splitlines() == [
        "fatbin: no finding has the code 'FB1O6'; the nearest is FB106",
        "fatbin: fatbin explain --list shows every code",
    ]


def test_explain_needs_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explain(capsys)
    assert (code, out) == (exits.ERROR, "")
    assert "--list" in err


def test_every_code_has_a_page() -> None:
    from fatbin.judge.codes import CODES, page

    for code in CODES:
        assert page(code).startswith(f"# {code}"), code


# Baselines and pages ------------------------------------------------------------------------------

FAILING = ("--gpu", "A100", fixture("lib_3arch.so"))


def test_a_baseline_excuses_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *FAILING, "--format", "json", "-o", "old.json")[0] == exits.FAIL
    code, out, err = run(capsys, *FAILING, "--baseline", "old.json")
    assert (code, err) == (exits.PASS, "")
    assert "FB101 known (fail)  " in out
    assert (
        run(capsys, *FAILING, fixture("lib_1arch.so"), "--gpu", "T4", "--baseline", "old.json")[0]
        == 1
    )


def test_a_policy_names_a_baseline_beside_it_and_the_option_goes_over_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, *FAILING, "--format", "json", "-o", "old.json")
    run(capsys, "--gpu", "A100", MULTI, "--format", "json", "-o", "other.json")
    (tmp_path / "fatbin.toml").write_text('baseline = "old.json"', encoding="utf-8")
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert run(capsys, *FAILING)[0] == exits.PASS
    assert run(capsys, *FAILING, "--baseline", "../other.json")[0] == exits.FAIL
    assert run(capsys, *FAILING, "--no-policy")[0] == exits.FAIL


def test_a_baseline_that_is_none_is_told_before_anything_is_read(
    asked: Asked, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    inventory = scan(MULTI).to_json()
    (tmp_path / "inventory.json").write_text(inventory, encoding="utf-8")
    for name, said in (
        ("inventory.json", "inventory.json: expected a verdict, found an inventory"),
        ("none.json", "none.json: the baseline cannot be read: "),
    ):
        code, out, err = run(capsys, *FAILING, "--baseline", name)
        assert (code, out) == (exits.ERROR, "")
        assert said in err
    assert asked.calls == []


@pytest.mark.parametrize(
    ("epoch", "made"),
    [
        (None, None),
        ("0", "1970-01-01 00:00 UTC"),
        ("1700000000", "2023-11-14 22:13 UTC"),
        ("yesterday", None),
        ("9" * 30, None),
    ],
)
def test_a_page_has_the_date_of_a_reproducible_build(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    epoch: str | None,
    made: str | None,
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if epoch is not None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    _, out, _ = run(capsys, *FAILING, "--format", "html")
    assert out.startswith("<!doctype html>")
    assert ("<dt>Made</dt>" in out) is (made is not None)
    assert f"<dd>{made}</dd>" in out or made is None


def test_sizes_by_architecture_are_those_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *FAILING, "--format", "json")
    (library,) = json.loads(out)["libraries"]
    assert library["size"] == 21_992
    assert library["code_sizes"] == [
        ["sass sm_75", 853],
        ["sass sm_90a", 980],
        ["sass sm_120", 1_337],
    ]
