/* Reads the kernel's log, the space for scratch files and the state of the clock. */
#include "worker/preflight/host.h"

#include "lib/clock.h"
#include "lib/text.h"
#include "worker/lines.h"
#include "worker/preflight/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

enum { HOST_RECORD_MAX = 8192, HOST_RECORDS_MAX = 200000 };

/* Removes an earlier XID of the same kind on the same GPU. The driver prints a kind many times: for
 * each channel of a GPU, or for each fault of a program. */
static void host_forget_xid(struct facts *facts, unsigned number, const char *device)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < facts->xid_count; i++)
        if (facts->xids[i].number != number || !text_equal(facts->xids[i].device, device))
            facts->xids[kept++] = facts->xids[i];
    facts->xid_count = kept;
}

/* Adds the XID of one record of /dev/kmsg, "priority,sequence,microseconds,...;message", if the
 * record has one. */
static void host_add_kernel_record(void *context, const char *record, size_t size)
{
    struct facts *facts = context;
    unsigned long long now_us = (unsigned long long)clock_steady_ms() * 1000, record_us;
    (void)size;
    const char *message = strchr(record, ';');
    const char *xid = message ? strstr(message, "NVRM: Xid (") : NULL;
    if (!xid || sscanf(record, "%*u,%*u,%llu", &record_us) != 1)
        return;
    char device[32];
    unsigned number;
    if (sscanf(xid, "NVRM: Xid (%31[^)]): %u", device, &number) != 2)
        return;
    host_forget_xid(facts, number, device);
    /* If there are too many, the last are kept, because a run would meet these. */
    if (facts->xid_count == FACTS_XIDS_MAX) {
        memmove(facts->xids, facts->xids + 1, sizeof facts->xids - sizeof *facts->xids);
        facts->xid_count--;
    }
    facts->xids[facts->xid_count].number = number;
    facts->xids[facts->xid_count].age_s =
        now_us > record_us ? (double)(now_us - record_us) / 1e6 : 0;
    memcpy(facts->xids[facts->xid_count].device, device, sizeof device);
    unsigned domain, bus, slot;
    struct fact place = {0};
    if (sscanf(device, "PCI:%x:%x:%x", &domain, &bus, &slot) == 3)
        place = (struct fact){.is_known = true, .value = fact_place(domain, bus, slot)};
    facts->xids[facts->xid_count].place = place;
    facts->xid_count++;
}

/* Each read of the device gives one record. Each read of a file gives as many lines as fit. */
static void host_read_records(int log, struct lines *lines, struct facts *facts)
{
    char buffer[HOST_RECORD_MAX];
    for (int i = 0; i < HOST_RECORDS_MAX; i++) {
        ssize_t size = read(log, buffer, sizeof buffer);
        if (size < 0 &&
            errno == EPIPE) /* records were overwritten; the next read gives later ones */
            continue;
        if (size < 0 && errno != EAGAIN)
            facts->is_kernel_log_read = false;
        if (size <= 0)
            return;
        lines_feed(lines, buffer, (size_t)size, host_add_kernel_record, facts);
    }
}

void host_read_kernel_log(const char *path, struct facts *facts)
{
    struct lines lines = {.size_max = HOST_RECORD_MAX};
    int log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    facts->is_kernel_log_read = log >= 0;
    if (log >= 0)
        host_read_records(log, &lines, facts);
    if (!facts->is_kernel_log_read)
        (void)snprintf(facts->kernel_log_trouble, sizeof facts->kernel_log_trouble, "%.40s: %.50s",
                       path, strerror(errno));
    if (log >= 0)
        close(log);
    lines_fini(&lines);
}

void host_read_scratch(const char *path, struct facts *facts)
{
    struct statvfs space;
    (void)snprintf(facts->scratch_path, sizeof facts->scratch_path, "%.*s",
                   (int)text_fit(path, sizeof facts->scratch_path - 1), path);
    if (statvfs(path, &space) < 0 || access(path, W_OK) < 0) {
        (void)snprintf(facts->scratch_trouble, sizeof facts->scratch_trouble, "%.90s",
                       strerror(errno));
        return;
    }
    facts->scratch_free_mib.is_known = true;
    facts->scratch_free_mib.value =
        (uint64_t)space.f_bavail * (uint64_t)space.f_frsize / (1024 * 1024);
}

void host_read_clock(struct facts *facts)
{
    struct timex clock = {0};
    int state = adjtimex(&clock);
    if (state < 0 || state == TIME_ERROR || clock.status & STA_UNSYNC)
        return;
    facts->clock_error_us.is_known = true;
    facts->clock_error_us.value = (uint64_t)(clock.maxerror < 0 ? 0 : clock.maxerror);
}
