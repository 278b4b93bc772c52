"""What device code is, byte by byte: layouts, containers, payload codecs, images, and the builder."""
