/* Dense bf16 rates of NVIDIA's datasheets, which give twice as much, "with sparsity": a matrix of
 * which half is zero. torchtitan and Megatron-LM measure by the same figures. No program reaches
 * them: the best product of matrices seen on an H100 SXM makes 794 of its 989. */
#include "worker/telemetry/peak.h"

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { PEAK_WORDS_MAX = 2 };

/* By words of NVML's name; the first row of which all are there. */
static const struct {
    const char *words[PEAK_WORDS_MAX];
    double tflops;
} peak_rows[] = {
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
    if (peak_has_word(model, "MIG")) /* a part of a GPU: how large a one its name does not say */
        return 0;
    for (size_t i = 0; i < sizeof peak_rows / sizeof *peak_rows; i++) {
        const char *const *words = peak_rows[i].words;
        if (peak_has_word(model, words[0]) && (!words[1] || peak_has_word(model, words[1])))
            return peak_rows[i].tflops;
    }
    return 0;
}
