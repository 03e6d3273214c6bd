learning rate 3
