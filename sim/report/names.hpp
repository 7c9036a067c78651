#pragma once
// How reports and the command line spell the collective operations.

#include "collectives/collective.hpp"
#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard::config {

template <>
struct Names<Operation> {
  static constexpr std::string_view what = "collective";
  static constexpr std::array table{
      Name{"all_reduce", Operation::all_reduce, "sum over all ranks, result on all"}};
};

}  // namespace trainyard::config
