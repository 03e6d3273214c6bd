# worker/preflight/gpu: what runs on the GPUs; only where configure found CUDA and NCCL.
KERNELS = worker/preflight/gpu/kernels.$(OBJEXT)
$(KERNELS): worker/preflight/gpu/kernels.h
EXTRA_DIST += worker/preflight/gpu/README.md worker/preflight/gpu/kernels.cu \
	worker/preflight/gpu/kernels.h
