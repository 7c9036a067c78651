#include "schedule/micro_batches.hpp"

namespace trainyard {

namespace {

/// The number of the micro-batch of each op.
std::vector<int> numbers_of(const Trace& trace) {
  std::vector<int> numbers;
  int number = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    numbers.push_back(begins_micro_batch(trace, i) ? ++number : number);
  return numbers;
}

}  // namespace

bool begins_micro_batch(const Trace& trace, std::size_t i) {
  return i > 0 && trace.ops[i].phase == Phase::forward && trace.ops[i - 1].phase == Phase::backward;
}

std::vector<std::span<const ReadyGradient>> by_micro_batch(const Trace& trace,
                                                           std::span<const ReadyGradient> gradients) {
  const std::vector<int> numbers = numbers_of(trace);
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

void hold_micro_batches(const Trace& trace, std::vector<Launch>& launches) {
  const std::vector<int> numbers = numbers_of(trace);
  for (std::size_t k = 0; k + 1 < launches.size(); ++k) {
    launches[k].holds_next_micro_batch =
        numbers[at(launches[k].ready_op)] != numbers[at(launches[k + 1].ready_op)];
  }
}

}  // namespace trainyard
