/* Starts ranks in a container: the key `container` of a phase.
 *
 * A rank in a container is still a child of the agent. Its process is a bash that puts the image on
 * a disk of the node, unless another rank of the run has done it, and then becomes the command of
 * the runtime. In the container, a bash runs the script of the phase. It waits for its program when
 * the stop signal comes, because the end of the first process may end the whole container. */
#ifndef PHASED_WORKER_NODE_CONTAINER_H
#define PHASED_WORKER_NODE_CONTAINER_H

#include <stdbool.h>
#include <uv.h>

struct assignment;
struct container;
struct environment;
struct error;

/* PHASED_EXPORT_NAME has the value that the variable NAME gets in the container. */
#define CONTAINER_EXPORT "PHASED_EXPORT_"

/* In the order in which `auto` looks for them. */
enum container_runtime { CONTAINER_APPTAINER, CONTAINER_ENROOT, CONTAINER_PODMAN };

/* What the command of a runtime depends on. Lists end with NULL. */
struct container_order {
    enum container_runtime runtime;
    const char *image;          /* an absolute path, or a name with or without docker:// */
    const char *store;          /* the folder on the node for the image of the run */
    const char *const *mounts;  /* FROM:TO or FROM:TO:ro */
    const char *const *names;   /* variables that the program gets; apptainer passes them all */
    const char *const *exports; /* set in the container alone, from CONTAINER_EXPORT NAME */
    const char *workdir;        /* NULL: the folder of the image */
    const char *script;         /* the path of the phase's script */
    const char *stop_signal;    /* TERM, USR1, ... */
    int stop_number;
    bool has_gpus;   /* the node has NVIDIA's driver, and the run has GPUs */
    bool has_fabric; /* the node has InfiniBand */
    bool is_root;    /* root runs the rank */
};

/* Writes the script of bash by which a rank starts. The caller frees it. */
char *container_script(const struct container_order *order);

const char *container_runtime_name(enum container_runtime runtime);

/* `env` of the phase may set PATH or the like for the container, but the runtime needs the value of
 * the node. So `environment` (of the ranks) gets the value of the node, and keeps the value for the
 * container under another name. */
void container_move_env(const struct assignment *assignment, struct environment *environment);

/* Looks for the runtime, the image and the folders of `assignment`, and makes a folder for the
 * image below TMPDIR. Fails with `where` "container.image" or "container.mounts" if the spec names
 * a path that does not exist. Calls container_move_env(). */
int container_new(const struct assignment *assignment, struct environment *environment,
                  uv_loop_t *loop, struct container **ret_container, struct error *err);
/* No rank follows. Removes the folder of the image in the background; the loop does not end before
 * the removal. If the agent or the removal is killed, the next container of the user on the node
 * removes what is left. Accepts NULL. */
void container_remove(struct container *container);

/* Removes the folder, if container_remove() has not done it. Accepts NULL. */
void container_free(struct container *container);

/* container_script() for a script of the run. The caller frees it. */
char *container_start(const struct container *container, const char *script);

/* Whether ranks are started by podman. The processes in such a container are in a session of their
 * own, and podman clears up after them. */
bool container_is_podman(const struct container *container);

#endif
