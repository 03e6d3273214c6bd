/* Writes the GPUs as gres.conf has them. */
#include "worker/preflight/gres.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/preflight/facts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* --- The type --------------------------------------------------------------------------------- */

static bool gres_is_one_of(const char *word, size_t size, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == size && strncasecmp(word, *words, size) == 0)
            return true;
    return false;
}

/* Whether the word alone names a model, such as H100, L40S or A6000. */
static bool gres_is_model(const char *word, size_t size)
{
    size_t letters = 0;
    while (letters < size && isalpha((unsigned char)word[letters]))
        letters++;
    return (letters == 1 || letters == 2) && letters < size &&
           isdigit((unsigned char)word[letters]);
}

static void gres_add_word(char type[GRES_TYPE_SIZE], const char *word, size_t size)
{
    size_t end = strlen(type);
    for (size_t i = 0; i < size && end < GRES_TYPE_SIZE - 1; i++)
        if (isalnum((unsigned char)word[i]))
            type[end++] = (char)tolower((unsigned char)word[i]);
    type[end] = '\0';
}

void gres_type(const char *name, char ret_type[GRES_TYPE_SIZE])
{
    static const char separators[] = " -";
    static const char *const brands[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", NULL};
    static const char *const suffixes[] = {"Ti", "SUPER", "Ada", NULL};
    bool has_number = false;
    ret_type[0] = '\0';
    for (const char *word = name + strspn(name, separators); *word;) {
        size_t size = strcspn(word, separators);
        if (gres_is_model(word, size)) {
            ret_type[0] = '\0';
            gres_add_word(ret_type, word, size);
            return;
        }
        /* RTX 4070 Ti: the words up to the number, and its suffixes. */
        if (has_number && !gres_is_one_of(word, size, suffixes))
            return;
        if (!gres_is_one_of(word, size, brands))
            gres_add_word(ret_type, word, size);
        has_number = has_number || isdigit((unsigned char)word[0]);
        word += size;
        word += strspn(word, separators);
    }
}

/* --- The lines -------------------------------------------------------------------------------- */

static int gres_add_gpu(const struct fact_gpu *gpu, const char *dev, struct text *text,
                        struct error *err)
{
    char device[256], type[GRES_TYPE_SIZE];
    struct stat info;
    if (gpu->is_lost)
        return error_set(err, -EIO, "GPU %u does not answer: %s", gpu->index, gpu->trouble);
    if (gpu->mig_mode.is_known && gpu->mig_mode.value)
        return error_set(err, -EIO,
                         "GPU %u is split by MIG: only whole GPUs can be listed; `nvidia-smi -i "
                         "%u -mig 0` makes it whole",
                         gpu->index, gpu->index);
    if (!gpu->minor.is_known)
        return error_set(err, -EIO, "GPU %u: the driver does not say which device it is",
                         gpu->index);
    (void)snprintf(device, sizeof device, "%s/nvidia%" PRIu64, dev, gpu->minor.value);
    if (stat(device, &info) < 0 || !S_ISCHR(info.st_mode))
        return error_set(err, -EIO,
                         "GPU %u has no device %s: `nvidia-smi` as root makes it; a container "
                         "needs it from its host",
                         gpu->index, device);
    gres_type(gpu->name, type);
    text_addf(text, "Name=gpu %s%s%sFile=%s\n", type[0] ? "Type=" : "", type, type[0] ? " " : "",
              device);
    return 0;
}

int gres_text(const struct facts *facts, const char *dev, struct text *text, struct error *err)
{
    if (facts->driver != FACTS_DRIVER_WORKS)
        return error_set(
            err, facts->driver == FACTS_DRIVER_ABSENT ? -ENODEV : -EIO, "%s%s",
            facts->driver == FACTS_DRIVER_ABSENT ? "" : "the driver: ", facts->driver_trouble);
    if (!facts->gpu_count)
        return error_set(err, -ENODEV, "the driver has no GPU");
    for (unsigned i = 0; i < facts->gpu_count; i++) {
        int status = gres_add_gpu(&facts->gpus[i], dev, text, err);
        if (status < 0)
            return status;
    }
    return 0;
}
