"""What a GPU and its driver make of device code; no byte of a file is read here."""
