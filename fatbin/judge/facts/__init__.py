"""What is known of GPUs, toolkits, drivers and libraries: frozen rows, each with its sources."""
