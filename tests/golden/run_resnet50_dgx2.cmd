run resnet50_dgx2
