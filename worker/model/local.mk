# worker/model
