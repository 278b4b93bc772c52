"""What device code is, byte by byte: layouts, containers, codecs, images, and the builder."""
