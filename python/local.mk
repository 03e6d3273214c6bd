# python: for trainers; copied or put on PYTHONPATH by whoever wants it.
pythonlibdir = $(pkgdatadir)/python
dist_pythonlib_DATA = python/phased.py
EXTRA_DIST += python/README.md
