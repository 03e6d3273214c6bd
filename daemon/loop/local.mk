# daemon/loop
