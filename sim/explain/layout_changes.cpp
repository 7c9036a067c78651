// Other layouts of the same GPUs, for what_would_help.hpp. Their checks are left to the simulation: a layout
// that does not fit the model, the schedule or the memory is refused there with its reason.

#include "explain/changes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr const char* larger_tensor = "larger tensor groups";
constexpr const char* changes_batch = "another global batch; may change convergence";

class LayoutChanges : Changes {
public:
  explicit LayoutChanges(const ResolvedExperiment& resolved)
      : Changes(resolved),
        parallelism_(resolved.layout->parallelism),
        grid_(resolved.layout->grid),
        has_experts_(std::ranges::any_of(resolved.model->layers,
                                         [](const Layer& layer) { return layer.experts > 0; })) {}

  std::vector<WhatIf> all() {
    add_axes();
    add_experts();
    add_virtual_stages();
    add_schedules();
    add_micro_batches();
    add_sequence();
    add_recompute();
    add_shards();
    return std::move(all_);
  }

private:
  /// Ranks of the axes, as multiples of the present ones.
  struct Factors {
    double tensor = 1, pipeline = 1, data = 1;
  };

  /// Doubles one axis at the cost of another. The global batch stays: half the replicas have twice the
  /// micro-batches.
  void add_axes() {
    for (const Factors& factors :
         {Factors{.tensor = 2, .data = 0.5}, Factors{.tensor = 0.5, .data = 2},
          Factors{.pipeline = 2, .data = 0.5}, Factors{.pipeline = 0.5, .data = 2},
          Factors{.tensor = 2, .pipeline = 0.5}, Factors{.tensor = 0.5, .pipeline = 2}})
      add_axis(factors);
  }

  void add_axis(const Factors& factors) {
    const std::optional<int> tensor = times(grid_.tensor, factors.tensor);
    const std::optional<int> pipeline = times(grid_.pipeline, factors.pipeline);
    const std::optional<int> data = times(grid_.data, factors.data);
    const std::optional<int> micro_batches = times(experiment_.accumulation, 1 / factors.data);
    if (!tensor || !pipeline || !data || !micro_batches) return;
    const int gpus = std::ranges::min(cluster_.gpus_on_node);
    if (*tensor > grid_.tensor && *tensor > gpus) {
      if (std::ranges::none_of(all_, [](const WhatIf& what) { return what.change == larger_tensor; }))
        refuse(larger_tensor, fmt::format("groups of {} ranks would span nodes of {} GPUs", *tensor, gpus));
      return;
    }
    std::string change;
    Overrides set;
    const auto put = [&](std::string_view axis, int now, int then, std::string_view key) {
      if (now == then) return;
      change += fmt::format("{}{} {}", change.empty() ? "" : ", ", axis, then);
      if (!key.empty()) set.emplace_back(key, std::to_string(then));
    };
    put("tensor", grid_.tensor, *tensor, "parallelism.tensor");
    put("pipeline", grid_.pipeline, *pipeline, "parallelism.pipeline");
    put("data", grid_.data, *data, "");
    if (*micro_batches != experiment_.accumulation)
      set.emplace_back("accumulation", std::to_string(*micro_batches));
    if (*pipeline != grid_.pipeline) {
      if (!parallelism_.stages.empty()) set.emplace_back("parallelism.stages", "[]");
      if (*pipeline == 1) put_virtual_stages(1, set);
    }
    if (*tensor == 1 && parallelism_.sequence) set.emplace_back("parallelism.sequence", "false");
    if (*tensor > 1 && has_experts_ && !parallelism_.sequence)
      set.emplace_back("parallelism.sequence", "true");
    add(change, std::move(set));
  }

  void add_experts() {
    if (!has_experts_) return;
    for (const double factor : {2.0, 0.5}) {
      const std::optional<int> ranks = times(grid_.expert, factor);
      if (!ranks) continue;
      Overrides set{{"parallelism.expert", std::to_string(*ranks)}};
      add(fmt::format("experts over {}", *ranks), std::move(set));
    }
  }

  void add_virtual_stages() {
    if (grid_.pipeline == 1) return;
    const int now = parallelism_.virtual_stages;
    std::vector<int> numbers{2 * now};
    if (now % 2 == 0 && now > 2) numbers.push_back(now / 2);
    if (now > 1) numbers.push_back(1);
    for (const int virtual_stages : numbers) {
      Overrides set;
      put_virtual_stages(virtual_stages, set);
      if (!parallelism_.stages.empty()) set.emplace_back("parallelism.stages", "[]");
      add(virtual_stages == 1 ? "no virtual stages" : fmt::format("{} virtual stages", virtual_stages),
          std::move(set));
    }
  }

  /// Only the interleaved schedule has several.
  void put_virtual_stages(int virtual_stages, Overrides& set) const {
    if (virtual_stages == parallelism_.virtual_stages) return;
    set.emplace_back("parallelism.virtual_stages", std::to_string(virtual_stages));
    if (parallelism_.schedule)
      set.emplace_back("parallelism.schedule", virtual_stages > 1 ? "interleaved" : "1f1b");
  }

  void add_schedules() {
    if (grid_.pipeline == 1 || parallelism_.virtual_stages > 1) return;
    for (const auto& name : config::Names<PipelineSchedule>::table) {
      if (name.value == resolved_.layout->schedule || traits(name.value).has_virtual_stages ||
          is_other_name(name))
        continue;
      add(fmt::format("schedule {}", name.text), {{"parallelism.schedule", std::string(name.text)}});
    }
  }

  void add_micro_batches() {
    const int samples = experiment_.batch_per_gpu;
    const int number = experiment_.accumulation;
    const auto put = [&](double factor) {
      const std::optional<int> larger = times(samples, factor);
      const std::optional<int> fewer = times(number, 1 / factor);
      if (!larger || !fewer) return;
      add(fmt::format("micro-batches of {} sample{}", *larger, *larger == 1 ? "" : "s"),
          {{"batch_per_gpu", std::to_string(*larger)}, {"accumulation", std::to_string(*fewer)}});
    };
    put(2);
    put(0.5);
    add("twice the micro-batches", {{"accumulation", std::to_string(2 * number)}}, changes_batch);
  }

  void add_sequence() {
    if (grid_.tensor == 1) return;
    add(parallelism_.sequence ? "no sequence parallelism" : "sequence parallelism",
        {{"parallelism.sequence", parallelism_.sequence ? "false" : "true"}});
  }

  void add_recompute() {
    for (const auto& name : config::Names<Recompute>::table) {
      if (name.value == parallelism_.recompute || is_other_name(name)) continue;
      if (name.value == Recompute::alternate) continue;  // an option of torchtitan alone
      add(fmt::format("recompute {}", name.text), {{"parallelism.recompute", std::string(name.text)}});
    }
  }

  void add_shards() {
    if (grid_.data == 1) return;
    for (const auto& name : config::Names<Sharded>::table) {
      if (name.value == parallelism_.shard || is_other_name(name)) continue;
      add(fmt::format("shard {}", name.text), {{"parallelism.shard", std::string(name.text)}});
    }
    if (parallelism_.shard != Sharded::none && !resolved_.stack.overlap_parameters)
      add("gathering during forward", {{"stack.overlap_parameters", "true"}});
  }

  /// The product if it is a whole number.
  static std::optional<int> times(int number, double factor) {
    const double product = factor * number;
    const int whole = static_cast<int>(product);
    if (whole < 1 || whole != product) return std::nullopt;
    return whole;
  }

  const Parallelism& parallelism_;
  const Grid& grid_;
  bool has_experts_ = false;
};

}  // namespace

std::vector<WhatIf> layout_changes(const ResolvedExperiment& resolved) {
  return LayoutChanges(resolved).all();
}

}  // namespace trainyard
