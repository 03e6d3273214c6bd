/* What GPUs can do at most, by their names. */
#include "lib/metrics/peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { PEAK_WORDS_MAX = 2 };

/* Dense bf16 rates from NVIDIA's datasheets. The datasheets give twice as much, "with sparsity":
 * for a matrix with half of its values zero. torchtitan and Megatron-LM use the same figures. No
 * program reaches them: the fastest known product of matrices reaches 794 of the 989 of an H100
 * SXM.
 *
 * A row has words of the name that NVML gives. The first row with all its words in the name
 * counts. */
static const struct {
    const char *words[PEAK_WORDS_MAX];
    double tflops;
} peaks[] = {
    {{"GB300"}, 2500},       {{"GB200"}, 2500},      {{"B300"}, 2250}, {{"B200"}, 2250},
    {{"H200", "NVL"}, 835},  {{"H200"}, 989},        {{"GH200"}, 989}, {{"H20"}, 148},
    {{"H100", "PCIe"}, 756}, {{"H100", "NVL"}, 835}, {{"H100"}, 989},  {{"A100"}, 312},
    {{"A800"}, 312},         {{"L40S"}, 362},        {{"L4"}, 121},    {{"A40"}, 149.7},
    {{"A30"}, 165},
};

static bool peak_has_word(const char *model, const char *word)
{
    size_t wanted = strlen(word);
    for (const char *at = model; *at; at += strspn(at, " -")) {
        size_t size = strcspn(at, " -");
        if (size == wanted && strncasecmp(at, word, size) == 0)
            return true;
        at += size;
    }
    return false;
}

double peak_tflops(const char *model)
{
    if (peak_has_word(model, "MIG")) /* the name does not say how large a part of the GPU it is */
        return 0;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        const char *const *words = peaks[i].words;
        if (peak_has_word(model, words[0]) && (!words[1] || peak_has_word(model, words[1])))
            return peaks[i].tflops;
    }
    return 0;
}
