/* Progress bars as tqdm prints them. A bar counts steps if it has no label, or one for training.
 * Bars of evaluations in between do not count: they have another total. A bar with an epoch as its
 * label counts the steps of that epoch. As soon as a line has a step beside its bar, bars count no
 * steps: "step 4000: 45%|####    | 120/266". */
#include "lib/metrics/bar.h"

#include "lib/metrics/line.h"
#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Whether the label of a bar is a step: "step 4000: 45%|####". */
static bool bar_has_step_label(const struct values *values, struct span label)
{
    struct span word = {.at = label.at};
    while (word.size < label.size &&
           (isalpha((unsigned char)word.at[word.size]) || word.at[word.size] == '_'))
        word.size++;
    return word.size && values_is_step_name(values, &word, 1);
}

const char *bar_read(struct line_memory *memory, struct values *values, const char *at,
                     const char *end)
{
    const char *percent = memmem(at, (size_t)(end - at), "%|", 2);
    const char *bar = percent ? memchr(percent + 2, '|', (size_t)(end - percent - 2)) : NULL;
    double count, total, epoch = 0;
    if (!bar)
        return at;
    for (bar++; bar < end && *bar == ' '; bar++)
        ;
    size_t size = number_read(bar, end, NUMBER_PLAIN, &count);
    if (!size || bar + size == end || bar[size] != '/')
        return at;
    const char *behind = bar + size + 1;
    size = number_read(behind, end, NUMBER_PLAIN, &total);
    const char *label_end = percent;
    while (label_end > at && (isdigit((unsigned char)label_end[-1]) || label_end[-1] == ' '))
        label_end--;
    struct span label = {.at = at, .size = (size_t)(label_end - at)};
    if (bar_has_step_label(values, label)) {
        memory->has_bar_with_step = true;
        return at;
    }
    bool has_epoch = label.size > 6 && strncasecmp(label.at, "epoch ", 6) == 0 &&
                     number_read(label.at + 6, label_end, NUMBER_PLAIN, &epoch) > 0;
    bool is_training = !label.size || strncasecmp(label.at, "train", 5) == 0;
    behind += size;
    if (!size || total != floor(total) || fabs(total) > 1e15 || !(has_epoch || is_training) ||
        memory->has_bar_with_step)
        return behind;
    if (has_epoch) {
        values_count_step(values, epoch * total + count);
        return behind;
    }
    if (!memory->bar_total)
        memory->bar_total = (int64_t)total;
    if (memory->bar_total == (int64_t)total)
        values_count_step(values, count);
    return behind;
}
