#include "strategy/micro_batches.hpp"

#include "units/ids.hpp"

namespace trainyard {

std::vector<int> micro_batch_numbers(const Trace& trace) {
  std::vector<int> numbers;
  int number = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    numbers.push_back(begins_micro_batch(trace, i) ? ++number : number);
  return numbers;
}

bool begins_micro_batch(const Trace& trace, std::size_t i) {
  return i > 0 && trace.ops[i].phase == Phase::forward && trace.ops[i - 1].phase == Phase::backward;
}

std::vector<std::span<const ReadyGradient>> by_micro_batch(const Trace& trace,
                                                           std::span<const ReadyGradient> gradients) {
  const std::vector<int> numbers = micro_batch_numbers(trace);
  const auto number_of = [&](std::size_t i) { return numbers[at(gradients[i].op)]; };
  std::vector<std::span<const ReadyGradient>> groups;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= gradients.size(); ++i) {
    if (i < gradients.size() && number_of(i) == number_of(first)) continue;
    groups.push_back(gradients.subspan(first, i - first));
    first = i;
  }
  return groups;
}

}  // namespace trainyard
