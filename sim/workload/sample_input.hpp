#pragma once
// A sample before it is on a GPU: its bytes on disk, and the host's cost of decoding. Part of a model file;
// data loading (experiment/data_loading.hpp) computes times from it.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <optional>
#include <tuple>

namespace trainyard {

/// The cost of decoding and augmenting a sample with NVIDIA DALI.
struct DaliCost {
  Sourced<Seconds> decode;      ///< of one core, all of it
  Sourced<Seconds> huffman;     ///< of one core, where kernels of a GPU do the rest
  Sourced<Bytes> coefficients;  ///< written to host memory by it, and copied to the GPU
  Sourced<Bytes> kernels;       ///< device memory traffic of these
  Sourced<Bytes> resize;        ///< the same after a hardware decoder
};

struct SampleInput {
  std::optional<Sourced<Bytes>> bytes;            ///< stored
  std::optional<Sourced<Bytes>> bytes_per_token;  ///< stored, for models that read sequences
  std::optional<Sourced<Seconds>> decode;         ///< time on one CPU core; empty: nothing to decode
  std::optional<Sourced<Bytes>> memory;           ///< host memory traffic of decoding
  std::optional<Sourced<Bytes>> to_device;        ///< copied to the GPU; empty: as many as are stored
  std::optional<DaliCost> dali;                   ///< for the loader of this name
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<DaliCost> {
  static auto table() {
    return keys(
        required("decode", &DaliCost::decode, "time of one CPU core for a sample, with decode: cpu")
            .above(0)
            .at_most(1e4),
        required("huffman", &DaliCost::huffman,
                 "time of one CPU core for a sample, with decode: gpu on GPUs without a hardware "
                 "decoder: parsing and Huffman codes")
            .above(0)
            .at_most(1e4),
        required("coefficients", &DaliCost::coefficients,
                 "bytes of a sample's coefficients, which these cores write to host memory and the GPU "
                 "copies")
            .above(0)
            .at_most(1e13),
        required("kernels", &DaliCost::kernels,
                 "device memory traffic of a sample's kernels then: inverse transform, colours, "
                 "resizing, cropping, normalisation")
            .above(0)
            .at_most(1e13),
        required("resize", &DaliCost::resize,
                 "device memory traffic of a sample's kernels after a hardware decoder")
            .above(0)
            .at_most(1e13));
  }
};

template <>
struct Keys<SampleInput> {
  static auto table() {
    return keys(
        optional("bytes", &SampleInput::bytes, "size of a stored sample").above(0).at_most(1e12),
        optional("bytes_per_token", &SampleInput::bytes_per_token,
                 "size of a stored token, for models that read sequences; instead of bytes")
            .above(0)
            .at_most(1e9),
        optional("decode", &SampleInput::decode,
                 "time to decode and augment a sample on one CPU core; default: none")
            .above(0)
            .at_most(1e4),
        optional("memory", &SampleInput::memory,
                 "host memory traffic of decoding a sample, without the copy to the GPU; default: the stored "
                 "bytes are written, read and written into a batch")
            .above(0)
            .at_most(1e13),
        optional("to_device", &SampleInput::to_device,
                 "bytes of a sample that are copied to the GPU, which reads them from host memory; default: "
                 "the stored bytes")
            .above(0)
            .at_most(1e13),
        optional("dali", &SampleInput::dali, "cost of a sample with NVIDIA DALI, for loader: dali"));
  }
};

}  // namespace trainyard::config
