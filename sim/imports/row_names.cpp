#include "imports/row_names.hpp"

#include "imports/op_names.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

class RowNamer {
public:
  RowNamer(const Profile& profile, const ProfileWork& work, int step,
           const std::vector<const GpuWork*>& first_work, std::vector<ProfileRow>& rows)
      : profile_(profile), work_(work), step_(step), first_work_(first_work), rows_(rows) {}

  void name_all() {
    std::map<std::string, int, std::less<>> counted;
    const auto next = [&](std::string_view base) {
      const int number = counted[std::string(base)]++;
      return std::string(base) + "." + std::to_string(number);
    };
    std::map<std::uint32_t, std::string> of_op;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      ProfileRow& row = rows_[i];
      if (!row.layer.empty() || row.phase == Phase::backward) continue;
      const GpuWork& first = *first_work_[i];
      const std::string_view base =
          row.op == no_event ? short_kernel_name(name(first.event)) : plain_name(name(row.op));
      constexpr std::string_view module_prefix = "nn.Module: ";
      if (first.module != no_event) {
        const std::string module(name(first.module).substr(module_prefix.size()));
        row.layer =
            modules_.emplace(module, 0).first->second++ == 0 ? module : module + "." + std::string(base);
      } else {
        row.layer = next(base);
      }
      if (row.op != no_event) of_op.emplace(row.op, row.layer);
    }
    name_backward_rows(of_op, next);
  }

private:
  template <class Next>
  void name_backward_rows(const std::map<std::uint32_t, std::string>& of_op, Next next) {
    const std::map<std::uint64_t, std::uint32_t> forward = forward_ops();
    std::map<std::uint32_t, std::string> of_wrapper;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      ProfileRow& row = rows_[i];
      if (!row.layer.empty()) continue;
      const GpuWork& first = *first_work_[i];
      const std::uint32_t wrapper = first.wrapper;
      if (wrapper == no_event) {
        row.layer =
            next(row.op == no_event ? short_kernel_name(name(first.event)) : plain_name(name(row.op)));
        continue;
      }
      auto known = of_wrapper.find(wrapper);
      if (known == of_wrapper.end()) {
        std::string layer;
        const auto found = forward.find(event(wrapper).sequence);
        if (found != forward.end()) {
          const auto around = enclosing(found->second, of_op);
          if (around != of_op.end()) layer = around->second;
        }
        if (layer.empty()) layer = next(plain_name(name(wrapper)));
        known = of_wrapper.emplace(wrapper, std::move(layer)).first;
      }
      row.layer = known->second;
    }
  }

  /// The first operator of each sequence number in the step that is not of backward.
  [[nodiscard]] std::map<std::uint64_t, std::uint32_t> forward_ops() const {
    std::map<std::uint64_t, std::uint32_t> result;
    const std::int64_t from = step_ < 0 ? std::numeric_limits<std::int64_t>::min() : work_.steps[step_].start;
    const std::int64_t to = step_ < 0 ? std::numeric_limits<std::int64_t>::max() : work_.steps[step_].end;
    const auto first = std::ranges::lower_bound(profile_.events, from, {}, &ProfileEvent::start);
    for (auto at = first; at != profile_.events.end() && at->start < to; ++at) {
      if (at->kind != EventKind::op || at->is_backward || at->sequence == ProfileEvent::no_number) continue;
      result.emplace(at->sequence, static_cast<std::uint32_t>(at - profile_.events.begin()));
    }
    return result;
  }

  /// The named operator that is `op` or encloses it on its thread.
  [[nodiscard]] std::map<std::uint32_t, std::string>::const_iterator enclosing(
      std::uint32_t op, const std::map<std::uint32_t, std::string>& of_op) const {
    auto after = of_op.upper_bound(op);  // events are in the order of their starts
    const ProfileEvent& inner = event(op);
    for (int tries = 0; after != of_op.begin() && tries < 8; ++tries) {
      --after;
      const ProfileEvent& outer = event(after->first);
      if (outer.lane == inner.lane && outer.start <= inner.start && outer.end >= inner.end) return after;
    }
    return of_op.end();
  }

  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_.events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const { return profile_.texts[event(index).name]; }

  const Profile& profile_;
  const ProfileWork& work_;
  int step_;
  const std::vector<const GpuWork*>& first_work_;
  std::vector<ProfileRow>& rows_;
  std::map<std::string, int, std::less<>> modules_;
};

}  // namespace

void name_rows(const Profile& profile, const ProfileWork& work, int step,
               const std::vector<const GpuWork*>& first_work, std::vector<ProfileRow>& rows) {
  RowNamer(profile, work, step, first_work, rows).name_all();
}

}  // namespace trainyard
