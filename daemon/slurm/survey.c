/* Frees a survey, and counts its GPUs. */
#include "daemon/slurm/survey.h"

#include <stdlib.h>
#include <string.h>

void cluster_survey_free(struct cluster_survey *survey)
{
    if (!survey)
        return;
    for (size_t i = 0; i < survey->node_count; i++) {
        free(survey->nodes[i].name);
        free(survey->nodes[i].gres);
    }
    for (size_t i = 0; i < survey->partition_count; i++) {
        free(survey->partitions[i].name);
        free(survey->partitions[i].nodes);
    }
    for (size_t i = 0; i < survey->forecast_count; i++) {
        free(survey->forecasts[i].partition);
        free(survey->forecasts[i].nodes);
    }
    free(survey->nodes);
    free(survey->partitions);
    free(survey->forecasts);
    free(survey);
}

/* Counts the GPUs of one item, such as "gpu:8" or "gpu:h100:8". `size` leaves out the part in
 * parentheses. */
static unsigned survey_item(const char *item, size_t size, const char *type)
{
    const char *count = item + size, *middle = item + sizeof "gpu:" - 1;
    if (size < sizeof "gpu:" || strncmp(item, "gpu:", sizeof "gpu:" - 1) != 0)
        return 0;
    while (count > middle && count[-1] != ':')
        count--;
    size_t type_size = count > middle ? (size_t)(count - middle) - 1 : 0;
    if (type && (strlen(type) != type_size || memcmp(middle, type, type_size) != 0))
        return 0;
    return (unsigned)strtoul(count, NULL, 10);
}

unsigned survey_gpus(const char *gres, const char *type)
{
    unsigned sum = 0;
    while (*gres) {
        size_t size = strcspn(gres, ",(");
        sum += survey_item(gres, size, type);
        gres += size;
        if (*gres == '(') /* the list of sockets, which has commas too */
            gres += strcspn(gres, ")");
        gres += strcspn(gres, ",");
        gres += *gres == ',';
    }
    return sum;
}
