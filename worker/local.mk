# worker: what runs on the allocated nodes.
include worker/metrics/local.mk
include worker/model/local.mk
