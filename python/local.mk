# python: for trainers. Users copy the file, or put it on PYTHONPATH.
pythonlibdir = $(pkgdatadir)/python
dist_pythonlib_DATA = python/phased.py
EXTRA_DIST += python/README.md
