"""Container images without running them: layers as one file system, read where they lie."""
