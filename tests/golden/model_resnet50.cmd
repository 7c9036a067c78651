model resnet50 --batch 128
