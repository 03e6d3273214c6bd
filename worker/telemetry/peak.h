/* What a GPU can do at most, by its model: the bar that MFU is measured by. */
#ifndef PHASED_WORKER_TELEMETRY_PEAK_H
#define PHASED_WORKER_TELEMETRY_PEAK_H

/* 10^12 dense bf16 operations a second of the GPU that the driver names so; 0: not known. */
double peak_tflops(const char *model);

#endif
