#pragma once
// Recordings of kernels with exactly the time of a known curve, optionally times a known noise.

#include "compute/curves.hpp"
#include "compute/recording.hpp"
#include "compute/work.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace trainyard {

/// The GPU of the kernels below.
inline constexpr FlopRate synthetic_peak{10e12};
inline constexpr Bandwidth synthetic_bandwidth{1e12};

/// Between 0 and 1, from a hash of the index (SplitMix64).
inline double hashed_part(std::uint64_t index) {
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<double>((x ^ (x >> 31U)) >> 11U) * 0x1p-53;
}

inline RecordedKernel recorded_kernel(OpKind kind, Dtype dtype, const Shape& shape, Bytes bytes,
                                      Seconds time) {
  RecordedKernel kernel;
  kernel.op = std::string(config::name_of(kind));
  kernel.kind = kind;
  kernel.dtype = dtype;
  kernel.shape = shape;
  kernel.bytes = bytes;
  kernel.time = time;
  return kernel;
}

/// A product with its curve's time.
inline RecordedKernel recorded_gemm(const GemmShape& shape, Dtype dtype, const Roofline& curve,
                                    FlopRate peak = synthetic_peak) {
  const Work work = work_of(shape, dtype);
  return recorded_kernel(OpKind::gemm, dtype, shape, work.bytes,
                         roofline_time(curve, peak, synthetic_bandwidth, work));
}

/// 64 products of all shapes from 4 to 4096, without transposes.
inline Recording gemm_recording(Dtype dtype, const Roofline& curve, FlopRate peak = synthetic_peak) {
  Recording recording;
  recording.name = "gemm.csv";
  for (const int m : {4, 64, 1024, 4096}) {
    for (const int n : {4, 64, 1024, 4096}) {
      for (const int k : {4, 64, 1024, 4096}) {
        recording.rows.push_back(recorded_gemm({1, m, n, k, false, false}, dtype, curve, peak));
      }
    }
  }
  return recording;
}

/// A product with the time of a curve of six numbers.
inline RecordedKernel recorded_product(const GemmShape& shape, Dtype dtype, const GemmCurve& curve,
                                       FlopRate peak = synthetic_peak) {
  const Work work = work_of(shape, dtype);
  return recorded_kernel(OpKind::gemm, dtype, shape, work.bytes,
                         product_time(curve, peak, synthetic_bandwidth, work, shape.k));
}

/// 700 products: of 100 (n, k), each with seven m.
inline Recording many_products(Dtype dtype, const GemmCurve& curve, FlopRate peak = synthetic_peak) {
  Recording recording;
  recording.name = "many.csv";
  for (const int n : {32, 96, 256, 768, 1536, 2048, 3072, 4096, 8192, 16384}) {
    for (const int k : {64, 128, 384, 512, 1024, 2048, 3584, 5120, 8192, 32768}) {
      for (const int m : {64, 100, 256, 1000, 2048, 4096, 10000}) {
        recording.rows.push_back(recorded_product({1, m, n, k, false, true}, dtype, curve, peak));
      }
    }
  }
  return recording;
}

/// Three shapes of every class of convolutions.
inline std::array<ConvShape, 15> conv_shapes(int batch) {
  return {
      ConvShape{batch, 3, 224, 224, 64, 7, 7, 2, 3, 3},    ConvShape{batch, 3, 224, 224, 64, 3, 3, 1, 1, 1},
      ConvShape{batch, 3, 112, 112, 96, 11, 11, 4, 2, 2},  ConvShape{batch, 64, 56, 56, 256, 1, 1, 1, 0, 0},
      ConvShape{batch, 512, 28, 28, 128, 1, 1, 1, 0, 0},   ConvShape{batch, 2048, 7, 7, 512, 1, 1, 1, 0, 0},
      ConvShape{batch, 256, 56, 56, 512, 1, 1, 2, 0, 0},   ConvShape{batch, 512, 28, 28, 1024, 1, 1, 2, 0, 0},
      ConvShape{batch, 1024, 14, 14, 2048, 1, 1, 2, 0, 0}, ConvShape{batch, 64, 56, 56, 64, 3, 3, 1, 1, 1},
      ConvShape{batch, 128, 28, 28, 128, 3, 3, 1, 1, 1},   ConvShape{batch, 512, 7, 7, 512, 3, 3, 1, 1, 1},
      ConvShape{batch, 128, 56, 56, 128, 3, 3, 2, 1, 1},   ConvShape{batch, 64, 28, 28, 96, 5, 5, 1, 2, 2},
      ConvShape{batch, 192, 17, 17, 224, 1, 7, 1, 0, 3}};
}

inline RecordedKernel recorded_conv(OpKind pass, const ConvShape& shape, Dtype dtype, const ConvFit& fit,
                                    Layout layout = Layout::nchw) {
  const Work work = work_of(shape, dtype);
  const Roofline curve = curve_of(fit, class_of(shape)).value();
  RecordedKernel kernel = recorded_kernel(pass, dtype, shape, work.bytes,
                                          roofline_time(curve, synthetic_peak, synthetic_bandwidth, work));
  kernel.variant = layout == Layout::nhwc ? "nhwc" : "nchw";
  return kernel;
}

/// Every class at four batches.
inline Recording conv_recording(OpKind pass, Dtype dtype, const ConvFit& fit, Layout layout = Layout::nchw) {
  Recording recording;
  recording.name = "conv.csv";
  for (const int batch : {1, 8, 32, 128}) {
    for (const ConvShape& shape : conv_shapes(batch)) {
      recording.rows.push_back(recorded_conv(pass, shape, dtype, fit, layout));
    }
  }
  return recording;
}

/// Vector ops of `count` sizes from 64 KiB, each 1.5 times the one before.
inline Recording vector_recording(OpKind kind, double fraction, Seconds t0, int count = 20) {
  Recording recording;
  recording.name = "vector.csv";
  Bytes bytes(65536);
  for (int i = 0; i < count; ++i) {
    const Seconds time = bytes / (fraction * synthetic_bandwidth) + t0;
    recording.rows.push_back(recorded_kernel(kind, Dtype::fp32, VectorShape{bytes.si() / 8}, bytes, time));
    bytes = Bytes(static_cast<double>(static_cast<long long>(1.5 * bytes.si() / 8) * 8));
  }
  return recording;
}

/// The same kernels in one recording.
inline Recording together(Recording all, const Recording& more) {
  all.rows.insert(all.rows.end(), more.rows.begin(), more.rows.end());
  return all;
}

}  // namespace trainyard
