collective all_reduce --platform dgx2 --gpus 12 -b 1M -e 1G -f 2
