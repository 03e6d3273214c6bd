# tests/unit: what tests phase-model on GPUs.
EXTRA_DIST += tests/unit/model_gpu.bash tests/unit/test_model_gpu.bats \
	tests/unit/test_model_gpu_generate.bats tests/unit/test_model_gpu_kernels.bats
UNIT_TESTS += tests/unit/test_model_bodies tests/unit/test_model_attention_bodies \
	tests/unit/test_model_fp8_bodies
TEAMS = tests/unit/model_arrays.h tests/fake/teams.c tests/fake/teams.h
tests_unit_test_model_bodies_SOURCES = tests/unit/test_model_bodies.c $(TEAMS)
tests_unit_test_model_bodies_LDADD = $(MODEL_LDADD)
tests_unit_test_model_fp8_bodies_SOURCES = tests/unit/test_model_fp8_bodies.c $(TEAMS)
tests_unit_test_model_fp8_bodies_LDADD = $(MODEL_LDADD)
tests_unit_test_model_attention_bodies_SOURCES = tests/unit/test_model_attention_bodies.c $(TEAMS)
tests_unit_test_model_attention_bodies_LDADD = $(MODEL_LDADD)

# The real cuDNN, with a driver that has no GPU.
if HAVE_CUDNN
UNIT_TESTS += tests/unit/test_model_attention_plan
endif
EXTRA_PROGRAMS += tests/unit/test_model_attention_plan
tests_unit_test_model_attention_plan_SOURCES = tests/unit/test_model_attention_plan.c \
	worker/model/cuda/attention_plan.c worker/model/cuda/graph.c
tests_unit_test_model_attention_plan_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_model_attention_plan_LDADD = $(UNIT_LDADD) -lcudnn $(CUDA_LIBS) -ldl

# What each kernel computes, for each backend: the CPU, a GPU, and a GPU with fake libraries.
check_PROGRAMS += tests/unit/model_dump
tests_unit_model_dump_SOURCES = tests/unit/model_dump.c
tests_unit_model_dump_LDADD = $(MODEL_LIBS)
MODEL_DUMP_GPU = tests/unit/model_dump.c $(MODEL_BACKEND) worker/model/ranks.c worker/model/stop.c \
	worker/model/wire.c
if HAVE_CUDNN
check_PROGRAMS += tests/unit/model_dump_gpu tests/unit/model_dump_fake
endif
EXTRA_PROGRAMS += tests/unit/model_dump_gpu tests/unit/model_dump_fake
tests_unit_model_dump_gpu_SOURCES = $(MODEL_DUMP_GPU) $(MODEL_KERNELS)
tests_unit_model_dump_gpu_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_CUDA $(CUDA_CPPFLAGS)
tests_unit_model_dump_gpu_LDADD = $(MODEL_GPU_LIBS) -lcudnn $(CUDA_LIBS)
tests_unit_model_dump_fake_SOURCES = $(MODEL_DUMP_GPU) $(MODEL_FAKES)
tests_unit_model_dump_fake_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_CUDA $(CUDA_CPPFLAGS)
tests_unit_model_dump_fake_LDADD = $(MODEL_TEAMS) $(MODEL_GPU_LIBS)
