#include "run/fitting_layouts.hpp"

#include "config/diagnostic.hpp"
#include "config/keys.hpp"
#include "experiment/lay_out.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace trainyard {

namespace {

struct Setting {
  Parallelism parallelism;
  int micro_batches = 1;
};

/// A change of one setting, which is left out if it does not apply.
struct LayoutChange {
  std::string key;
  std::string value;
  std::function<void(Setting&)> make;
};

std::vector<LayoutChange> single_changes(const ResolvedExperiment& resolved, const Parallelism& now) {
  std::vector<LayoutChange> changes;
  const auto add = [&](const char* key, std::string value, std::function<void(Setting&)> make) {
    changes.push_back({std::string("parallelism.") + key, std::move(value), std::move(make)});
  };
  for (const auto& name : config::Names<Recompute>::table) {
    if (name.value > now.recompute)
      add("recompute", std::string(name.text),
          [what = name.value](Setting& s) { s.parallelism.recompute = what; });
  }
  for (const auto& name : config::Names<Sharded>::table) {
    if (name.value > now.shard && resolved.settings.sync.algorithm == Algorithm::automatic)
      add("shard", std::string(name.text), [what = name.value](Setting& s) { s.parallelism.shard = what; });
  }
  const auto add_axis = [&](const char* key, int Parallelism::*axis, int most) {
    for (int ranks = 2 * now.*axis; ranks <= most; ranks *= 2)
      add(key, std::to_string(ranks), [axis, ranks](Setting& s) { s.parallelism.*axis = ranks; });
  };
  const int all = resolved.cluster->ranks();
  add_axis("tensor", &Parallelism::tensor, std::ranges::min(resolved.cluster->gpus_on_node));
  add_axis("pipeline", &Parallelism::pipeline, all);
  add_axis("context", &Parallelism::context, all);
  add_axis("expert", &Parallelism::expert, all);
  return changes;
}

class Trials {
public:
  explicit Trials(const ResolvedExperiment& resolved)
      : model_(*resolved.model),
        trial_(resolved),
        now_{resolved.layout ? resolved.layout->parallelism : Parallelism{}, resolved.settings.accumulation} {
  }

  std::vector<FittingLayout> fitting() {
    const std::vector<LayoutChange> changes = single_changes(trial_, now_.parallelism);
    for (const LayoutChange& change : changes) attempt({&change});
    const bool has_single = !found_.empty();
    for (std::size_t i = 0; !has_single && i < changes.size(); ++i) {
      for (std::size_t j = i + 1; j < changes.size(); ++j) {
        if (changes[i].key != changes[j].key) attempt({&changes[i], &changes[j]});
      }
    }
    std::ranges::stable_sort(found_, std::greater{}, &FittingLayout::peak);
    constexpr std::size_t most = 4;
    if (found_.size() > most) found_.resize(most);
    return std::move(found_);
  }

private:
  /// Changes of the same keys come in order: the smallest that fits is enough.
  void attempt(const std::vector<const LayoutChange*>& changes) {
    std::string keys;
    for (const LayoutChange* change : changes) keys += change->key;
    if (fitting_keys_.contains(keys)) return;
    Setting setting = now_;
    FittingLayout fitting;
    for (const LayoutChange* change : changes) {
      change->make(setting);
      fitting.set.emplace_back(change->key, change->value);
    }
    const auto micro_batches = with_same_batch(setting.parallelism);
    if (!micro_batches) return;
    setting.micro_batches = *micro_batches;
    if (setting.micro_batches != now_.micro_batches)
      fitting.set.emplace_back("accumulation", std::to_string(setting.micro_batches));
    const std::optional<Bytes> peak = peak_with(setting);
    if (!peak) return;
    fitting.peak = *peak;
    found_.push_back(std::move(fitting));
    fitting_keys_.insert(std::move(keys));
  }

  /// Micro-batches that keep the global batch; none if that is impossible.
  [[nodiscard]] std::optional<int> with_same_batch(const Parallelism& parallelism) const {
    const long long ranks = trial_.cluster->ranks();
    const long long of_replica = ranks_of_replica(parallelism);
    if (of_replica > ranks || ranks % of_replica != 0) return std::nullopt;
    const long long then = ranks / of_replica;
    const long long all = ranks / ranks_of_replica(now_.parallelism) * now_.micro_batches;
    if (all % then != 0 || all / then > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(all / then);
  }

  /// The memory of the fullest rank, if the layout is possible and fits.
  std::optional<Bytes> peak_with(const Setting& setting) {
    try {
      lay_out(trial_, model_, setting.parallelism, trial_.settings.batch_per_gpu, setting.micro_batches);
      const MemoryReport report = fullest(memory_reports(trial_));
      if (report.fits) return report.peak;
    } catch (const InputError&) {  // impossible for this model or these ranks
    }
    return std::nullopt;
  }

  Model model_;
  ResolvedExperiment trial_;
  Setting now_;
  std::vector<FittingLayout> found_;
  std::set<std::string> fitting_keys_;
};

/// "--set stack.gradient_dtype=bf16 (70.1 GB)" if the weights have 16 bits, the gradients more, and gradients
/// of 16 bits alone make the step fit; otherwise empty.
std::string smaller_gradients(ResolvedExperiment trial) {
  const Precision precision = trial.settings.precision;
  const Bytes value = element_sizes(precision).gradient;
  if (!trial.model || size_of(trial.stack.gradient_dtype, precision) <= value) return {};
  trial.stack.gradient_dtype = precision == Precision::fp16 ? GradientDtype::fp16 : GradientDtype::bf16;
  const MemoryReport report = fullest(memory_reports(trial));
  if (!report.fits) return {};
  return fmt::format("\n    --set stack.gradient_dtype={} ({})", config::name_of(trial.stack.gradient_dtype),
                     gpu_memory(report.peak));
}

/// "--set precision=pure_bf16 (58.3 GB, ...)" if only an fp32 copy of the weights, the optimizer's state in
/// fp32 and larger gradients keep a step in bf16 from fitting; otherwise empty.
std::string without_fp32_copies(ResolvedExperiment trial) {
  const Precision precision = trial.settings.precision;
  if (!trial.model || (precision != Precision::bf16 && precision != Precision::amp_bf16)) return {};
  trial.settings.precision = Precision::pure_bf16;
  std::string set = "--set precision=pure_bf16";
  if (size_of(trial.stack.gradient_dtype, Precision::pure_bf16) >
      element_sizes(Precision::pure_bf16).gradient) {
    trial.stack.gradient_dtype = GradientDtype::bf16;
    set += " --set stack.gradient_dtype=bf16";
  }
  const MemoryReport report = fullest(memory_reports(trial));
  if (!report.fits) return {};
  return fmt::format("\n    {} ({}; no fp32 weights, may change convergence)", set, gpu_memory(report.peak));
}

bool can_share_model(const ResolvedExperiment& resolved) {
  return resolved.model && resolved.cluster->ranks() > 1 && not_with_shared_model(resolved.settings).empty();
}

}  // namespace

std::vector<FittingLayout> layouts_that_fit(const ResolvedExperiment& resolved) {
  if (!can_share_model(resolved)) return {};
  return Trials(resolved).fitting();
}

std::string fitting_hint(const ResolvedExperiment& resolved) {
  std::vector<std::string> choices;
  for (std::string types : {smaller_gradients(resolved), without_fp32_copies(resolved)}) {
    if (!types.empty()) choices.push_back(std::move(types));
  }
  const bool shares = can_share_model(resolved);
  const std::vector<FittingLayout> layouts =
      shares ? layouts_that_fit(resolved) : std::vector<FittingLayout>{};
  if (choices.empty() && layouts.empty())
    return shares ? "\n  no single change of 'parallelism', and no pair of changes, makes it fit" : "";
  for (const FittingLayout& layout : layouts) {
    std::vector<std::string> set;
    for (const auto& [key, value] : layout.set) set.push_back(fmt::format("--set {}={}", key, value));
    choices.push_back(fmt::format("\n    {} ({})", fmt::join(set, " "), gpu_memory(layout.peak)));
  }
  return fmt::format("\n  fits with{}", fmt::join(choices, ""));
}

}  // namespace trainyard
