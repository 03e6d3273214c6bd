# worker/metrics
