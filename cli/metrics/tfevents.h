/* The event files of TensorBoard.
 *
 * A file is a sequence of records (TFRecord). A record has the length of the data as 8 bytes, the
 * checksum of the length, the data, and the checksum of the data. All numbers are little-endian. A
 * checksum is a masked CRC-32C. The data is a message Event of protobuf with {wall_time, step}, and
 * one of: the version of the file, a session that starts, or a summary of {tag, value}.
 *
 * TensorBoard goes through the files of a folder in the order of their names, and goes on where a
 * file grows. TensorBoard forgets what it has read of the folder when another session starts at
 * step 0. A new file starts a session. So the new file replaces the files before it, also in a
 * TensorBoard that runs. But TensorBoard never goes on to the next file if the file that it reads
 * is removed. So the files before are emptied, and removed an hour later.
 *
 * These facts are from TensorBoard 2.22 (commit 70b76c9): compat/proto/event.proto and
 * summary.proto, compat/tensorflow_stub/pywrap_tensorflow.py,
 * backend/event_processing/directory_watcher.py and plugin_event_accumulator.py, data/server/run.rs
 * and reservoir.rs. */
#ifndef PHASED_CLI_METRICS_TFEVENTS_H
#define PHASED_CLI_METRICS_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;
struct text;

uint32_t tfevents_crc32c(const void *data, size_t size);

/* Adds a record with these bytes. */
void tfevents_add_record(struct text *file, const void *data, size_t size);

/* Adds what a file begins with. */
void tfevents_add_beginning(struct text *file, double time_s);

/* Adds an event for each step with values that are newer than `last` says: for each name the last
 * step that was added. `columns` is an answer of metrics. Sets the steps in `last`. */
void tfevents_add_rows(struct text *file, const json_t *columns, json_t *last);

/* Writes a new file into the folder, which is made. Its name comes after the names of the files of
 * phasectl there. Then empties these files. `ret_path` is the caller's to free(). */
int tfevents_replace(const char *folder, const struct text *file, char **ret_path,
                     struct error *err);

/* Adds to the end of a file. Returns -ENOENT if the file was replaced. */
int tfevents_append(const char *path, const struct text *more, struct error *err);

#endif
