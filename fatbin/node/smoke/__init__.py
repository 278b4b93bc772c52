"""NCCL tried for real: a small job of one process a GPU, watched from outside."""
