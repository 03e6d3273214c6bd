# worker/model/cuda: phase-model on GPUs; only where configure found CUDA, NCCL and cuDNN.
if HAVE_CUDNN
bin_PROGRAMS += bin/phase-model-gpu
endif
EXTRA_PROGRAMS += bin/phase-model-gpu
MODEL_GPU_SOURCES = $(MODEL_SOURCES) worker/model/main.c $(MODEL_BACKEND)
MODEL_BACKEND = \
	worker/model/cuda/attention.c worker/model/cuda/attention_bodies.h \
	worker/model/cuda/attention_plan.c worker/model/cuda/attention_plan.h \
	worker/model/cuda/backend.c worker/model/cuda/backend.h \
	worker/model/cuda/fp8.c worker/model/cuda/fp8.h worker/model/cuda/fp8_bodies.h \
	worker/model/cuda/graph.c worker/model/cuda/graph.h \
	worker/model/cuda/launch.cuh \
	worker/model/cuda/matmul.c \
	worker/model/cuda/memory.c \
	worker/model/cuda/open.c \
	worker/model/cuda/products.c worker/model/cuda/products.h \
	worker/model/cuda/recording.c \
	worker/model/cuda/row_bodies.h \
	worker/model/cuda/sums.c \
	worker/model/cuda/team.h
MODEL_GPU_LIBS = lib/libphased.a $(JANSSON_LIBS) $(SODIUM_LIBS) -lm -lpthread
MODEL_KERNELS = worker/model/cuda/fp8_casts.cu worker/model/cuda/own_attention.cu worker/model/cuda/rows.cu
bin_phase_model_gpu_SOURCES = $(MODEL_GPU_SOURCES) $(MODEL_KERNELS)
bin_phase_model_gpu_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_CUDA $(CUDA_CPPFLAGS)
bin_phase_model_gpu_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS)
bin_phase_model_gpu_LDADD = $(MODEL_GPU_LIBS) -lcudnn $(CUDA_LIBS)
EXTRA_DIST += worker/model/cuda/README.md worker/model/cuda/gpu.md worker/model/cuda/first_day.md
