#include "exports/chakra_et.hpp"

#include "config/diagnostic.hpp"
#include "exports/rank_step.hpp"
#include "exports/wire_writer.hpp"
#include "imports/chakra_schema.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace trainyard {
namespace {

using chakra::AttributeField;
using chakra::NodeField;

class ChakraWriter {
public:
  ChakraWriter(const Run& run, Rank rank) : run_(run), step_(rank_step(run, rank, "an execution trace")) {
    require_data_parallel_step(run.experiment, "an execution trace");
    waiting_ = ops_that_wait(run);
    side_ = side_kernels(run, rank);
    for (const TimelineEvent* bar : step_.other_work) {
      if (bar->is_collective) collectives_of_[step_.ready_op.at(bar->collective)].push_back(bar->collective);
    }
  }

  std::string write() {
    WireWriter metadata;
    metadata.text(chakra::MetadataField::version, chakra::schema_version);
    add_message(metadata);
    const std::vector<OpRow>& rows =
        step_of(run_).classes.at(class_index(run_.experiment.classes, step_.rank)).ops;
    add_collectives(-1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      add_op(static_cast<int>(i), step_.trace->ops.at(i), rows[i]);
      add_collectives(static_cast<int>(i));
    }
    return file_.bytes();
  }

private:
  void add_message(const WireWriter& message) {
    file_.varint(message.bytes().size());
    file_.append(message.bytes());
  }

  WireWriter new_node(std::string_view name, chakra::NodeType type,
                      const std::vector<std::uint64_t>& parents) {
    WireWriter node;
    node.number(NodeField::id, ++id_);
    node.text(NodeField::name, name);
    node.number(NodeField::type, static_cast<std::uint64_t>(type));
    node.numbers(NodeField::data_parents, parents);
    return node;
  }

  template <class Put>
  static void add_attribute(WireWriter& node, std::string_view name, Put put) {
    WireWriter attribute;
    attribute.text(AttributeField::name, name);
    put(attribute);
    node.text(NodeField::attribute, attribute.bytes());
  }
  static void add_number(WireWriter& node, std::string_view name, AttributeField type, double value) {
    add_attribute(node, name, [&](WireWriter& attribute) {
      attribute.number(type, static_cast<std::uint64_t>(std::llround(value)));
    });
  }
  static void add_text(WireWriter& node, std::string_view name, std::string_view value) {
    add_attribute(node, name, [&](WireWriter& attribute) { attribute.text(AttributeField::text, value); });
  }

  void add_op(int number, const Op& op, const OpRow& row) {
    std::vector<std::uint64_t> parents;
    if (last_op_) parents.push_back(*last_op_);
    for (const auto& [collective, id] : ids_) {
      if (waiting_.at(at(collective)) == number) parents.push_back(id);
    }
    if (op.phase == Phase::optimizer && !has_updated_) {
      for (const auto& [collective, id] : ids_) {
        if (std::ranges::find(parents, id) == parents.end()) parents.push_back(id);
      }
      has_updated_ = true;
    }
    WireWriter node =
        new_node(fmt::format("{} {} {}", row.layer, config::name_of(row.kind), config::name_of(row.phase)),
                 chakra::NodeType::compute, parents);
    last_op_ = id_;
    add_times(node, row.duration);
    add_number(node, chakra::is_cpu_op, AttributeField::truth, op.kind == OpKind::host ? 1 : 0);
    add_number(node, chakra::num_ops, AttributeField::int64, row.flops.si());
    add_number(node, chakra::tensor_size, AttributeField::uint64, row.bytes.si());
    add_text(node, chakra::phase, config::name_of(row.phase));
    add_message(node);
  }

  /// Both ends are rounded, so that the sum is right to 1 us.
  void add_times(WireWriter& node, Seconds duration) {
    const double start = end_;
    end_ += duration.si();
    constexpr double us = 1e6;
    node.number(NodeField::start_us, static_cast<std::uint64_t>(std::llround(start * us)));
    node.number(NodeField::duration_us,
                static_cast<std::uint64_t>(std::llround(end_ * us) - std::llround(start * us)));
    add_number(node, chakra::duration_ns, AttributeField::uint64, duration.si() * 1e9);
  }

  /// The framework's kernels before a collective, or those after it. Returns the last node, `parent` if there
  /// is none.
  std::optional<std::uint64_t> add_side_kernels(int collective, bool is_before, int ready_op,
                                                std::optional<std::uint64_t> parent) {
    const std::string& of = step_of(run_).collectives.at(at(collective)).name;
    for (const SideKernel& kernel : side_) {
      if (kernel.collective != collective || kernel.is_before != is_before) continue;
      std::vector<std::uint64_t> parents;
      if (parent) parents.push_back(*parent);
      WireWriter node = new_node(fmt::format("{} {}", of, kernel.name), chakra::NodeType::compute, parents);
      parent = id_;
      add_times(node, kernel.duration);
      add_number(node, chakra::is_cpu_op, AttributeField::truth, 0);
      add_text(node, chakra::phase, last_phase(ready_op).value_or(config::name_of(Phase::forward)));
      add_message(node);
    }
    return parent;
  }

  void add_collectives(int ready_op) {
    for (const int number : collectives_of_[ready_op]) {
      const CollectiveRow& row = step_of(run_).collectives.at(at(number));
      const auto type = chakra::type_of(row.operation);
      if (!type)
        throw InputError(fmt::format("Chakra's schema has no collective {}", config::name_of(row.operation)));
      std::vector<std::uint64_t> parents;
      const std::optional<std::uint64_t> ready = add_side_kernels(number, true, ready_op, last_op_);
      if (ready) parents.push_back(*ready);
      WireWriter node = new_node(row.name, chakra::NodeType::collective, parents);
      const std::uint64_t id = id_;
      add_number(node, chakra::is_cpu_op, AttributeField::truth, 0);
      add_number(node, chakra::comm_type, AttributeField::int64, static_cast<double>(*type));
      const double parts = chakra::counts_part(row.operation) ? run_.ranks : 1;
      add_number(node, chakra::comm_size, AttributeField::int64, row.size.si() / parts);
      add_text(node, chakra::pg_name, "0");
      if (last_phase(ready_op)) add_text(node, chakra::phase, *last_phase(ready_op));
      add_message(node);
      ids_.emplace(number, *add_side_kernels(number, false, ready_op, id));
    }
  }

  [[nodiscard]] std::optional<std::string_view> last_phase(int op) const {
    if (op < 0) return std::nullopt;
    return config::name_of(step_.trace->ops.at(at(op)).phase);
  }

  const Run& run_;
  ExportedStep step_;
  std::map<int, std::vector<int>> collectives_of_;  // by the op that completes their data
  std::uint64_t id_ = 0;
  std::optional<std::uint64_t> last_op_;
  std::map<int, std::uint64_t> ids_;  // by collective: its last node
  std::vector<SideKernel> side_;
  std::vector<std::optional<int>> waiting_;
  bool has_updated_ = false;
  double end_ = 0;  // s, of the last op
  WireWriter file_;
};

}  // namespace

std::string chakra_et(const Run& run, Rank rank) { return ChakraWriter(run, rank).write(); }

}  // namespace trainyard
