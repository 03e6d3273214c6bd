/* The GPUs of a node in the words of Slurm: lines for gres.conf. */
#ifndef PHASED_WORKER_PREFLIGHT_GRES_H
#define PHASED_WORKER_PREFLIGHT_GRES_H

struct error;
struct facts;
struct text;

enum { GRES_TYPE_SIZE = 64 };

/* Writes the type of a GPU, from the name that NVML gives: "NVIDIA H100 80GB HBM3" is h100, and
 * "NVIDIA GeForce RTX 4070 Ti" is rtx4070ti. Variants of a model have one type. Empty: the name has
 * no letter. */
void gres_type(const char *name, char ret_type[GRES_TYPE_SIZE]);

/* Adds a line for each GPU, in the order of the PCI bus: "Name=gpu Type=h100 File=/dev/nvidia0".
 * `dev` is the folder of the devices. If the name of a GPU is unknown, its line has no type.
 * -ENODEV: there is no driver or no GPU. -EIO: the driver fails, or Slurm cannot give one of the
 * GPUs to jobs: it is lost, split by MIG, or has no device. */
int gres_text(const struct facts *facts, const char *dev, struct text *text, struct error *err);

#endif
