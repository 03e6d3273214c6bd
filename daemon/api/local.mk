# daemon/api
