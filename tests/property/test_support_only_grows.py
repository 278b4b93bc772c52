"""Laws of judging: more code never serves less, order never matters, a union serves what its parts do.

One exception is the driver's own: PTX is chosen before its ISA version is looked at, so a newer PTX
can take the place of one that the driver reads. The laws hold for drivers that read everything.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from made import entry, inventory, library, module

from fatbin.arch import ComputeCapability
from fatbin.inventory import Entry, Library, Module
from fatbin.judge.check import check
from fatbin.judge.choice import Choice, How
from fatbin.judge.facts.architectures import ARCHITECTURES
from fatbin.judge.loader import choose
from fatbin.judge.serving import Certainty
from fatbin.kinds import Compression, Place

NUMBERS = sorted({row.sm for row in ARCHITECTURES} | {130, 131})
DEVICES = st.sampled_from([ComputeCapability.of_sm(number) for number in NUMBERS])
RANK = {Certainty.NO: 0, Certainty.UNSURE: 1, Certainty.LIKELY: 2, Certainty.YES: 3}

entries = st.builds(
    lambda number, suffix, prefix, isa, compression, mask, toolkit: entry(
        f"{prefix}_{number}{suffix}",
        isa_version=isa if prefix == "compute" else "",
        compression=compression,
        fastpath_finalize=mask if prefix == "sm" else None,
        toolkit=toolkit if prefix == "sm" else "",
    ),
    st.sampled_from(NUMBERS),
    st.sampled_from(["", "", "", "a", "f"]),
    st.sampled_from(["sm", "sm", "compute", "lto"]),
    st.sampled_from(["6.0", "8.2", "9.0", "9.5"]),
    st.sampled_from(list(Compression)),
    st.sampled_from([None, None, 0, 0x09, 0x50]),
    st.sampled_from(["", "12.9", "13.0"]),
)
modules = st.builds(
    lambda found, wrapper: Module(
        place=Place.LOADABLE, form="container", wrapper=wrapper, entries=tuple(found)
    ),
    st.lists(entries, max_size=6),
    st.sampled_from([0, 1, 2]),
)
libraries = st.builds(lambda found: library(*found), st.lists(modules, max_size=6))


def support(choice: Choice) -> tuple[int, bool]:
    """Return how much a choice is worth: how sure it is to run at all."""
    if not choice.serves:
        return 0, False
    return RANK[choice.certainty], True


@given(modules, entries, DEVICES)
def test_an_entry_more_never_serves_less(
    before: Module, more: Entry, device: ComputeCapability
) -> None:
    after = before._replace(entries=(*before.entries, more))
    assert support(choose(after, device)) >= support(choose(before, device))


@given(modules, st.randoms(use_true_random=False), DEVICES)
def test_order_of_entries_does_not_matter(
    one: Module, random: st.DataObject, device: ComputeCapability
) -> None:
    shuffled = list(one.entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = choose(one, device), choose(one._replace(entries=tuple(shuffled)), device)
    assert first._replace(entry=-1, because=(), driver=0) == second._replace(
        entry=-1, because=(), driver=0
    )
    if first.entry >= 0:
        assert one.entries[first.entry].arch == shuffled[second.entry].arch


@given(libraries, st.randoms(use_true_random=False), DEVICES)
def test_order_of_modules_does_not_matter(
    one: Library, random: st.DataObject, device: ComputeCapability
) -> None:
    shuffled = list(one.modules)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    gpu = [device]
    first = check(inventory(one), gpus=gpu)
    second = check(inventory(one._replace(modules=tuple(shuffled))), gpus=gpu)
    assert first.outcome == second.outcome
    assert first.libraries[0].answers == second.libraries[0].answers
    assert {(f.code, f.severity) for f in first.findings} == {
        (f.code, f.severity) for f in second.findings
    }


@given(libraries, libraries, DEVICES)
def test_a_union_serves_with_the_modules_of_both(
    one: Library, other: Library, device: ComputeCapability
) -> None:
    """Modules do not help each other: counts add up, and none is lost."""
    gpu = [device]
    parts = [
        check(inventory(lib), gpus=gpu).libraries[0].answers[0].coverage for lib in (one, other)
    ]
    both = library(*one.modules, *other.modules)
    whole = check(inventory(both), gpus=gpu).libraries[0].answers[0].coverage
    for field in whole._fields:
        if field != "best":
            assert getattr(whole, field) == sum(getattr(part, field) for part in parts), field
    assert whole.best >= max(part.best for part in parts)


@given(libraries, st.lists(DEVICES, min_size=1, max_size=4, unique=True))
def test_the_worst_gpu_decides(one: Library, devices: list[ComputeCapability]) -> None:
    together = check(inventory(one), gpus=devices)
    alone = [check(inventory(one), gpus=[device]) for device in devices]
    order = ["NOTHING", "PASS", "WARN", "FAIL"]
    assert str(together.outcome) == max((str(v.outcome) for v in alone), key=order.index)
    assert [a.outcome for a in together.libraries[0].answers] == [
        v.libraries[0].answers[0].outcome for v in alone
    ]


@given(libraries, DEVICES)
def test_counts_add_up(one: Library, device: ComputeCapability) -> None:
    answer = check(inventory(one), gpus=[device]).libraries[0].answers[0]
    counts = answer.coverage
    parts = (
        counts.native, counts.jit, counts.jit_link, counts.likely, counts.unsure,
        counts.specialised, counts.holes, counts.newer_only, counts.refused,
    )  # fmt: skip
    assert counts.modules == sum(parts)
    assert counts.modules + counts.empty + counts.unjudged == len(one.modules)
    assert counts.serving <= counts.modules
    if counts.modules and not counts.serving:
        assert str(answer.outcome) == "FAIL"
    if not counts.modules:
        assert str(answer.outcome) == "NOTHING"


@given(modules, DEVICES)
def test_every_choice_says_why(one: Module, device: ComputeCapability) -> None:
    choice = choose(one, device)
    assert choice.because
    assert (choice.how is How.NONE) == (choice.code != 0)
    assert choice.serves == (choice.code == 0)


def test_the_exception_is_real() -> None:
    """A newer PTX beside an older one takes it away from a driver that cannot read it."""
    from fatbin.judge.driver import Driver

    old = module("compute_80 7.0")
    both = module("compute_80 7.0", "compute_90 9.5")
    device, driver = ComputeCapability(9, 0), Driver.parse("580")
    assert choose(old, device, driver).code == 0
    assert choose(both, device, driver).code == 222
