/* The most that a GPU can do. */
#ifndef PHASED_LIB_METRICS_PEAK_H
#define PHASED_LIB_METRICS_PEAK_H

/* Returns 10^12 dense bf16 operations a second. `model` is the name that the driver gives; 0: not
 * known. */
double peak_tflops(const char *model);

#endif
