"""On a machine with GPUs, and after one: what is there, what its driver says, what its logs say."""
