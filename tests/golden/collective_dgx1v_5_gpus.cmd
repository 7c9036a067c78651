collective all_reduce --platform dgx1v --gpus 5 -b 1M -e 1G -f 4
