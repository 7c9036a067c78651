topology dgx2
