"""Where device code lies: host formats, archives, the embedded search, and the scanner."""
