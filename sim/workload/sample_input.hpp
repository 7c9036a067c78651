#pragma once
// What a sample is before it is on a GPU: bytes on disk, and what decoding them costs the host. A part of a
// model file; experiment/input_pipeline.hpp makes times of it.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <optional>
#include <tuple>

namespace trainyard {

struct SampleInput {
  std::optional<Sourced<Bytes>> bytes;            ///< as it is stored
  std::optional<Sourced<Bytes>> bytes_per_token;  ///< the same of models that read sequences
  std::optional<Sourced<Seconds>> decode;         ///< on one core of a CPU; nothing to decode when absent
  std::optional<Sourced<Bytes>> memory;           ///< what decoding it reads and writes of host memory
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<SampleInput> {
  static auto table() {
    return keys(
        optional("bytes", &SampleInput::bytes, "of a stored sample").above(0).at_most(1e12),
        optional("bytes_per_token", &SampleInput::bytes_per_token,
                 "of a model that reads sequences: the same of each of its tokens")
            .above(0)
            .at_most(1e9),
        optional("decode", &SampleInput::decode,
                 "time that one core takes to decode and augment a sample; nothing to decode when absent")
            .above(0)
            .at_most(1e4),
        optional("memory", &SampleInput::memory,
                 "what that reads and writes of the host's memory; not counted when absent")
            .above(0)
            .at_most(1e13));
  }
};

}  // namespace trainyard::config
