run resnet50_dgx2 --set nodes=64
