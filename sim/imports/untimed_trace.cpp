#include "imports/untimed_trace.hpp"

#include <utility>

namespace trainyard {

UntimedTrace untimed_trace(const ExecutionTrace& trace, const ImportOptions& options) {
  UntimedTrace result{.traced = profile_of(trace), .work = {}, .imported = {}};
  const Profile& profile = result.traced.profile;
  result.work = join_launches(profile, options.step_range);
  ImportOptions how = options;
  how.host_gaps = false;
  result.imported = trace_of(profile, result.work, how);
  std::vector<Op>& ops = result.imported.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op& op = ops[i];
    TracedWork sum;
    for (const std::uint32_t event : result.imported.rows[i].events) {
      const auto found = result.traced.work.find(profile.events[event].correlation);
      if (found == result.traced.work.end()) continue;
      sum.flops += found->second.flops;
      sum.bytes += found->second.bytes;
    }
    op.duration.reset();
    if (sum.flops > Flops()) op.flops = sum.flops;
    op.bytes = sum.bytes;
    // of a convolution's gradients only the bias's has no FLOPs: its kernel has not the convolution's shape
    const bool is_pass = op.kind == OpKind::conv_dgrad || op.kind == OpKind::conv_wgrad;
    if (is_pass && sum.flops <= Flops()) {
      op.flops = {};
      op.shape = std::monostate();
    }
    // other work below a convolution's backward operator, such as sums of gradients
    const bool is_other =
        is_matrix(op.kind) && op.flops <= Flops() && std::holds_alternative<std::monostate>(op.shape);
    if (op.kind == OpKind::measured || is_other) op.kind = OpKind::elementwise;
  }
  return result;
}

}  // namespace trainyard
