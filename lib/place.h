/* The paths of files that were installed with the running program. A build folder has the same
 * layout as an installation, so all paths start from the program: bin/PROGRAM beside it, and
 * share/phased/FILE and lib/phased/FILE beside its folder. The caller frees the paths. */
#ifndef PHASED_LIB_PLACE_H
#define PHASED_LIB_PLACE_H

/* The running program itself; empty if it is unknown. */
char *place_self(void);

/* The path of another program of phased, which may not exist. */
char *place_program(const char *name);

/* The path of a data file, such as preflight.yaml: beside the program, or else in the folder where
 * the build will be installed. The file may not exist. */
char *place_data(const char *name);

/* The path of a program that only phased itself runs, such as the script of the sandbox. Is found
 * like a data file. */
char *place_helper(const char *name);

/* The path of a module, or of what builds one; ".": the folder of all modules. Is found like a data
 * file. */
char *place_library(const char *name);

#endif
