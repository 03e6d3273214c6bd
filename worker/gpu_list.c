/* Reads the list of GPUs in CUDA_VISIBLE_DEVICES. */
#include "worker/gpu_list.h"

#include "lib/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gpu_list_next(const char **list, char ret_name[GPU_LIST_NAME_SIZE])
{
    const char *start = *list + strspn(*list, " ");
    if (!*start || *start == '-')
        return false;
    size_t size = strcspn(start, ",");
    int kept = (int)(size < GPU_LIST_NAME_SIZE ? size : 0);
    (void)snprintf(ret_name, GPU_LIST_NAME_SIZE, "%.*s", kept, start);
    *list = start + size + (start[size] == ',');
    return true;
}

bool gpu_list_names(const char *name, unsigned number, const char *uuid)
{
    char *end;
    if (text_starts(name, "GPU-"))
        return name[strlen("GPU-")] && text_starts(uuid, name);
    return isdigit((unsigned char)*name) && strtoul(name, &end, 10) == number && !*end;
}
