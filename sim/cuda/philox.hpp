#pragma once
// Random bits by counter, for dropout: any 128 bits of the sequence at once, from their number alone.

#include "random_value.hpp"

#include <cstdint>

namespace trainyard::cuda {

struct RandomWords {
  std::uint32_t word[4];
};

/// Philox4x32 with ten rounds: the words of block number `counter` of sequence `stream`, for `key`. Source:
/// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3; it is
/// what frameworks draw their dropout masks from.
TRAINYARD_HOST_DEVICE inline RandomWords philox(std::uint64_t counter, std::uint64_t stream,
                                                std::uint64_t key) {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
  constexpr std::uint32_t step_0 = 0x9E3779B9;  // of the key: the golden ratio and sqrt(3) - 1
  constexpr std::uint32_t step_1 = 0xBB67AE85;
  constexpr int rounds = 10;
  RandomWords x{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U),
                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32U)}};
  auto key_0 = static_cast<std::uint32_t>(key);
  auto key_1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product_0 = multiplier_0 * x.word[0];
    const std::uint64_t product_1 = multiplier_1 * x.word[2];
    x = {{static_cast<std::uint32_t>(product_1 >> 32U) ^ x.word[1] ^ key_0,
          static_cast<std::uint32_t>(product_1),
          static_cast<std::uint32_t>(product_0 >> 32U) ^ x.word[3] ^ key_1,
          static_cast<std::uint32_t>(product_0)}};
    key_0 += step_0;
    key_1 += step_1;
  }
  return x;
}

}  // namespace trainyard::cuda
