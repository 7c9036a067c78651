#include "strategy/batch_norm_buffers.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace trainyard {

std::vector<double> batch_norm_channels(const Trace& trace) {
  std::vector<double> channels;
  std::set<std::string_view> counted;  // every micro-batch may complete the gradients of a batch norm
  for (const Op& op : trace.ops) {
    if (op.kind != OpKind::batch_norm_backward || op.gradients.empty()) continue;
    // weight and bias have a value per channel each; a trace may complete other tensors with them
    const Gradient& own = *std::ranges::min_element(op.gradients, {}, &Gradient::elements);
    if (counted.insert(own.tensor).second) channels.push_back(own.elements);
  }
  return channels;
}

}  // namespace trainyard
