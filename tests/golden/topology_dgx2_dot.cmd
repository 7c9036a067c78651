topology dgx2 --dot
