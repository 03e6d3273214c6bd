/* Runs the bodies of GPU kernels (worker/model/cuda/team.h) on a processor. */
#ifndef PHASED_TESTS_FAKE_TEAMS_H
#define PHASED_TESTS_FAKE_TEAMS_H

#include "worker/model/cuda/team.h"

/* Runs `body` once for each thread of `count` teams of `size` threads. */
void teams_run(size_t count, unsigned size, void (*body)(const struct team *team, void *context),
               void *context);

#endif
