#include "imports/profile_figures.hpp"

#include "imports/intervals.hpp"
#include "imports/op_names.hpp"
#include "imports/operands.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct TypeSize {
  std::string_view name;
  double bytes;
};

/// Bytes of a value by the type in a kernel's name, which only reductions name rightly: the others move
/// bytes.
std::optional<double> bytes_in_kernel_name(std::string_view kernel) {
  constexpr std::array<std::string_view, 3> movers{"SendRecv", "Broadcast", "AllGather"};
  for (const std::string_view mover : movers) {
    if (kernel.find(mover) != std::string_view::npos) return std::nullopt;
  }
  constexpr std::array<std::string_view, 5> reductions{"_Sum_", "_Max_", "_Min_", "_Prod_", "_Avg_"};
  constexpr std::array<TypeSize, 10> types{{{"f32", 4},
                                            {"f16", 2},
                                            {"bf16", 2},
                                            {"f64", 8},
                                            {"float", 4},
                                            {"half", 2},
                                            {"int8_t", 1},
                                            {"uint8_t", 1},
                                            {"i8", 1},
                                            {"u8", 1}}};
  for (const std::string_view reduction : reductions) {
    const std::size_t found = kernel.find(reduction);
    if (found == std::string_view::npos) continue;
    const std::string_view rest = kernel.substr(found + reduction.size());
    for (const TypeSize& type : types) {
      if (rest.starts_with(type.name)) return type.bytes;
    }
  }
  return std::nullopt;
}

std::string short_name(std::string_view kernel) {
  return std::string(kernel.substr(0, kernel.find_first_of("(<")));
}

/// Bytes of the first operand of the caller of a collective, which may be several tensors.
/// A shape without sizes is that of a single value, or of no tensor, which files do not tell apart but by the
/// type: with `single` it counts where that is a tensor's.
std::optional<double> operand_bytes(const Profile& profile, const ProfileEvent& caller,
                                    std::string_view kernel, bool single = false) {
  if (caller.operands == no_event) return std::nullopt;
  const Operands& operands = profile.operands[caller.operands];
  const auto shapes = operand_shapes(profile.texts[operands.dims]);
  if (!shapes || shapes->empty() || shapes->front().empty()) return std::nullopt;
  const auto types = operand_texts(profile.texts[operands.types]);
  std::optional<double> bytes = types && !types->empty() ? bytes_of_type(types->front()) : std::nullopt;
  double values = 0;
  for (const TensorShape& shape : shapes->front()) {
    const bool may_be_none = shape.empty() && shapes->front().size() == 1;
    if (may_be_none && !(single && bytes)) return std::nullopt;
    values += values_of(shape);
  }
  if (!bytes) bytes = bytes_in_kernel_name(kernel);
  return bytes ? std::optional(values * *bytes) : std::nullopt;
}

}  // namespace

CollectiveSize size_of(const Profile& profile, const GpuWork& work) {
  const ProfileEvent& kernel = profile.events[work.event];
  const std::string_view kernel_name = profile.texts[kernel.name];
  CollectiveSize result{.name = short_name(kernel_name)};
  const ProfileEvent* const record = work.record == no_event ? nullptr : &profile.events[work.record];
  for (const ProfileEvent* const event : {&kernel, record}) {
    if (event == nullptr || event->collective == no_event) continue;
    const CollectiveRecord& known = profile.collectives[event->collective];
    result.name = std::string(profile.texts[known.name]);
    result.group = known.group_size;
    if (known.in_bytes) {
      result.in = known.in_bytes;
      result.out = known.out_bytes;
      return result;
    }
    break;
  }
  if (record != nullptr) result.in = operand_bytes(profile, *record, kernel_name);
  return result;
}

CollectiveSize size_with_ranges(const Profile& profile, const GpuWork& work) {
  CollectiveSize result = size_of(profile, work);
  if (!result.in && work.record != no_event)
    result.in = operand_bytes(profile, profile.events[work.record],
                              profile.texts[profile.events[work.event].name], true);
  if (result.in || work.call == no_event) return result;
  const ProfileEvent& call = profile.events[work.call];
  if (names_operands(profile.texts[call.name]))
    result.in = operand_bytes(profile, call, profile.texts[profile.events[work.event].name], true);
  return result;
}

std::optional<Operation> operation_of(const Profile& profile, const GpuWork& work) {
  if (work.is_exchange) return Operation::all_to_all;
  auto operation = operation_named(size_of(profile, work).name);
  if (!operation) operation = operation_named(profile.texts[profile.events[work.event].name]);
  if (!operation && work.call != no_event)
    operation = operation_named(profile.texts[profile.events[work.call].name]);
  return operation;
}

ProfileFigures figures_of(const Profile& profile, const ProfileWork& work, std::optional<int> step) {
  ProfileFigures figures;
  std::vector<Interval> all;
  std::vector<Interval> computing;
  std::vector<Interval> communicating;
  for_each_work(work, step.value_or(-1), [&](const GpuWork& one) {
    const ProfileEvent& event = profile.events[one.event];
    const Interval interval{event.start, event.end};
    const std::int64_t time = event.end - event.start;
    all.push_back(interval);
    if (one.is_communication) {
      communicating.push_back(interval);
      ++figures.communication_kernels;
      figures.communication_time += time;
      const CollectiveSize size = size_of(profile, one);
      CollectiveFigures& sum = figures.collectives[size.name];
      ++sum.count;
      sum.bytes += size.in.value_or(0);
      sum.unsized += size.in ? 0 : 1;
      if (size.out && size.out != size.in) sum.out_bytes += *size.out;
    } else if (one.is_compute) {
      computing.push_back(interval);
      ++figures.compute_kernels;
      figures.compute_time += time;
      const auto phase = static_cast<std::size_t>(one.phase);
      ++figures.kernels_of_phase[phase];
      figures.time_of_phase[phase] += time;
    } else if (event.kind != EventKind::kernel) {
      figures.memory_time += time;
      ++(event.kind == EventKind::copy ? figures.copies : figures.fills);
    }
  });
  for (const Interval& one : all) figures.span = std::max(figures.span, one.end - all.front().start);
  figures.busy = total(merged(std::move(all)));
  computing = merged(std::move(computing));
  communicating = merged(std::move(communicating));
  figures.busy_compute = total(computing);
  figures.busy_communication = total(communicating);
  figures.exposed_communication = figures.busy_communication - common(computing, communicating);
  for (const ProfiledGradient& gradient : gradients_of(work, step.value_or(-1))) {
    ++figures.gradients;
    if (figures.gradient_values && gradient.values) {
      *figures.gradient_values += *gradient.values;
    } else {
      figures.gradient_values.reset();
    }
  }
  return figures;
}

}  // namespace trainyard
