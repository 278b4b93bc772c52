"""What logs say when device code does not run: one row a symptom, with what it does not prove.

A row is found by plain text, never by a pattern that could take long: ``needles`` are looked for in
each line, letter case aside. Ids are stable.
"""

from __future__ import annotations

from fatbin.judge.facts.sources import SOURCES
from fatbin.node.diagnosis import Confidence, Symptom

__all__ = ["SYMPTOMS", "source_text"]


def source_text(source: str) -> str:
    """Return what a source stands for: the text of a key, or the address itself."""
    return SOURCES.get(source, source)


_CHECK = "fatbin check LIBRARY --gpu GPU"
_CHECK_DRIVER = "fatbin check LIBRARY --gpu GPU --driver DRIVER"
_XID = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
_TORCH_VARIABLES = "https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html"
_OTHER_RANKS = "fatbin diagnose LOG_OF_RANK_0 LOG_OF_RANK_1"

SYMPTOMS: tuple[Symptom, ...] = (
    # errors that name the device code
    Symptom(
        "E209",
        "no kernel image is available (error 209)",
        (
            "no kernel image is available",
            "cudaerrornokernelimagefordevice",
            "cuda_error_no_binary_for_gpu",
        ),
        Confidence.LIKELY,
        "a container of device code holds nothing for this GPU: neither machine code that fits nor "
        "PTX that can be compiled",
        "which library: the error belongs to whichever module was loaded last, and NCCL 2.27.7 to "
        "2.28.3 leave it set on GPUs that they support",
        _CHECK,
        ("h200", "cuda.h", "https://github.com/pytorch/pytorch/issues/164402"),
    ),
    Symptom(
        "E500",
        "named symbol not found (error 500)",
        ("named symbol not found", "cudaerrorsymbolnotfound"),
        Confidence.LIKELY,
        "a device-linked library such as NCCL has no kernel of this name for the GPU: what error "
        "209 is for other libraries",
        "the architecture alone: a relocatable image with a missing function says the same, and so "
        "does a program that asks for a name that does not exist",
        _CHECK,
        (
            "h200",
            "https://github.com/NVIDIA/nccl/issues/1372",
            "https://github.com/NVIDIA/nccl/issues/1528",
            "https://github.com/pytorch/pytorch/issues/152077",
        ),
    ),
    Symptom(
        "E98",
        "invalid device function (error 98)",
        ("invalid device function", "cudaerrorinvaliddevicefunction"),
        Confidence.LIKELY,
        "the host part knows a kernel of which no image fits the GPU: built for others",
        "that code is missing: a kernel handle of another copy of the same library says it too",
        _CHECK,
        ("cuda.h", "https://github.com/NVIDIA/nccl/issues/444"),
    ),
    Symptom(
        "TORCH-ARCH",
        "torch: the GPU is not compatible with the installation",
        ("is not compatible with the current pytorch installation",),
        Confidence.LIKELY,
        "torch was built for a list of architectures of which none serves this GPU by its rule",
        "that nothing runs: the rule drops suffixes and does not look at PTX; nor that other "
        "libraries of the environment lack the GPU too",
        "fatbin check TORCH_LIB/libtorch_cuda.so --gpu GPU",
        ("pytorch", "https://github.com/pytorch/pytorch/issues/167244"),
    ),
    Symptom(
        "NCCL-SMEM",
        "NCCL wants more shared memory than the GPU has",
        ("exceeds device/fn maxsharedmem",),
        Confidence.LIKELY,
        "NCCL 2.25.1 on GPUs of compute capability 12.0: collectives fail, also if built by CUDA "
        "12.8; 2.26 mends it",
        "anything about other versions: read the version line",
        "fatbin explain FB301",
        ("NVIDIA/nccl-tests#287", "NVIDIA/nccl-tests#291", "NVIDIA/nccl#1637"),
        certain=False,
    ),
    Symptom(
        "NCCL-KNOWN",
        "an NCCL that is known to fail on the GPU, or built without code for it",
        (),
        Confidence.LIKELY,
        "the version line says which NCCL runs and which CUDA built it; fatbin knows what NVIDIA "
        "builds into each, and which fail where",
        "what a build of your own holds: check the file",
        "fatbin check LIBNCCL --gpu GPU",
        ("nccl-makefile", "nccl-releases"),
    ),
    Symptom(
        "LIBRARY",
        "a library that you named fails on the GPU",
        (),
        Confidence.LIKELY,
        "the device code of the file does not run on the GPU, whatever the log says",
        "that the process which wrote the log loaded this file",
        _CHECK_DRIVER,
        ("h200", "guide"),
    ),
    # images that the driver refuses
    Symptom(
        "E200",
        "device kernel image is invalid (error 200)",
        (
            "device kernel image is invalid",
            "cudaerrorinvalidkernelimage",
            "cuda_error_invalid_image",
        ),
        Confidence.POSSIBLE,
        "the driver does not understand the container: zstd-compressed code on a driver before "
        "550, or a damaged file",
        "that the architecture is missing",
        _CHECK_DRIVER + " --verify",
        ("ollama/ollama#12258", "ml-explore/mlx#2407"),
        certain=False,
    ),
    Symptom(
        "E222",
        "PTX of a toolkit that is too new for the driver (error 222)",
        (
            "unsupported toolchain",
            "cudaerrorunsupportedptxversion",
            "cuda_error_unsupported_ptx_version",
            "ptxas fatal   : unsupported .version",
        ),
        Confidence.LIKELY,
        "the GPU has no machine code in the module, and the PTX that is to be compiled is of a "
        "newer ISA than the driver reads",
        "that the whole library lacks the GPU: another module may have its code",
        _CHECK_DRIVER,
        ("h200", "ptxas", "release-notes"),
    ),
    Symptom(
        "E218",
        "compiling PTX failed (error 218)",
        ("ptx jit compilation failed", "cudaerrorinvalidptx", "cuda_error_invalid_ptx"),
        Confidence.POSSIBLE,
        "the driver tried to compile PTX and could not: a target above the GPU, or bad PTX",
        "that the driver is too old: that would be error 222",
        _CHECK_DRIVER,
        ("h200",),
    ),
    Symptom(
        "E223",
        "compilation of PTX is switched off (error 223)",
        (
            "jit compilation was disabled",
            "jit compilation disabled",
            "cudaerrorjitcompilationdisabled",
            "cuda_error_jit_compilation_disabled",
        ),
        Confidence.LIKELY,
        "only PTX serves the GPU, and CUDA_DISABLE_PTX_JIT is set",
        "that the library is at fault: without the variable it may run",
        _CHECK_DRIVER,
        ("h200", "guide"),
    ),
    Symptom(
        "E221",
        "the driver's PTX compiler is missing (error 221)",
        (
            "ptx jit compiler library not found",
            "cudaerrorjitcompilernotfound",
            "cuda_error_jit_compiler_not_found",
        ),
        Confidence.LIKELY,
        "PTX must be compiled and libnvidia-ptxjitcompiler is not there, as in containers without "
        "the driver capability compute",
        "that PTX is all there is elsewhere: machine code for the GPU would need no compiler",
        _CHECK,
        ("cuda.h",),
    ),
    # the driver and the machine
    Symptom(
        "E35",
        "the driver is too old for the CUDA runtime (error 35)",
        (
            "cuda driver version is insufficient for cuda runtime version",
            "cudaerrorinsufficientdriver",
        ),
        Confidence.LIKELY,
        "the program's CUDA runtime is of a higher major version than the driver; no device code "
        "was looked at",
        "anything about architectures; it is also said where no driver is visible in a container",
        _CHECK_DRIVER,
        ("minor-versions", "cuda.h"),
    ),
    Symptom(
        "E100",
        "no CUDA-capable device (error 100)",
        (
            "no cuda-capable device is detected",
            "cudaerrornodevice",
            "cuda_error_no_device",
            "only supported with gpus, no gpus found",
        ),
        Confidence.POSSIBLE,
        "no GPU is visible: none was given to the container, CUDA_VISIBLE_DEVICES hides it, or the "
        "driver branch no longer drives it",
        "anything about device code",
        "fatbin gpus GPU",
        ("deprecation", "cuda.h"),
    ),
    Symptom(
        "E802",
        "the system is not yet initialised (error 802)",
        ("system not yet initialized", "cudaerrorsystemnotready", "cuda_error_system_not_ready"),
        Confidence.POSSIBLE,
        "on machines with NVSwitch the fabric manager is not running, or not of the driver's "
        "version",
        "anything about device code",
        "fatbin gpus GPU",
        ("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide",),
    ),
    Symptom(
        "E803",
        "libcuda and the kernel's driver do not belong together (error 803)",
        (
            "unsupported display driver / cuda driver combination",
            "cudaerrorsystemdrivermismatch",
            "cuda_error_system_driver_mismatch",
        ),
        Confidence.LIKELY,
        "libcuda and the kernel's driver are of different versions: an update without a restart, "
        "or a libcuda inside the image before the machine's own",
        "anything about device code",
        "fatbin gpus GPU",
        ("cuda.h",),
    ),
    Symptom(
        "E804",
        "a compatibility libcuda that the GPU may not use (error 804)",
        (
            "forward compatibility was attempted on non supported hw",
            "cudaerrorcompatnotsupportedondevice",
            "cuda_error_compat_not_supported_on_device",
        ),
        Confidence.LIKELY,
        "the image's compatibility libcuda was found, and this GPU is not one of those for which "
        "it is made",
        "anything about device code: without the compatibility library the driver may do",
        _CHECK_DRIVER,
        ("cuda.h", "https://docs.nvidia.com/deploy/cuda-compatibility/"),
    ),
    # NCCL that stays silent
    Symptom(
        "NCCL-SILENT",
        "NCCL stays silent after its first lines",
        (),
        Confidence.POSSIBLE,
        "initialisation began and did not end: the driver may be linking and compiling PTX for "
        "minutes (one busy core, a growing compute cache), or another rank never came",
        "a missing architecture: a network that does not answer looks the same, and a log may "
        "simply have been cut",
        "fatbin check LIBNCCL --gpu GPU",
        ("h200", "pytorch/pytorch#152780"),
        certain=False,
    ),
    # what follows from a failure, and names none
    Symptom(
        "NCCL-CUDA",
        "NCCL: unhandled cuda error",
        ("unhandled cuda error", "ncclunhandledcudaerror"),
        Confidence.EFFECT,
        "a CUDA call inside NCCL failed; which error stands in NCCL's own warning nearby",
        "any cause: without NCCL_DEBUG=WARN or INFO the CUDA error is not in the log",
        "fatbin check LIBNCCL --gpu GPU",
        (
            "https://github.com/NVIDIA/nccl/issues/1528",
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        ),
    ),
    Symptom(
        "NCCL-REMOTE",
        "NCCL: another rank has gone",
        ("remote process exited or there was a network error", "ncclremoteerror"),
        Confidence.EFFECT,
        "a peer closed its connection, mostly because it failed first",
        "anything about this rank: read the log of the one that left",
        _OTHER_RANKS,
        ("https://github.com/OpenRLHF/OpenRLHF/issues/621",),
        certain=False,
    ),
    Symptom(
        "WATCHDOG",
        "torch's watchdog: a collective took too long",
        (
            "watchdog caught collective operation timeout",
            "processgroupnccl's watchdog got stuck",
            "heartbeat monitor timed out",
        ),
        Confidence.EFFECT,
        "this rank waited for others until the time limit; it is often a healthy one",
        "any cause: slow input, a rank that left, a network and a missing kernel elsewhere all "
        "look like this",
        _OTHER_RANKS,
        ("h200", _TORCH_VARIABLES, "https://github.com/pytorch/pytorch/issues/118369"),
    ),
    Symptom(
        "E700",
        "an illegal memory access (error 700)",
        (
            "an illegal memory access was encountered",
            "cudaerrorillegaladdress",
            "cuda_error_illegal_address",
        ),
        Confidence.EFFECT,
        "a kernel ran and touched memory that is not its own: a bug, as a rule",
        "a wrong architecture: by itself it is no sign of one. NCCL built by CUDA before 12.8 on "
        "12.x is the exception, and only its version says so",
        "fatbin explain FB301",
        ("NVIDIA/nccl#2418", "NVIDIA/nccl#1852", "pytorch/pytorch#152780"),
    ),
    Symptom(
        "XID13",
        "Xid 13: exception of a kernel",
        (),
        Confidence.EFFECT,
        "the kernel log's side of a kernel that failed, such as by error 700",
        "a wrong architecture; a fault of the hardware shows if it stays with one GPU",
        "fatbin explain FB301",
        (_XID,),
    ),
    Symptom(
        "XID31",
        "Xid 31: memory fault of a kernel",
        (),
        Confidence.EFFECT,
        "the kernel log's side of an address that is not mapped, such as error 700",
        "a wrong architecture; a fault of the hardware shows if it stays with one GPU",
        "fatbin explain FB301",
        (_XID, "https://github.com/NVIDIA/NVSentinel/issues/271"),
    ),
    Symptom(
        "XID43",
        "Xid 43: a program's channel was reset",
        (),
        Confidence.EFFECT,
        "the driver stopped the work of one program after a fault of its own",
        "a fault of the GPU, nor a wrong architecture",
        "fatbin explain FB301",
        (_XID,),
    ),
    Symptom(
        "XID",
        "another Xid",
        (),
        Confidence.EFFECT,
        "the driver reports an event; NVIDIA's catalogue says what the number means",
        "anything about device code",
        "fatbin gpus GPU",
        (_XID,),
    ),
    Symptom(
        "RAY",
        "Ray: a worker died",
        (
            "worker exit type: system_error",
            "a worker died or was killed while executing",
            "the actor is dead because its worker process has died",
            "the actor died unexpectedly before finishing this task",
            "workercrashederror",
        ),
        Confidence.EFFECT,
        "the process of a worker ended; why stands in that worker's own log",
        "any cause: lack of memory, a crash and a stop all look like this",
        _OTHER_RANKS,
        ("https://github.com/vllm-project/vllm/issues/15687",),
    ),
)  # fmt: skip
"""One row a symptom; of two in a log the earlier row is told first."""
