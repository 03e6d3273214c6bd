# worker/preflight/gpu: what runs on the GPUs; only where configure found CUDA and NCCL.
if HAVE_CUDA
bin_PROGRAMS += bin/phase-preflight-gpu
endif
EXTRA_PROGRAMS += bin/phase-preflight-gpu
PREFLIGHT_GPU_SOURCES = \
	worker/preflight/gpu/allreduce.c \
	worker/preflight/gpu/bench.c worker/preflight/gpu/bench.h \
	worker/preflight/gpu/copies.c \
	worker/preflight/gpu/hbm.c \
	worker/preflight/gpu/kernels.h \
	worker/preflight/gpu/main.c \
	worker/preflight/gpu/matrix.c \
	worker/preflight/gpu/meeting.c worker/preflight/gpu/meeting.h \
	worker/preflight/gpu/nearby.c worker/preflight/gpu/nearby.h \
	worker/preflight/gpu/peers.c \
	worker/preflight/gpu/proof.c
PREFLIGHT_KERNELS = worker/preflight/gpu/kernels.cu
PREFLIGHT_GPU_LIBS = worker/preflight/libpreflight.a worker/libworker.a lib/libphased.a -lm
bin_phase_preflight_gpu_SOURCES = $(PREFLIGHT_GPU_SOURCES) $(PREFLIGHT_KERNELS)
bin_phase_preflight_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
bin_phase_preflight_gpu_LDADD = $(PREFLIGHT_GPU_LIBS) $(CUDA_LIBS)
EXTRA_DIST += worker/preflight/gpu/README.md
