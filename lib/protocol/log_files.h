/* The names of a rank's logs. A log that is full is renamed, so a rank may have three files. */
#ifndef PHASED_LIB_PROTOCOL_LOG_FILES_H
#define PHASED_LIB_PROTOCOL_LOG_FILES_H

/* The oldest first. */
enum log_file { LOG_FIRST, LOG_PREVIOUS, LOG_NEWEST, LOG_FILES };

/* The path of a file in the folder `log` of a run. The caller frees it. */
char *log_file_path(const char *folder, long long rank, enum log_file file);

/* Finds the ranks that have a LOG_NEWEST, in ascending order. The caller frees the list, which is
 * NULL without ranks. Returns how many there are; -errno: the folder could not be read. */
int log_files_ranks(const char *folder, long long **ret_ranks);

#endif
