"""Fuzzing: every reader of fatbin fed with damaged input; see CONTRIBUTING.md.

One target is one function from bytes to nothing. It may raise :class:`fatbin.FatbinError`; anything
else, a law that does not hold, too much time or too much memory is a find. The same functions run
under atheris, which follows coverage (``python -m fuzz``), and in the ordinary test suite, which
replays every find of before and draws a few inputs.
"""
