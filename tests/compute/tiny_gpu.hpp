#pragma once
// A GPU with round numbers, for tests: 10 TFLOP/s fp32, 100 TFLOP/s fp16, 1 TB/s.

#include <string>

inline const std::string tiny_gpu = R"(name: tiny
memory: {capacity: 16 GB, bandwidth: 1 TB/s}
tdp: 300 W
matrix:
  fp32:
    peak: 10 TFLOP/s
    gemm: {value: {efficiency: 0.8, bandwidth_fraction: 0.5, t0: 10 us}, fitted: "a test"}
    conv:
      forward: &fit
        value: {first_layer: 0.5, pointwise: 0.8, pointwise_strided: 0.4, spatial_3x3: 1.6, other: 0.6,
                bandwidth_fraction: 0.5, t0: 20 us}
        fitted: "a test"
      dgrad:
        value: {pointwise: 0.4, pointwise_strided: 0.2, spatial_3x3: 0.8, other: 0.3,
                bandwidth_fraction: 0.5, t0: 20 us}
        fitted: "a test"
      wgrad: *fit
  fp16:
    peak: 100 TFLOP/s
    gemm: {value: {efficiency: 0.8, bandwidth_fraction: 0.5, t0: 5 us}, assumed: "a guess"}
    conv:
      forward: &half
        value: {first_layer: 0.01, pointwise: 0.4, pointwise_strided: 0.4, spatial_3x3: 0.4, other: 0.4,
                bandwidth_fraction: 0.5, t0: 20 us}
        fitted: "a test"
      dgrad: *half
      wgrad: *half
vector:
  elementwise: {value: 0.8, measured: "a test"}
  batch_norm: {value: 0.4, assumed: "a guess"}
  layer_norm: {value: 0.6, fitted: "a test"}
  pooling: {value: 0.8, assumed: "a guess"}
  softmax: {value: 0.5, fitted: "a test"}
  embedding: {value: 0.7, assumed: "a guess"}
  optimizer: {value: 0.8, assumed: "a guess"}
  t0: {value: 2 us, assumed: "a guess"}
roofline: {value: {efficiency: 0.5, bandwidth_fraction: 0.5, t0: 10 us}, assumed: "a guess"}
)";
