"""The preflight: what each stage comes to, what decides, and what is written for whom."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job import FAKE, PYTHON, is_there, machine_with, wait_for
from machine import A100, H200, Machine
from support import FIXTURES, ROOT

from fatbin import (
    Attempt,
    ComputeCapability,
    DetectedGpu,
    Detection,
    DeviceError,
    Probe,
    SourceError,
    probe,
)
from fatbin.cli import exits, main
from fatbin.cli.preflight import exit_code
from fatbin.limits import DEFAULT_LIMITS
from fatbin.node.nccl_files import NcclFile, find_nccl
from fatbin.node.preflight import Tools, preflight
from fatbin.node.preflight_records import STAGES, Preflight, PreflightOutcome
from fatbin.node.probe_records import GpuProbe, ProbeResult
from fatbin.node.smoke.records import SmokeOutcome, SmokeResult
from fatbin.report.preflight import (
    MESSAGE_BYTES,
    metrics,
    preflight_text,
    termination_message,
    writer,
)

GOOD = FIXTURES / "lib_3arch.so"  # sm_75, sm_90a, sm_120
OTHER = FIXTURES / "lib_1arch.so"  # sm_80 and its PTX
WORKS = SmokeResult(SmokeOutcome.PASS, ranks=2, library_version="2.28.9", library=str(GOOD))


def result_of(status: str, *, predicted: int = 0, code: int = 0, said: str = "") -> ProbeResult:
    fields: dict[str, Any] = {
        "location": "lib.so",
        "offset": 0,
        "place": "loadable",
        "form": "container",
        "how": "native",
        "certainty": "yes",
    }
    agrees = None if status in ("skipped", "not-tried") else code == predicted
    return ProbeResult(
        predicted=predicted, status=status, said=said or status, code=code, agrees=agrees, **fields
    )


def probing(*results: ProbeResult) -> Callable[..., Probe]:
    def probe(path: str, *, detection: Detection, timeout: float, **rest: object) -> Probe:
        assert timeout == 30
        assert set(rest) == {"jit", "limits"}
        return Probe(path, gpus=tuple(GpuProbe(gpu, results) for gpu in detection.gpus[:1]))

    return probe


LOADED = result_of("loaded")
REFUSED = result_of("refused", predicted=209, code=209, said="209 CUDA_ERROR_NO_BINARY_FOR_GPU")


def run(
    *targets: Path | str,
    detection: Detection | None = None,
    nccl: Path | None = GOOD,
    results: tuple[ProbeResult, ...] = (LOADED, REFUSED),
    smoke: SmokeResult | Exception = WORKS,
    **options: Any,  # noqa: ANN401 - of preflight
) -> Preflight:
    def smoked(timeout: float, **_: object) -> SmokeResult:
        assert timeout == 30
        if isinstance(smoke, Exception):
            raise smoke
        return smoke

    tools = Tools(
        detect=lambda **_: machine_with(2) if detection is None else detection,
        probe=probing(*results),
        smoke=smoked,
        nccl=lambda *_, **__: (NcclFile(str(nccl), "torch"),) if nccl else (),
    )
    options.setdefault("environment", {})
    return preflight(map(str, targets), tools=tools, **options)


def outcomes(found: Preflight) -> list[str]:
    assert [stage.name for stage in found.stages] == list(STAGES)
    return [stage.outcome.value for stage in found.stages]


# Stages -------------------------------------------------------------------------------------------


def test_a_node_that_is_ready() -> None:
    found = run()
    assert outcomes(found) == ["PASS"] * 4
    assert (found.outcome, found.cause, found.action) == (PreflightOutcome.PASS, "", "")
    assert found.gpus == ("NVIDIA H200 (9.0)",) * 2
    (library,) = found.libraries
    assert (library.how, library.sass) == ("NCCL of torch", ("sm_75", "sm_90a", "sm_120"))


def test_limits_reach_the_check_and_the_probe() -> None:
    given: list[dict[str, object]] = []

    def probe(path: str, **options: object) -> Probe:
        given.append(options)
        return Probe(path)

    tools = Tools(
        detect=lambda **_: machine_with(1), probe=probe, smoke=lambda **_: WORKS, nccl=lambda *_: ()
    )
    few = DEFAULT_LIMITS._replace(entries=2)
    found = preflight([str(GOOD)], nccl=False, jit=True, limits=few, tools=tools)
    assert found.stage("check").outcome is PreflightOutcome.FAIL
    assert "limit entries" in found.stage("check").said
    assert [(options["jit"], options["limits"]) for options in given] == [(True, few)]
    preflight([str(GOOD)], nccl=False, tools=tools)
    assert [(o["jit"], o["limits"]) for o in given[1:]] == [(False, DEFAULT_LIMITS)]


def test_a_library_without_code_fails_and_the_rest_is_still_tried() -> None:
    smoke = SmokeResult(SmokeOutcome.FAIL, "rank 1 failed first", "use another NCCL", ranks=2)
    found = run(detection=machine_with(1, "8.0", "A100"), results=(REFUSED,), smoke=smoke)
    assert outcomes(found) == ["PASS", "FAIL", "FAIL", "FAIL"]
    assert found.cause.startswith("check: FB101 lib_3arch.so has no code for A100 (8.0)")
    assert found.action.startswith("build SASS for sm_80")
    assert found.stage("probe").said == (
        "the driver takes none of the 1 modules of lib_3arch.so on GPU 0: A100 (8.0): "
        "209 CUDA_ERROR_NO_BINARY_FOR_GPU"
    )
    assert found.stage("smoke").said == "rank 1 failed first"


@pytest.mark.parametrize(
    ("results", "outcome", "said"),
    [
        ((LOADED, REFUSED), "PASS", "1 library"),
        ((REFUSED, REFUSED), "FAIL", "takes none of the 2 modules"),
        ((LOADED, result_of("refused", code=200)), "FAIL", "1 of 2 modules of lib_3arch.so should"),
        ((LOADED, result_of("crashed", code=-1)), "FAIL", "should load and do not"),
        ((LOADED, result_of("loaded", predicted=209)), "WARN", "do not do what was predicted"),
        ((LOADED, result_of("not-tried")), "WARN", "not all modules"),
        ((result_of("skipped", said="PTX that"),), "WARN", "was tried on GPU 0"),
        ((), "WARN", "holds no module"),
    ],
)
def test_what_the_driver_says(results: tuple[ProbeResult, ...], outcome: str, said: str) -> None:
    stage = run(results=results).stage("probe")
    assert stage.outcome.value == outcome
    assert said in stage.said or outcome == "PASS"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("PASS", "PASS"), ("FAIL", "FAIL"), ("TIMEOUT", "FAIL"), ("SKIPPED", "WARN")],
)
def test_what_the_trial_comes_to(outcome: str, expected: str) -> None:
    smoke = WORKS._replace(outcome=SmokeOutcome(outcome), reason="because")
    assert run(smoke=smoke).stage("smoke").outcome.value == expected


def test_another_nccl_than_the_checked_one_is_told() -> None:
    stage = run(smoke=WORKS._replace(library=str(OTHER))).stage("smoke")
    assert stage.outcome is PreflightOutcome.WARN
    assert f"torch loaded {OTHER}, and {GOOD} was checked" in stage.said


def test_no_nccl_is_a_warning_and_goes_on() -> None:
    found = run(nccl=None, smoke=SmokeResult(SmokeOutcome.SKIPPED, "torch is not installed"))
    assert outcomes(found) == ["PASS", "WARN", "WARN", "WARN"]
    assert found.cause == "check: no libnccl.so.2 was found"


def test_without_nccl_named_libraries_are_looked_at() -> None:
    found = run_without_nccl(GOOD)
    assert outcomes(found) == ["PASS", "PASS", "PASS", "SKIPPED"]
    assert [library.how for library in found.libraries] == ["named"]


def run_without_nccl(*targets: Path) -> Preflight:
    tools = Tools(
        detect=lambda **_: machine_with(1),
        probe=probing(LOADED),
        smoke=lambda **_: pytest.fail("not asked for"),
        nccl=lambda *_, **__: pytest.fail("not asked for"),
    )
    return preflight(map(str, targets), nccl=False, tools=tools, environment={})


def test_nothing_to_look_at_is_no_failure_of_the_node() -> None:
    found = run_without_nccl()
    assert outcomes(found) == ["PASS", "SKIPPED", "SKIPPED", "SKIPPED"]
    assert found.stage("check").said == "no library to look at"


def test_a_named_file_that_is_not_there_is_an_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    found = run(tmp_path / "none.so")
    assert found.stage("check").outcome is PreflightOutcome.ERROR
    assert "none.so" in found.cause
    assert found.stage("smoke").outcome is PreflightOutcome.PASS


def test_a_failure_goes_before_an_error() -> None:
    found = run("none.so", detection=machine_with(1, "8.0", ""))
    assert found.outcome is PreflightOutcome.FAIL


def test_a_trial_that_cannot_start_is_an_error() -> None:
    stage = run(smoke=DeviceError("python cannot be started")).stage("smoke")
    assert (stage.outcome.value, stage.said) == ("ERROR", "python cannot be started")


def test_stages_that_are_not_asked_for_do_not_count() -> None:
    found = run(detection=machine_with(1, "8.0", ""), stages=("detect", "smoke"))
    assert outcomes(found) == ["PASS", "SKIPPED", "SKIPPED", "PASS"]
    assert found.outcome is PreflightOutcome.PASS


@pytest.mark.parametrize(
    ("detection", "outcome"),
    [
        (Detection(attempts=(Attempt("libcuda", ok=False, said="absent"),)), "NOTHING"),
        (Detection(attempts=(Attempt("proc", ok=True, said="NVRM 580"),), code=803), "FAIL"),
        (
            Detection(
                gpus=(DetectedGpu(0, "H100", ComputeCapability(9, 0), source="nvml"),),
                source="nvml",
            ),
            "FAIL",
        ),
    ],
)
def test_a_gpu_that_cuda_cannot_use_fails_and_none_at_all_is_nothing(
    detection: Detection, outcome: str
) -> None:
    found = run(detection=detection)
    assert outcomes(found) == [outcome, "SKIPPED", "SKIPPED", "SKIPPED"]
    assert found.outcome.value == outcome
    assert "pointless" in found.stage("smoke").said


def test_an_unknown_gpu_cannot_be_checked_but_tried() -> None:
    gpu = DetectedGpu(0, "NVIDIA Z9", None, source="libcuda")
    found = run(detection=Detection(gpus=(gpu,), source="libcuda"))
    assert outcomes(found) == ["WARN", "SKIPPED", "PASS", "PASS"]
    assert found.stage("check").said == "the compute capability is not known"


@pytest.mark.parametrize(
    ("outcome", "strict", "code"),
    [
        ("PASS", False, 0),
        ("PASS", True, 0),
        ("WARN", False, 0),
        ("WARN", True, 1),
        ("FAIL", False, 1),
        ("ERROR", False, 2),
        ("NOTHING", False, 3),
        ("NOTHING", True, 3),
    ],
)
def test_exit_codes(outcome: str, code: int, *, strict: bool) -> None:
    assert exit_code(PreflightOutcome(outcome), strict=strict) == code


# Where NCCL is ------------------------------------------------------------------------------------


def put(*parts: Path | str) -> Path:
    path = Path(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(GOOD, path)
    return path


def test_the_order_is_the_loaders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "torch").mkdir(parents=True)
    preloaded = put(tmp_path, "copy", "libnccl-mine.so")
    of_torch = put(tmp_path, "site", "nvidia", "nccl", "lib", "libnccl.so.2")
    of_path = put(tmp_path, "lib", "libnccl.so.2")
    configured = put(tmp_path, "root", "opt", "x", "libnccl.so.2")
    of_system = put(tmp_path, "root", "usr", "lib", "libnccl.so.2")
    conf = tmp_path / "root" / "etc" / "ld.so.conf.d" / "x.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("# a comment\n/opt/x\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    env = {
        "LD_PRELOAD": f"/usr/lib/libjemalloc.so {preloaded}",
        "LD_LIBRARY_PATH": f"/nowhere:{of_path.parent}",
    }
    root = str(tmp_path / "root")
    found = find_nccl(env, root=root)
    ours = [(file.path, file.how) for file in found if file.path.startswith(str(tmp_path))]
    assert ours == [
        (str(preloaded), "LD_PRELOAD"),
        (str(of_torch), "torch"),
        (str(of_path), "LD_LIBRARY_PATH"),
        (str(configured), "system"),
        (str(of_system), "system"),
    ]
    assert "torch" not in sys.modules or "fake" not in str(sys.modules["torch"])


def test_the_package_of_another_python(tmp_path: Path) -> None:
    library = put(tmp_path, "nvidia", "nccl", "lib", "libnccl.so.2")
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {PYTHON} -S "$@"\n')
    program.chmod(0o755)
    found = find_nccl({}, python=(str(program),), root=str(tmp_path / "none"))
    assert [(file.path, file.how) for file in found] == [(str(library), "package")]
    with pytest.raises(DeviceError, match="does not say where it imports from"):
        find_nccl({}, python=(str(tmp_path / "no-python"),))


# Documents ----------------------------------------------------------------------------------------


class Lines:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def isatty(self) -> bool:
        return False


def text_of(found: Preflight) -> str:
    lines = Lines()
    preflight_text(writer(lines), found)  # type: ignore[arg-type]
    return lines.text


def test_a_node_where_nothing_was_tried_is_not_called_ready() -> None:
    found = run()
    skipped = PreflightOutcome.SKIPPED
    stages = tuple(s._replace(outcome=skipped, said=f"no {s.name}") for s in found.stages[:2])
    nothing = found._replace(outcome=PreflightOutcome.NOTHING, cause="", stages=stages)
    first, *_ = text_of(nothing).splitlines()
    assert first == "NOTHING: no stage ran: no detect; no check"


def test_the_block() -> None:
    env = {"NODE_NAME": "gpu-7", "IMAGE": "registry/app:1.2"}
    found = run(environment=env)._replace(seconds=1.25)
    stages = tuple(stage._replace(seconds=0.5) for stage in found.stages)
    assert text_of(found._replace(stages=stages)) == (
        "PASS: the node is ready (1.2 s)\n"
        "  node     gpu-7\n"
        "  image    registry/app:1.2\n"
        "  GPU      2 x NVIDIA H200 (9.0)\n"
        "  driver   580.159.04\n"
        "  CUDA     13.0\n"
        f"  NCCL     {GOOD} (NCCL of torch)\n"
        "  SASS     sm_75 sm_90a sm_120\n"
        "  PTX      none\n"
        "  [ PASS  ] detect    0.5 s  2 GPUs\n"
        "  [ PASS  ] check     0.5 s  1 library\n"
        "  [ PASS  ] probe     0.5 s  1 of 2 modules of lib_3arch.so load on GPU 0: NVIDIA H200 (9.0)\n"
        "  [ PASS  ] smoke     0.5 s  NCCL 2.28.9 works with 2 ranks\n"
    )


def test_the_cause_comes_first_and_the_action_after_it() -> None:
    found = run(detection=machine_with(1, "8.0", "A100"))
    lines = text_of(found).splitlines()
    assert lines[0].startswith("FAIL: check: FB101")
    assert any(line.startswith("  action   build SASS for sm_80") for line in lines)
    message = termination_message(found)
    assert message.splitlines()[0] == lines[0]
    assert message.splitlines()[1].startswith("action: build SASS")


def test_the_message_fits_and_no_character_is_cut() -> None:
    found = run(environment={"IMAGE": "ü" * 5000})
    data = termination_message(found).encode()
    assert len(data) in (MESSAGE_BYTES, MESSAGE_BYTES - 1)
    assert data.decode().endswith("ü")


def test_metrics() -> None:
    found = run(environment={"NODE_NAME": 'a"b\\c'})
    text = metrics(found, now=1000.5)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert "fatbin_preflight_success 1" in samples
    assert 'fatbin_preflight_outcome{outcome="PASS"} 1' in samples
    assert 'fatbin_preflight_stage_outcome{stage="smoke",outcome="PASS"} 1' in samples
    assert 'fatbin_preflight_stage_outcome{stage="smoke",outcome="FAIL"} 0' in samples
    assert "fatbin_preflight_gpus 2" in samples
    assert "fatbin_preflight_timestamp_seconds 1000.5" in samples
    assert any(line.startswith('fatbin_preflight_info{node="a\\"b\\\\c"') for line in samples)
    names = {line.partition(" ")[0].partition("{")[0] for line in samples}
    assert {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} == names
    assert "fatbin_preflight_success 0" in metrics(run("none.so"))
    odd = metrics(found._replace(node='a\udcff"\\\n'))
    assert r"""info{node="a\\udcff\"\\\n",""" in odd


def test_the_document_has_what_each_stage_is_made_of() -> None:
    document = json.loads(json.dumps(run().to_dict()))
    assert document["schema_version"] == 1
    stages = {stage["name"]: stage for stage in document["stages"]}
    assert stages["detect"]["details"]["driver"] == "580.159.04"
    assert stages["check"]["details"][0]["outcome"] == "PASS"
    assert stages["probe"]["details"][0]["agrees"] is True
    assert stages["smoke"]["details"]["outcome"] == "PASS"


# The command --------------------------------------------------------------------------------------


@pytest.fixture
def node(machine: Machine) -> Machine:
    """A machine with two GPUs, a stand-in for torch, and an NCCL."""
    folder = machine.root.parent / "nccl"
    put(folder, "libnccl.so.2")
    path = f"{machine.libraries}:{folder}"
    machine.set(STANDIN_DEVICES=f"{H200};{H200}", PYTHONPATH=FAKE, LD_LIBRARY_PATH=path)
    return machine


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["preflight", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_pass_of_everything(
    node: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, document, prom = tmp_path / "log", tmp_path / "p.json", tmp_path / "p.prom"
    log.write_text("x" * 10_000)
    inode = log.stat().st_ino
    code, out, err = command(
        capsys,
        *("--json", str(document), "--prometheus", str(prom), "--termination-log", str(log)),
    )
    assert (code, err) == (exits.PASS, ""), out
    assert out.startswith("PASS: the node is ready")
    assert json.loads(document.read_text())["outcome"] == "PASS"
    assert "fatbin_preflight_success 1" in prom.read_text()
    assert log.read_text().startswith("PASS: the node is ready")
    assert log.stat().st_ino == inode  # where it is mounted it cannot be replaced
    assert node.left_over() == []


def test_a_failure_of_everything(node: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    node.set(STANDIN_DEVICES=A100, FAKE_TORCH="raise@all_reduce")
    code, out, _ = command(capsys)
    assert code == exits.FAIL
    for stage in ("check", "probe", "smoke"):
        assert f"[ FAIL  ] {stage}" in out


@pytest.mark.usefixtures("node")
def test_warnings_count_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--skip-stage", "smoke", "--stages", "detect,check", str(OTHER))
    code, out, _ = command(capsys, *arguments, "--no-nccl")
    assert code == exits.PASS, out
    assert out.startswith("WARN: check: FB105")
    assert command(capsys, *arguments, "--no-nccl", "--strict")[0] == exits.FAIL


@pytest.mark.usefixtures("node")
def test_a_document_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "--json", "-", "--stages", "detect")
    assert (code, json.loads(out)["outcome"]) == (exits.PASS, "PASS")


def test_no_gpu(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.without("libcuda.so.1", "libnvidia-ml.so.1")
    code, out, _ = command(capsys)
    assert (code, out.partition(":")[0]) == (exits.NOTHING, "NOTHING")


@pytest.mark.usefixtures("node")
def test_a_file_that_cannot_be_written_is_told_and_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--json", "--prometheus", "--termination-log"):
        place = str(tmp_path / "none" / "file")
        code, out, err = command(capsys, "--stages", "detect", option, place)
        assert (code, out.partition(":")[0]) == (exits.ERROR, "PASS")
        assert "cannot be written" in err


@pytest.mark.parametrize("wrong", [["--stages", "detekt"], ["--skip-stage", ""], ["--ranks", "x"]])
def test_usage_errors(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["preflight", *wrong])
    assert ended.value.code == exits.ERROR
    assert wrong[0] in capsys.readouterr().err


def test_ended_from_outside_it_says_where(node: Machine, tmp_path: Path) -> None:
    marks, log = tmp_path / "marks", tmp_path / "log"
    marks.mkdir()
    node.set(FAKE_MARKS=marks, FAKE_TORCH="hang@broadcast")
    arguments = ("-m", "fatbin", "preflight", "--timeout", "600", "--termination-log", str(log))
    process = subprocess.Popen([PYTHON, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    pids = [int(path.name) for path in marks.iterdir()]
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143
    wait_for(lambda: not any(map(is_there, pids)))
    assert log.read_text() == "ERROR: ended from outside in smoke\n"


def test_the_real_probe_is_given_what_it_takes(node: Machine) -> None:
    found = preflight(
        [str(GOOD)], stages=("probe",), nccl=False, tools=Tools.real()._replace(probe=probe)
    )
    assert found.stage("probe").outcome is PreflightOutcome.PASS, found
    assert node.left_over() == []


def test_an_error_of_the_probe_is_told() -> None:
    def broken(*_: object, **__: object) -> Probe:
        msg = "cannot be read"
        raise SourceError(msg, location="lib.so")

    tools = Tools(lambda **_: machine_with(1), broken, lambda **_: WORKS, find_nccl)
    found = preflight([str(GOOD)], nccl=False, tools=tools, environment={})
    assert found.stage("probe").outcome is PreflightOutcome.ERROR
    assert found.stage("probe").said == "lib.so: cannot be read"
