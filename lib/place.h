/* Where the files are that were installed with the running program. A build folder looks like an
 * installation, so all of it is found from the program itself: bin/PROGRAM beside it, and
 * share/phased/FILE beside that folder. The paths are the caller's to free(). */
#ifndef PHASED_LIB_PLACE_H
#define PHASED_LIB_PLACE_H

/* The folder of the running program; "." where that is not known. */
char *place_folder(void);

/* Another of the programs; it need not be there. */
char *place_program(const char *name);

/* A file of data, such as preflight.yaml: beside the program, else where the build was told that it
 * will be installed. It need not be there. */
char *place_data(const char *name);

#endif
