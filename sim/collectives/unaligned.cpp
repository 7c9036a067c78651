#include "collectives/unaligned.hpp"

#include <cmath>

namespace trainyard {

UnalignedRounds unaligned_rounds(NcclVersion version, Operation operation, int ranks, Bytes size,
                                 bool is_direct) {
  if (version == NcclVersion::none || version >= NcclVersion::v2_12) return UnalignedRounds::none;
  if (operation != Operation::all_gather && operation != Operation::reduce_scatter)
    return UnalignedRounds::none;
  constexpr double vector_load = 16;  // bytes
  if (std::fmod(std::round(size.si() / ranks), vector_load) == 0) return UnalignedRounds::none;
  return operation == Operation::all_gather && is_direct ? UnalignedRounds::first : UnalignedRounds::all;
}

}  // namespace trainyard
