"""This machine: its GPUs and driver, and what the driver says to the device code of a file."""
