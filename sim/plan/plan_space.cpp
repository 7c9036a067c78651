#include "plan/plan_space.hpp"

#include "config/read.hpp"
#include "experiment/prediction_error.hpp"
#include "run/child_processes.hpp"
#include "run/energy.hpp"
#include "run/run.hpp"
#include "sweep/job_points.hpp"
#include "sweep/read_point.hpp"
#include "sweep/value_range.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* nodes_key = "nodes";
constexpr const char* gpus_key = "gpus";
constexpr const char* price_key = "platform.node.price.hour";
constexpr const char* parallelism_key = "parallelism";
constexpr const char* plan_key = "plan";

Overrides with(Overrides overrides, const std::string& key, const std::string& value) {
  overrides.emplace_back(key, value);
  return overrides;
}

/// The keys of --over that are no axes of the layout, which make groups, and those that are.
struct Over {
  std::vector<LayoutAxis> groups;
  std::vector<LayoutAxis> layout;
};

/// Whether stages are unequal follows from their number.
void refuse_unequal_stages(std::string_view key) {
  if (key == "parallelism.unequal_stages")
    throw InputError(fmt::format("a plan gives {} its value", key),
                     "parallelism.pipeline=2,4 searches these numbers of stages");
}

Over over_of(const PlanSettings& settings) {
  Over over;
  for (const auto& [key, texts] : settings.over) {
    LayoutAxis axis{.key = key, .values = {}};
    for (const std::string& text : texts) {
      for (std::string& value : values_of_range(text)) axis.values.push_back(std::move(value));
    }
    if (key == nodes_key || key == gpus_key || key == "accumulation")
      throw InputError(
          fmt::format("{} is not varied: a plan gives it a value", key),
          key == "accumulation" ? "global_batch says how many samples a step has" : "gpus: 8..64");
    refuse_unequal_stages(key);
    (is_layout_key(key) ? over.layout : over.groups).push_back(std::move(axis));
  }
  return over;
}

/// Keys of the layout that the command line sets are axes with one value.
void take_fixed_axes(Overrides& set, std::vector<LayoutAxis>& layout) {
  std::erase_if(set, [&](const auto& entry) {
    refuse_unequal_stages(entry.first);
    if (!is_layout_key(entry.first)) return false;
    const auto known = std::ranges::find(layout, entry.first, &LayoutAxis::key);
    if (known != layout.end())
      throw InputError(fmt::format("{} is both set and varied", entry.first), "give it once");
    layout.push_back({.key = entry.first, .values = {entry.second}});
    return true;
  });
}

void require_shared_model(const ResolvedExperiment& base) {
  if (!base.model) throw InputError("a plan needs a model: a trace says how its ranks share the work");
  if (base.settings.faults)
    throw InputError("a plan compares steps, and faults are months apart",
                     "leave out faults; run the best plan with them");
  const std::vector<UnsharedSetting> unshared = not_with_shared_model(base.settings);
  if (!unshared.empty())
    throw InputError(fmt::format("ranks cannot share a model with {}", unshared.front().what),
                     fmt::format("leave out {}", unshared.front().key));
}

/// The job of a group without a layout, on the whole nodes that hold its GPUs.
class Bases {
public:
  Bases(const config::Catalogue& catalogue, const PlanRequest& request, InputFiles& files)
      : catalogue_(catalogue), request_(request), files_(files) {
    Sweep unvaried;
    unvaried.experiment = request.experiment;
    unvaried.set = request.set;
    one_gpu_scale_ = kept_one_gpu_scale(catalogue, unvaried, {}, files);
  }

  ResolvedExperiment read(const Overrides& more) {
    Overrides all = request_.set;
    all.insert(all.end(), more.begin(), more.end());
    std::erase_if(all, [](const auto& entry) { return entry.first.starts_with(parallelism_key); });
    for (const char* const key : {parallelism_key, plan_key}) all.emplace_back(key, config::unset_text);
    for (const char* const key : {"batch_per_gpu", "accumulation"}) all.emplace_back(key, "1");
    // As all points: the measurement is of the experiment's own batch.
    if (one_gpu_scale_) all.emplace_back("one_gpu_scale", shortest(*one_gpu_scale_));
    return resolve(catalogue_, request_.experiment, all, files_);
  }

  /// The layout settings of the experiment or the command line.
  Parallelism own_parallelism() {
    config::Document document = experiment_document(catalogue_, request_.experiment, files_);
    for (const auto& [key, value] : request_.set) {
      if (key.starts_with(parallelism_key)) config::set(document, key, value);
    }
    const config::Node* const node = document.root.find(parallelism_key);
    if (node == nullptr || config::is_unset(*node)) return {};
    config::Node own = *node;
    document.root = std::move(own);
    return config::read<Parallelism>(document);
  }

private:
  const config::Catalogue& catalogue_;
  const PlanRequest& request_;
  InputFiles& files_;
  std::optional<double> one_gpu_scale_;
};

int gpus_of_node(const ResolvedExperiment& probe) {
  return probe.settings.gpus_per_node.value_or(static_cast<int>(probe.platform.gpus.size()));
}

std::string packed_verdicts(const std::vector<LayoutVerdict>& verdicts) {
  nlohmann::json all = nlohmann::json::array();
  for (const LayoutVerdict& verdict : verdicts) {
    all.push_back(
        {static_cast<int>(verdict.fate), verdict.reason, verdict.time.si(),
         verdict.energy ? nlohmann::json(verdict.energy->si()) : nlohmann::json(), verdict.memory,
         verdict.error ? nlohmann::json{verdict.error->centre, verdict.error->sd} : nlohmann::json()});
  }
  std::string bytes;
  nlohmann::json::to_cbor(all, bytes);
  return bytes;
}

/// Which layouts one process judges.
struct Share {
  std::size_t group = 0;
  std::size_t first = 0;
  std::size_t end = 0;
};

class SpaceMaker {
public:
  SpaceMaker(const config::Catalogue& catalogue, PlanRequest request, InputFiles& files, int parallel)
      : catalogue_(catalogue), files_(files), parallel_(parallel) {
    space_.request = std::move(request);
  }

  PlanSpace make() {
    find_global_batch();
    over_ = over_of(space_.request.settings);
    take_fixed_axes(space_.request.set, over_.layout);
    for (const LayoutAxis& axis : over_.groups) space_.group_keys.push_back(axis.key);
    space_.group_keys.emplace_back(gpus_key);
    refuse_second_price();
    own_ = Bases(catalogue_, space_.request, files_).own_parallelism();
    make_groups();
    require_groups();
    make_axes();
    if (space_.request.settings.quantile) make_randomness();
    make_points(judged());
    if (space_.randomness) require_randomness();
    return std::move(space_);
  }

private:
  void refuse_second_price() const {
    const PlanRequest& request = space_.request;
    if (request.settings.prices.empty()) return;
    const bool is_set =
        std::ranges::any_of(request.set, [](const auto& set) { return set.first == price_key; });
    if (is_set || std::ranges::find(over_.groups, price_key, &LayoutAxis::key) != over_.groups.end())
      throw InputError(fmt::format("{} is given for all machines, and a price for one", price_key),
                       "give the price of each machine");
  }

  void make_groups() {
    std::vector<Overrides> hardware{{}};
    for (const LayoutAxis& axis : over_.groups) {
      std::vector<Overrides> longer;
      for (const Overrides& set : hardware) {
        for (const std::string& value : axis.values) longer.push_back(with(set, axis.key, value));
      }
      hardware = std::move(longer);
    }
    for (const Overrides& set : hardware) add_groups(set);
    require_platforms_of_prices();
  }

  /// The keys of a group's machine, also of its own price.
  void take_price(PlanGroup& group, Overrides& hardware) const {
    const auto& prices = space_.request.settings.prices;
    const auto price =
        std::ranges::find(prices, group.platform, [](const auto& entry) { return entry.first; });
    if (price == prices.end()) return;
    group.price = price->second;
    hardware.emplace_back(price_key, price_text(group));
  }

  static std::string price_text(const PlanGroup& group) {
    return group.price ? fmt::format("{} USD", shortest(group.price->si())) : std::string(default_value);
  }

  void require_platforms_of_prices() const {
    for (const auto& [platform, price] : space_.request.settings.prices) {
      std::vector<std::string> names;
      for (const PlanGroup& group : space_.groups) {
        if (!group.platform.empty() && std::ranges::find(names, group.platform) == names.end())
          names.push_back(group.platform);
      }
      if (std::ranges::find(names, platform) == names.end())
        throw InputError(
            fmt::format("a price is given for {}, which this plan does not use", in_quotes(platform)),
            fmt::format("{}", fmt::join(names, ", ")));
    }
  }

  /// One group for each number of GPUs on this hardware.
  void add_groups(Overrides hardware) {
    Bases bases(catalogue_, space_.request, files_);
    PlanGroup group;
    for (const auto& [key, value] : hardware) group.values.push_back(value);
    std::vector<int> counts;
    int of_node = 0;
    try {
      const ResolvedExperiment probe = bases.read(hardware);
      require_shared_model(probe);
      group.platform = probe.platform.name;
      take_price(group, hardware);
      of_node = gpus_of_node(probe);
      const std::optional<std::string>& asked = space_.request.settings.gpus;
      counts = asked ? gpu_counts(*asked) : std::vector{probe.cluster->ranks()};
    } catch (const InputError& error) {
      fail(group, error.diagnostics().front().message);
      if (!first_) first_ = std::current_exception();
      return;
    }
    for (const int gpus : counts) add_group(bases, hardware, group, gpus, (gpus + of_node - 1) / of_node);
  }

  void add_group(Bases& bases, const Overrides& hardware, PlanGroup group, int gpus, int nodes) {
    group.gpus = gpus;
    group.nodes = nodes;
    group.values.push_back(std::to_string(gpus));
    try {
      ResolvedExperiment base =
          bases.read(with(with(hardware, nodes_key, std::to_string(nodes)), gpus_key, std::to_string(gpus)));
      require_known(base, nodes);
      group.global_batch = *space_.request.settings.global_batch;
      space_.groups.push_back(std::move(group));
      bases_.push_back(std::move(base));
    } catch (const InputError& error) {
      fail(group, error.diagnostics().front().message);
      if (!first_) first_ = std::current_exception();
    } catch (const JobImpossible& error) {
      fail(group, error.what());
    }
  }

  /// The goal's figure must be known: without its bound every layout would be simulated in vain.
  void require_known(const ResolvedExperiment& base, int nodes) const {
    const PlanGoal goal = space_.request.settings.goal;
    std::optional<std::string> reason;
    if (goal == PlanGoal::energy)
      reason = energy_unknown(base.platform, base.gpu, base.classes.front().trace);
    const Known<double> rent = rent_per_hour(base.platform, nodes);
    if (goal == PlanGoal::cost && !rent) reason = rent.error();
    if (reason) throw InputError(fmt::format("the goal is {}, but {}", config::name_of(goal), *reason));
  }

  void fail(PlanGroup group, const std::string& reason) {
    group.failure = reason;
    space_.groups.push_back(std::move(group));
    bases_.emplace_back();
  }

  /// That of the experiment with its own layout and GPUs, if the settings have none.
  void find_global_batch() {
    std::optional<int>& batch = space_.request.settings.global_batch;
    if (batch) return;
    if (space_.request.experiment == no_file)
      throw InputError("the samples of a step are not given", "--global-batch 512");
    const ResolvedExperiment own = resolve(catalogue_, space_.request.experiment, space_.request.set, files_);
    batch = own.settings.batch_per_gpu * own.settings.accumulation * replicas(own);
  }

  void require_groups() {
    if (std::ranges::any_of(space_.groups, [](const PlanGroup& group) { return group.failure.empty(); }))
      return;
    if (first_) std::rethrow_exception(first_);
    throw InputError(space_.groups.front().failure);
  }

  /// The axes of all groups together: those of the largest have the values of all others.
  void make_axes() {
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      axes_.emplace_back();
      if (!bases_[i]) continue;
      axes_[i] = layout_axes(*bases_[i], over_.layout, space_.groups[i].global_batch);
      for (const LayoutAxis& axis : axes_[i]) add_axis(axis);
      layouts_.resize(i + 1);
      layouts_[i] = layouts(*bases_[i], own_, axes_[i], space_.groups[i].global_batch);
      space_.groups[i].layouts = layouts_[i].size();
    }
    layouts_.resize(bases_.size());
  }

  /// The speeds and common errors of the groups; the points bring the errors.
  void make_randomness() {
    std::vector<GroupSpeeds> speeds;
    std::vector<CommonError> common;
    std::uint64_t seed = 0;
    for (std::optional<ResolvedExperiment>& base : bases_) {
      speeds.emplace_back();
      common.emplace_back();
      if (!base) {
        errors_.emplace_back();
        continue;
      }
      speeds.back() = {.waited = waited_gpus(*base), .nominal = base->stack.slowest_gpu};
      seed = static_cast<std::uint64_t>(base->settings.random.seed);
      const ErrorTables& tables =
          errors_
              .emplace_back(ErrorTables{.of_replicas = base->published_errors,
                                        .of_layouts = known_errors(catalogue_, fit_of(*base), true, files_)})
              .value();
      if (const auto& errors = tables.of_layouts ? tables.of_layouts : tables.of_replicas)
        common.back() = common_error_of(*errors);
    }
    const PlanSettings& settings = space_.request.settings;
    space_.randomness = {.draws = PlanDraws(*settings.quantile, settings.draws, seed, std::move(speeds)),
                         .seed = seed,
                         .common = std::move(common)};
  }

  /// Groups usually have the same table.
  const CommonError& common_error_of(const PublishedErrors& errors) {
    const auto [known, is_new] = common_errors_.try_emplace(&errors);
    if (is_new) known->second = common_error(errors);
    return known->second;
  }

  void require_randomness() {
    PlanRandomness& randomness = *space_.randomness;
    if (randomness.errors_unknown.empty()) return;
    std::ranges::fill(randomness.errors, ErrorSpread{});
    for (std::size_t group = 0; group < space_.groups.size(); ++group) {
      if (randomness.draws.speeds(group).waited.variation > 0) return;
    }
    throw InputError(
        fmt::format(
            "a quantile needs something that varies, but the expected error is unknown ({}), and GPUs "
            "do not differ in speed",
            randomness.errors_unknown),
        "leave out 'quantile', or 'random.gpus: none'");
  }

  void add_axis(const LayoutAxis& axis) {
    const auto known = std::ranges::find(space_.axes, axis.key, &LayoutAxis::key);
    if (known == space_.axes.end()) {
      space_.axes.push_back(axis);
      return;
    }
    for (const std::string& value : axis.values) {
      if (std::ranges::find(known->values, value) == known->values.end()) known->values.push_back(value);
    }
  }

  /// The work of judging every layout.
  /// The verdict of every layout, by group.
  std::vector<std::vector<LayoutVerdict>> judged() {
    constexpr std::size_t share = 256;  // layouts: enough that a process is worth its start
    std::vector<Share> shares;
    for (std::size_t group = 0; group < layouts_.size(); ++group) {
      for (std::size_t first = 0; first < layouts_[group].size(); first += share)
        shares.push_back({group, first, std::min(first + share, layouts_[group].size())});
    }
    const auto make = [&](int number) {
      const Share& own = shares[at(number)];
      LayoutJudge judge(*bases_[own.group], space_.request.settings.memory_headroom,
                        errors_.empty() ? std::nullopt : errors_[own.group]);
      return packed_verdicts(
          judge.judge(std::span(layouts_[own.group]).subspan(own.first, own.end - own.first)));
    };
    std::vector<std::vector<LayoutVerdict>> all(layouts_.size());
    const std::vector<std::string> answers = in_children(static_cast<int>(shares.size()), parallel_, make);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      for (const nlohmann::json& one : nlohmann::json::from_cbor(answers[i])) {
        LayoutVerdict& verdict = all[shares[i].group].emplace_back(
            LayoutVerdict{.fate = static_cast<LayoutFate>(one.at(0).get<int>()),
                          .reason = one.at(1),
                          .time = Seconds{one.at(2).get<double>()},
                          .memory = one.at(4)});
        if (!one.at(3).is_null()) verdict.energy = Joules{one.at(3).get<double>()};
        if (!one.at(5).is_null())
          verdict.error = ErrorSpread{.centre = one.at(5).at(0), .sd = one.at(5).at(1)};
      }
    }
    return all;
  }

  void make_points(const std::vector<std::vector<LayoutVerdict>>& verdicts) {
    Sweep& sweep = space_.sweep;
    sweep.name = space_.request.name;
    sweep.title = space_.request.name;
    sweep.experiment = space_.request.experiment;
    sweep.set = with(space_.request.set, plan_key, std::string(config::unset_text));
    for (const LayoutAxis& axis : over_.groups) sweep.keys.push_back(axis.key);
    if (!space_.request.settings.prices.empty()) sweep.keys.emplace_back(price_key);
    for (const char* const key : {nodes_key, gpus_key}) sweep.keys.emplace_back(key);
    for (const std::string& key : layout_keys(space_.axes)) sweep.keys.push_back(key);
    for (std::size_t group = 0; group < verdicts.size(); ++group) {
      for (std::size_t i = 0; i < verdicts[group].size(); ++i)
        add_point(group, layouts_[group][i], verdicts[group][i]);
    }
    const PlanSettings& settings = space_.request.settings;
    sweep.goal.epochs = settings.epochs;
    sweep.goal.target = settings.target;
    sweep.goal.deadline = settings.deadline;
    sweep.goal.budget = settings.budget;
    sweep = with_jobs(catalogue_, std::move(sweep), files_);
  }

  void add_point(std::size_t number, const PlanLayout& layout, const LayoutVerdict& verdict) {
    PlanGroup& group = space_.groups[number];
    if (verdict.fate == LayoutFate::too_large) {
      ++group.too_large;
      group.too_large_at.insert({layout.parallelism.tensor, layout.parallelism.pipeline});
    }
    if (verdict.fate == LayoutFate::impossible) ++group.impossible[verdict.reason];
    if (verdict.fate != LayoutFate::open) return;
    PointValues values(group.values.begin(), group.values.end() - 1);
    if (!space_.request.settings.prices.empty()) values.push_back(price_text(group));
    values.push_back(std::to_string(group.nodes));
    values.push_back(std::to_string(group.gpus));
    for (std::string& value : layout_values(space_.axes, layout)) values.push_back(std::move(value));
    space_.sweep.points.push_back(std::move(values));
    space_.layouts.push_back(layout);
    PointBound& bound = space_.bounds.emplace_back(PointBound{.group = number,
                                                              .step_s = verdict.time.si(),
                                                              .judged_s = verdict.time.si(),
                                                              .memory = verdict.memory});
    if (verdict.energy) bound.energy_j = verdict.energy->si();
    if (!space_.randomness) return;
    space_.randomness->errors.push_back(verdict.error.value_or(ErrorSpread{}));
    if (!verdict.error) space_.randomness->errors_unknown = verdict.reason;
  }

  const config::Catalogue& catalogue_;
  InputFiles& files_;
  int parallel_;
  PlanSpace space_;
  Over over_;
  Parallelism own_;
  std::vector<std::optional<ResolvedExperiment>> bases_;  ///< by group; empty for one that failed
  std::vector<std::vector<LayoutAxis>> axes_;             ///< by group
  std::vector<std::vector<PlanLayout>> layouts_;          ///< by group
  std::vector<std::optional<ErrorTables>> errors_;        ///< by group; empty without a quantile
  std::map<const PublishedErrors*, CommonError> common_errors_;
  std::exception_ptr first_;  ///< of a group that is impossible
};

}  // namespace

std::vector<int> gpu_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : split_list(text)) {
    const bool is_plain_range = part.find("..") != std::string::npos && part.find(' ') == std::string::npos;
    for (const std::string& value : values_of_range(is_plain_range ? part + " times 2" : part)) {
      const Parsed<long long> number = parse_integer(value);
      if (!number || *number < 1 || *number > 10'000'000)
        throw InputError(fmt::format("gpus is {}, not a number of GPUs", in_quotes(text)),
                         "64, 8,24 or 8..64");
      counts.push_back(static_cast<int>(*number));
    }
  }
  return counts;
}

PlanSpace plan_space(const config::Catalogue& catalogue, PlanRequest request, InputFiles& files,
                     int parallel) {
  return SpaceMaker(catalogue, std::move(request), files, parallel).make();
}

}  // namespace trainyard
