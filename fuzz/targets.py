"""The targets by name."""

from __future__ import annotations

from fuzz import binaries, documents, packages, seeds
from fuzz.mutate import mutate_codec, mutate_device, mutate_packed
from fuzz.mutate_text import mutate_json, mutate_words
from fuzz.target import Target

_ALL = (
    Target("container", "containers, entries, groups", binaries.container, seeds.containers, mutate_device),
    Target("codec", "LZ4, zstd, zlib payloads", binaries.codec, seeds.codecs, mutate_codec),
    Target("cubin", "device ELF images", binaries.cubin, seeds.cubins, mutate_device),
    Target("ptx", "PTX texts", binaries.ptx, seeds.texts, mutate_words),
    Target("host", "ELF, PE and COFF files", binaries.host, seeds.host_files, mutate_device),
    Target("archive", "static archives", binaries.archive, seeds.archives, mutate_device),
    Target("package", "zips, wheels, conda, tar", packages.package, seeds.packages, mutate_packed),
    Target("image", "container images", packages.image, seeds.images, mutate_packed, 1 << 18),
    Target("inventory", "inventories as JSON", documents.inventory, seeds.inventories, mutate_json),
    Target("policy", "policy files", documents.policy, seeds.policies, mutate_words, 1 << 13),
    Target("verdict", "verdicts as baselines", documents.verdict, seeds.verdicts, mutate_json),
    Target("log", "logs for diagnose", documents.log, seeds.logs, mutate_words),
)  # fmt: skip
TARGETS = {target.name: target for target in _ALL}
