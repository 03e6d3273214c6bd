# worker/model: phase-model, the model that phased trains by itself.
# Fused multiply-add stays off: it would make a result depend on the processor (see cpu.c).
noinst_LIBRARIES += worker/model/libmodel.a
worker_model_libmodel_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off $(SODIUM_CFLAGS)
worker_model_libmodel_a_SOURCES = $(MODEL_SOURCES) \
	worker/model/cpu.c worker/model/cpu.h worker/model/cpu_product.c \
	worker/model/cpu_rows.c worker/model/cpu_attention.c worker/model/cpu_draw.c
MODEL_SOURCES = \
	worker/model/kernels.h \
	worker/model/model.c worker/model/model.h worker/model/random.h \
	worker/model/pass.c worker/model/pass.h worker/model/rotary.c worker/model/rotary.h \
	worker/model/data.c worker/model/data.h worker/model/prose.c worker/model/prose.h \
	worker/model/vocabulary.c worker/model/vocabulary.h worker/model/vocabulary_train.c \
	worker/model/tokenizer.c worker/model/tokenizer.h \
	worker/model/shard.c worker/model/shard.h \
	worker/model/tokenize.c worker/model/tokenize.h \
	worker/model/checkpoint.c worker/model/checkpoint.h \
	worker/model/saver.c worker/model/saver.h \
	worker/model/ranks.c worker/model/ranks.h \
	worker/model/wire.c worker/model/wire.h \
	worker/model/stop.c worker/model/stop.h \
	worker/model/bench.c worker/model/bench.h \
	worker/model/bench_decode.c worker/model/bench_decode.h \
	worker/model/device.c worker/model/device.h \
	worker/model/options.c worker/model/options.h \
	worker/model/group.c worker/model/group.h \
	worker/model/decode.c worker/model/decode.h \
	worker/model/prompts.c worker/model/prompts.h \
	worker/model/generate.c worker/model/generate.h \
	worker/model/train.c worker/model/train.h
MODEL_LIBS = worker/model/libmodel.a lib/libphased.a $(JANSSON_LIBS) $(SODIUM_LIBS) -lm -lpthread

bin_PROGRAMS += bin/phase-model
bin_phase_model_SOURCES = worker/model/main.c
bin_phase_model_LDADD = $(MODEL_LIBS)
EXTRA_DIST += worker/model/README.md worker/model/model.md
include worker/model/cuda/local.mk
