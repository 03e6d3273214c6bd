/* The list of GPUs in CUDA_VISIBLE_DEVICES: which GPUs its entries name. */
#ifndef PHASED_WORKER_GPU_LIST_H
#define PHASED_WORKER_GPU_LIST_H

#include <stdbool.h>

enum { GPU_LIST_NAME_SIZE = 96 };

/* Takes the next entry off `list`. An entry that is too long becomes empty, and names no GPU.
 * False: the list has ended. As in CUDA, a negative number ends it. */
bool gpu_list_next(const char **list, char ret_name[GPU_LIST_NAME_SIZE]);

/* Whether an entry names this GPU, by its number or by the beginning of its UUID. `uuid` is empty
 * if the driver does not tell it. */
bool gpu_list_names(const char *name, unsigned number, const char *uuid);

#endif
