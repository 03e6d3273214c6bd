/* What the daemon says: lines with the time before them, on standard error. Only the loop and main
 * log; code below them returns its errors. */
#ifndef PHASED_DAEMON_LOOP_LOG_H
#define PHASED_DAEMON_LOOP_LOG_H

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
