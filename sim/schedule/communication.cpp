#include "schedule/communication.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace trainyard {

namespace {

constexpr std::array pairs{std::pair{Communication::all_reduce, Operation::all_reduce},
                           std::pair{Communication::reduce_scatter, Operation::reduce_scatter},
                           std::pair{Communication::all_gather, Operation::all_gather},
                           std::pair{Communication::broadcast, Operation::broadcast},
                           std::pair{Communication::reduce, Operation::reduce},
                           std::pair{Communication::all_to_all, Operation::all_to_all},
                           std::pair{Communication::send_recv, Operation::send_recv}};

}  // namespace

Operation operation_of(Communication communication) {
  return std::ranges::find(pairs, communication, &decltype(pairs)::value_type::first)->second;
}

Communication communication_of(Operation operation) {
  return std::ranges::find(pairs, operation, &decltype(pairs)::value_type::second)->first;
}

}  // namespace trainyard
