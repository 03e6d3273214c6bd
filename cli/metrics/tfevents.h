/* The event files of TensorBoard.
 *
 * A file is a sequence of records (TFRecord). A record has the length of the data as 8 bytes, the
 * checksum of the length, the data, and the checksum of the data. All numbers are little-endian. A
 * checksum is a masked CRC-32C. The data is a message Event of protobuf with {wall_time, step}, and
 * one of: the version of the file, a session that starts, or a summary of {tag, value}.
 *
 * TensorBoard reads the files of a folder in the order of their names, and goes on reading a file
 * that grows. TensorBoard forgets what it has read of the folder when another session starts at
 * step 0. A new file starts a session. So the new file replaces the older files, also in a
 * TensorBoard that runs. But if the file that TensorBoard reads is removed, TensorBoard never goes
 * on to the next file. So the older files are emptied first, and removed an hour later.
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

/* Adds the beginning of a file. */
void tfevents_add_beginning(struct text *file, double time_s);

/* Adds an event for each step with new values. `columns` is an answer of metrics. `last` has the
 * last added step of each name: later steps are new. Sets the steps in `last`. */
void tfevents_add_rows(struct text *file, const json_t *columns, json_t *last);

/* Writes a new file into the folder. Makes the folder if needed. In the order of names, the new
 * file comes after the other files of phasectl in the folder. Then empties these other files. The
 * caller frees `ret_path`. */
int tfevents_replace(const char *folder, const struct text *file, char **ret_path,
                     struct error *err);

/* Adds to the end of a file. Returns -ENOENT if the file was replaced. */
int tfevents_append(const char *path, const struct text *more, struct error *err);

#endif
