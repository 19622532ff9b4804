"""The default method of :class:`SpectralMirror`."""
