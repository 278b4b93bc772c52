"""What the driver takes where two answers lie close together."""

from __future__ import annotations

from typing import Any

import pytest
from made import entry, module

from fatbin.arch import Architecture, ComputeCapability
from fatbin.inventory import Module
from fatbin.judge.choice import Choice
from fatbin.judge.driver import Driver
from fatbin.judge.loader import choose
from fatbin.judge.serving import Certainty, sass_serves
from fatbin.kinds import Compression, EntryFlags, Place

LINUX, WINDOWS, MAC = EntryFlags.HOST_LINUX, EntryFlags.HOST_WINDOWS, EntryFlags.HOST_MAC


def chosen(made: Module, device: str, driver: str = "", **more: Any) -> Choice:  # noqa: ANN401
    return choose(
        made, ComputeCapability.parse(device), Driver.parse(driver) if driver else None, **more
    )


def container(*entries: Any) -> Module:  # noqa: ANN401
    return Module(place=Place.LOADABLE, form="container", wrapper=1, entries=entries)


@pytest.mark.parametrize(
    ("code", "toolkit", "has_compat", "wanted"),
    [
        ("sm_100f", "", False, Certainty.YES),
        ("sm_100f", "", True, Certainty.UNSURE),
        ("sm_100f", "12.9", False, Certainty.UNSURE),
        ("sm_100f", "13.0", False, Certainty.YES),
        ("sm_100", "", False, Certainty.UNSURE),
    ],
)
def test_family_code_without_a_mask(
    code: str, toolkit: str, *, has_compat: bool, wanted: Certainty
) -> None:
    serving = sass_serves(
        Architecture.parse(code), ComputeCapability(10, 3), toolkit=toolkit, has_compat=has_compat
    )
    assert serving.certainty is wanted


def test_family_code_comes_before_plain_and_device_code_before_both() -> None:
    assert chosen(module("sm_100", "sm_100f"), "10.0").entry == 1
    assert chosen(module("sm_100", "sm_100f", "sm_100a"), "10.0").entry == 2


@pytest.mark.parametrize("text", ["sm_80", "compute_80"])
@pytest.mark.parametrize("flags", [0, LINUX, WINDOWS, MAC, MAC | LINUX])
def test_the_host_that_an_entry_is_for_does_not_count(text: str, flags: int) -> None:
    assert chosen(module(text, flags=int(flags)), "8.0").serves


def test_doubt_is_no_more_than_doubt_where_the_ptx_beside_it_cannot_be_read() -> None:
    made = module("sm_120", "compute_120 8.8", toolkit="12.9")
    compiled = chosen(made, "12.1")
    assert (compiled.how, compiled.entry) == ("jit", 1)
    late = container(*made.entries[:1], entry("compute_120 9.9"))
    doubtful = chosen(late, "12.1", "580")
    assert (doubtful.how, doubtful.certainty, doubtful.entry) == ("native", Certainty.UNSURE, 0)


@pytest.mark.parametrize(
    ("sass", "ptx", "device", "wanted"),
    [
        ("sm_100", "compute_103 9.9", "10.3", Certainty.UNSURE),
        ("sm_100f", "compute_103f 9.9", "10.3", Certainty.UNSURE),
        ("sm_120", "compute_121 9.9", "12.1", Certainty.UNSURE),
        ("sm_100", "compute_103 9.0", "10.3", Certainty.YES),
        ("sm_100", "compute_100 9.9", "10.3", Certainty.YES),
        ("sm_103", "compute_103 9.9", "10.3", Certainty.YES),
        ("sm_86", "compute_89 9.9", "8.9", Certainty.YES),
    ],
)
def test_ptx_for_the_device_itself_that_cannot_be_compiled_makes_sass_of_its_family_doubtful(
    sass: str, ptx: str, device: str, wanted: Certainty
) -> None:
    choice = chosen(container(entry(sass, toolkit="13.0"), entry(ptx)), device, "580")
    assert (choice.how, choice.entry, choice.certainty) == ("native", 0, wanted)
    assert ("sass.nearer-ptx" in choice.because) == (wanted is Certainty.UNSURE)
    assert len(choice.because) == 1 + (wanted is Certainty.UNSURE)


def test_the_nearest_of_doubtful_code_is_taken() -> None:
    assert chosen(module("sm_80", "sm_86"), "8.7").entry == 1
    assert chosen(module("sm_86", "sm_80"), "8.7").entry == 0


def test_an_executable_image_misses_nothing() -> None:
    made = module("sm_80", unresolved=True, relocatable=False)
    assert chosen(made, "8.0").serves
    assert chosen(made._replace(entries=(entry("sm_80", unresolved=True),)), "8.0").code == 500


def test_the_first_of_equals_is_taken() -> None:
    assert chosen(module("sm_80", "sm_80"), "8.0").entry == 0
    assert chosen(module("compute_80 8.0", "compute_80 7.0"), "8.0").entry == 0


def test_what_fits_nothing_is_said_to_and_no_more() -> None:
    choice = chosen(module("sm_80"), "9.0")
    assert (choice.code, choice.because, choice.driver) == (209, ("container.nothing-fits",), 0)


def test_ptx_without_a_target_is_none() -> None:
    made = module("compute_80")
    bare = made._replace(form="ptx", entries=(made.entries[0]._replace(arch=None),))
    assert (chosen(bare, "8.0").code, chosen(bare, "8.0").serves) == (218, False)


# Groups, which older drivers pass over.


@pytest.mark.parametrize("text", ["sm_90", "compute_80"])
def test_images_of_groups_need_a_driver_that_sees_them(text: str) -> None:
    grouped = module(text, group=16)
    old = chosen(grouped, "9.0", "580")
    assert (old.code, old.driver, old.entry) == (209, 595, 0)
    assert old.because == ("driver.groups",)
    new = chosen(grouped, "9.0", "595")
    assert (new.serves, new.driver, new.certainty) == (True, 595, Certainty.LIKELY)


@pytest.mark.parametrize("text", ["sm_80", "compute_100", "lto_90"])
def test_a_newer_driver_is_no_help_where_nothing_in_the_group_fits(text: str) -> None:
    choice = chosen(module(text, group=16), "9.0", "580")
    assert (choice.code, choice.driver) == (209, 0)


def test_what_stands_beside_a_group_is_taken_by_drivers_that_do_not_see_it() -> None:
    made = container(entry("sm_90", group=16), entry("compute_80"))
    assert (chosen(made, "9.0", "580").entry, chosen(made, "9.0", "580").how) == (1, "jit")
    assert chosen(made, "9.0", "580").certainty is Certainty.YES


# The second chance of device-linked modules.

LINKED = module("sm_80", wrapper=2)


def pool(*texts: str, **more: Any) -> Module:  # noqa: ANN401
    return module(*texts, place="relocatable", **more)


def test_a_link_needs_the_newest_driver_of_its_parts() -> None:
    choice = chosen(LINKED, "9.0", pool=[pool("compute_80 8.8"), pool("compute_80 8.0")])
    assert (choice.how, choice.driver) == ("jit-link", 575)


def test_a_link_misses_what_its_parts_find_in_each_other() -> None:
    parts = [pool("compute_80", unresolved=True), pool("compute_80", kind="relocatable-ptx")]
    assert chosen(LINKED, "9.0", pool=parts).how == "jit-link"


def test_a_link_that_cannot_be_made_fails_late() -> None:
    choice = chosen(LINKED, "9.0", "580", pool=[pool("compute_80 9.9")])
    assert (choice.serves, choice.code, choice.late) == (False, 222, True)
    choice = chosen(LINKED, "9.0", pool=[pool("sm_80")])
    assert (choice.serves, choice.code, choice.late) == (False, 500, True)


def test_a_link_without_ptx_was_never_seen() -> None:
    choice = chosen(LINKED, "9.0", pool=[pool("sm_90")])
    assert (choice.how, choice.certainty) == ("jit-link", Certainty.UNSURE)


def test_a_link_is_as_sure_as_its_least_sure_part() -> None:
    parts = [pool("sm_87"), pool("compute_80")]
    choice = chosen(module("sm_75", wrapper=2), "8.8", pool=parts)
    assert choice.certainty is Certainty.LIKELY


def test_only_code_that_does_not_fit_is_linked() -> None:
    made = module("sm_90", wrapper=2, compression=Compression.ZSTD)
    assert chosen(made, "9.0", "535", pool=[pool("compute_90")]).code == 200


def test_compressed_ptx_needs_a_driver_that_reads_both() -> None:
    made = module("compute_80 7.0", compression=Compression.ZSTD)
    assert chosen(made, "8.0").driver == 550
