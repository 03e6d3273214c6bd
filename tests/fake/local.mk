# tests/fake: libraries that stand in for a driver; loaded by the programs under test.
FAKES = tests/fake/libnvidia-ml.so tests/fake/libnvidia-ml-old.so
EXTRA_DIST += tests/fake/README.md tests/fake/nvml.c tests/fake/script.h tests/unit/test_preflight.bats \
	tests/unit/test_preflight_gpu.bats tests/unit/test_preflight_level.bats \
	tests/unit/test_gpus.bats
TESTS += tests/unit/test_gpus.bats tests/unit/test_preflight.bats \
	tests/unit/test_preflight_gpu.bats tests/unit/test_preflight_level.bats
check_DATA = $(FAKES)
CLEANFILES += $(FAKES)

tests/fake/libnvidia-ml.so: tests/fake/nvml.c tests/fake/script.h
	$(AM_V_CC)$(MKDIR_P) tests/fake && $(CC) -I$(top_srcdir) $(AM_CFLAGS) -D_GNU_SOURCE $(CFLAGS) -shared -fPIC -o $@ $<

tests/fake/libnvidia-ml-old.so: tests/fake/nvml.c tests/fake/script.h
	$(AM_V_CC)$(MKDIR_P) tests/fake && $(CC) -I$(top_srcdir) $(AM_CFLAGS) -D_GNU_SOURCE -DFAKE_NVML_OLD $(CFLAGS) -shared -fPIC -o $@ $<

# The CUDA kernels for a processor.
SERIAL_KERNELS = tests/fake/kernels.$(OBJEXT)
CLEANFILES += $(SERIAL_KERNELS)
EXTRA_DIST += tests/fake/serial.cuh

# phase-preflight-gpu with stand-ins for CUDA's libraries, on a processor.
if HAVE_CUDA
check_PROGRAMS += tests/fake/phase-preflight-gpu
endif
EXTRA_PROGRAMS += tests/fake/phase-preflight-gpu
tests_fake_phase_preflight_gpu_SOURCES = $(PREFLIGHT_GPU_SOURCES) tests/fake/clock.c \
	tests/fake/cublaslt.c tests/fake/cuda.c tests/fake/cuda.h tests/fake/cuda_graph.c \
	tests/fake/nccl.c tests/fake/script.h
tests_fake_phase_preflight_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_fake_phase_preflight_gpu_LDADD = $(SERIAL_KERNELS) $(PREFLIGHT_GPU_LIBS)
$(SERIAL_KERNELS): worker/preflight/gpu/kernels.cu
	$(AM_V_GEN)$(MKDIR_P) tests/fake && $(NVCC) -x c++ -I$(top_srcdir) -include $(top_srcdir)/tests/fake/serial.cuh \
		$(NVCC_WARNINGS) $(NVCC_TELLS) -O1 -c -o $@ $(top_srcdir)/worker/preflight/gpu/kernels.cu

# phase-model-gpu in the same way.
MODEL_TEAMS = tests/fake/model_rows.$(OBJEXT) tests/fake/model_attention.$(OBJEXT) \
	tests/fake/model_casts.$(OBJEXT)
CLEANFILES += $(MODEL_TEAMS)
EXTRA_DIST += tests/fake/teams.cuh
if HAVE_CUDNN
check_PROGRAMS += tests/fake/phase-model-gpu
endif
EXTRA_PROGRAMS += tests/fake/phase-model-gpu
MODEL_FAKES = tests/fake/clock.c tests/fake/cublaslt.c tests/fake/cuda.c tests/fake/cuda.h \
	tests/fake/cuda_graph.c tests/fake/cudnn.c tests/fake/nccl.c tests/fake/script.h \
	tests/fake/teams.c tests/fake/teams.h
tests_fake_phase_model_gpu_SOURCES = $(MODEL_GPU_SOURCES) $(MODEL_FAKES)
tests_fake_phase_model_gpu_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_CUDA $(CUDA_CPPFLAGS)
tests_fake_phase_model_gpu_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS)
tests_fake_phase_model_gpu_LDADD = $(MODEL_TEAMS) $(MODEL_GPU_LIBS)
TEAMS_COMPILE = $(AM_V_GEN)$(MKDIR_P) tests/fake && $(NVCC) -x c++ -I$(top_srcdir) \
	-include $(top_srcdir)/tests/fake/teams.cuh $(NVCC_WARNINGS) $(NVCC_TELLS) -O2 -c -o $@
tests/fake/model_rows.$(OBJEXT): worker/model/cuda/rows.cu
	$(TEAMS_COMPILE) $(top_srcdir)/worker/model/cuda/rows.cu
tests/fake/model_casts.$(OBJEXT): worker/model/cuda/fp8_casts.cu
	$(TEAMS_COMPILE) $(top_srcdir)/worker/model/cuda/fp8_casts.cu
tests/fake/model_attention.$(OBJEXT): worker/model/cuda/own_attention.cu
	$(TEAMS_COMPILE) $(top_srcdir)/worker/model/cuda/own_attention.cu

# A driver without a GPU, for the real cuDNN.
if HAVE_CUDNN
check_DATA += tests/fake/libcuda.so.1
endif
EXTRA_DIST += tests/fake/driver.c
CLEANFILES += tests/fake/libcuda.so.1
tests/fake/libcuda.so.1: tests/fake/driver.c
	$(AM_V_CC)$(MKDIR_P) tests/fake && $(CC) $(AM_CFLAGS) $(CFLAGS) -shared -fPIC -Wl,-soname,libcuda.so.1 -o $@ $<
