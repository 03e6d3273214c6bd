/* Judges what this machine gives to phased: pure, apart from machine_look(). */
#ifndef PHASED_CLI_DOCTOR_MACHINE_H
#define PHASED_CLI_DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct cli;

struct machine_space {
    uint64_t free_bytes, files, free_files; /* files 0: the file system does not count them */
};

/* `type` is that of statfs(). `what` is "home" or "worker". With `is_sandbox`, all nodes are on
 * this machine. */
void machine_judge_system(unsigned long type, const char *what, const char *path, bool is_sandbox,
                          json_t *findings);
void machine_judge_space(const struct machine_space *space, json_t *findings);
void machine_judge_descriptors(uint64_t limit, json_t *findings);

/* `kills`: logind kills the processes of a user at logout; it spares users who linger. */
void machine_judge_logout(bool kills, bool lingers, json_t *findings);

/* `mounts` is the text of /proc/mounts. */
void machine_judge_proc(const char *mounts, json_t *findings);

/* Looks at this machine. */
void machine_look(struct cli *cli, bool is_sandbox, json_t *findings);

#endif
