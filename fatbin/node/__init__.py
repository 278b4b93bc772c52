"""On a machine with GPUs, and after one: what is there, what it does, what its logs say."""
