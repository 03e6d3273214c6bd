# cli/top: the live view. Only screen.c needs ncurses. Unit tests link the files that know no
# terminal.
noinst_LIBRARIES += cli/top/libtop.a
cli_top_libtop_a_SOURCES = \
	cli/top/content.c cli/top/content.h \
	cli/top/draw.c cli/top/draw.h \
	cli/top/grid.c cli/top/grid.h \
	cli/top/keys.c cli/top/keys.h \
	cli/top/log.c cli/top/log.h \
	cli/top/model.c cli/top/model.h \
	cli/top/panes.h \
	cli/top/paths.c cli/top/paths.h \
	cli/top/phase.c \
	cli/top/phases.c \
	cli/top/request.h \
	cli/top/run.c \
	cli/top/scroll.c cli/top/scroll.h \
	cli/top/spark.c cli/top/spark.h \
	cli/top/wants.c cli/top/wants.h \
	cli/top/workflows.c

bin_phasectl_SOURCES += cli/top/verb.c cli/top/top.h
if HAVE_NCURSES
bin_phasectl_SOURCES += cli/top/fetch.c cli/top/fetch.h cli/top/screen.c cli/top/screen.h \
	cli/top/top.c
else
bin_phasectl_SOURCES += cli/top/absent.c
endif
