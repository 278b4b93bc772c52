"""Short logs written for these tests: one a symptom, and logs of runs that went well."""

from __future__ import annotations

HOST = "trainer-0:4101:4101 [0] NCCL INFO"
START = f"""\
{HOST} Bootstrap: Using eth0:10.1.0.7<0>
{HOST} cudaDriverVersion 13000
{HOST} NCCL version 2.27.5+cuda12.9
{HOST} Comm config Blocking set to 1
"""
WENT_ON = f"""\
{HOST} NET/Plugin: Could not find: libnccl-net.so
{HOST} Using network Socket
{HOST} ncclCommInitRankConfig comm 0x55d0c8 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init START
{HOST} ncclCommInitRankConfig comm 0x55d0c8 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init COMPLETE
"""

SYMPTOMS: dict[str, str] = {
    "E209": "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    "E500": "gpu7:88:91 [1] enqueue.cc:42 NCCL WARN Cuda failure 'named symbol not found'\n",
    "E98": "gpu7:88:91 [1] enqueue.cc:51 NCCL WARN Cuda failure 'invalid device function'\n",
    "TORCH-ARCH": "UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible "
    "with the current PyTorch installation.\n",
    "NCCL-SMEM": "gpu7:88:91 [0] NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856\n",
    "E200": "torch.AcceleratorError: CUDA error: device kernel image is invalid\n",
    "E222": "CUDA error: the provided PTX was compiled with an unsupported toolchain.\n",
    "E218": "cuModuleLoadData failed: a PTX JIT compilation failed\n",
    "E223": "CUDA error: PTX JIT compilation was disabled\n",
    "E221": "RuntimeError: CUDA error: PTX JIT compiler library not found\n",
    "E35": "CUDA driver version is insufficient for CUDA runtime version\n",
    "E100": "RuntimeError: CUDA error: no CUDA-capable device is detected\n",
    "E802": "Unexpected error from cudaGetDeviceCount(): Error 802: system not yet initialized\n",
    "E803": "Error 803: system has unsupported display driver / cuda driver combination\n",
    "E804": "Error 804: forward compatibility was attempted on non supported HW\n",
    "NCCL-SILENT": START,
    "NCCL-CUDA": "torch.distributed.DistBackendError: NCCL error: unhandled cuda error (run with "
    "NCCL_DEBUG=INFO for details)\n",
    "NCCL-REMOTE": "ncclRemoteError: A call failed possibly due to a network error\n",
    "WATCHDOG": "[rank0]:[E1129 10:20:05.0831 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE) ran for 600013 milliseconds\n",
    "E700": "CUDA error: an illegal memory access was encountered\n",
    "XID13": "[93297.027938] NVRM: Xid (PCI:0000:43:00): 13, pid=411, Graphics Exception: ESR 0x1\n",
    "XID31": "[93298.027938] NVRM: Xid (PCI:0000:43:00): 31, pid=411, Ch 00000008, MMU Fault\n",
    "XID43": "[93299.027938] NVRM: Xid (PCI:0000:43:00): 43, pid=411, Ch 00000010\n",
    "XID": "[93300.027938] NVRM: Xid (PCI:0000:43:00): 79, GPU has fallen off the bus\n",
    "RAY": "(raylet) A worker died or was killed while executing a task by an unexpected system "
    "error. Worker exit type: SYSTEM_ERROR\n",
}
"""By the row that each must show, and no other."""

HEALTHY: dict[str, str] = {
    "nothing": "",
    "training": "".join(f"epoch {n} loss {1 / n:.4f} lr 0.001\n" for n in range(1, 50)),
    "nccl": START + WENT_ON + "step 1 loss 2.31\nstep 2 loss 2.17\n",
    "nccl, version only": "NCCL version 2.27.5+cuda12.9\nstep 1 loss 2.31\n",
    "nccl, cut within seconds": "2026-01-10 08:00:00 start\n"
    + START
    + "2026-01-10 08:00:02 next\n",
    "kernel": "[    4.201337] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed Aug 27\n"
    "[    4.300000] nvidia-uvm: Loaded the UVM driver, major device number 508.\n",
    "ray": "(TrainActor pid=311) loading weights\n(TrainActor pid=312) loading weights [repeated 7x]\n",
    "talk of limits": "set TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=60; watchdog on; memory 71/80 GB\n",
    "smi": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n| Driver Version: 570.124.06  CUDA Version: 12.8 |\n",
}
