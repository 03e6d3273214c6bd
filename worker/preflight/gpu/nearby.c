/* Reads sysfs, and asks the scheduler. */
#include "worker/preflight/gpu/nearby.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int nearby_read(const char *list, cpu_set_t *ret_set)
{
    CPU_ZERO(ret_set);
    for (const char *at = list;;) {
        char *end;
        if (!isdigit((unsigned char)*at))
            return 0;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        if (last < first || last >= CPU_SETSIZE)
            return 0;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, ret_set);
        if (*end == '\0' || *end == '\n')
            return CPU_COUNT(ret_set);
        if (*end != ',')
            return 0;
        at = end + 1;
    }
}

int nearby_go(const char *address)
{
    char path[128], list[1024], low[32];
    cpu_set_t set;
    size_t size = 0;
    /* CUDA writes the address in capitals, the kernel does not. */
    for (; address[size] && size + 1 < sizeof low; size++)
        low[size] = (char)tolower((unsigned char)address[size]);
    low[size] = '\0';
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", low);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(list, sizeof list, file) && nearby_read(list, &set) > 0;
    (void)fclose(file); /* it was only read */
    return is_read && sched_setaffinity(0, sizeof set, &set) == 0;
}
