// The answer of a plan against the simulation of every combination of values, which this test lists by
// itself.

#include "plan/small_plans.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "sanitized.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <rapidcheck.h>

namespace trainyard {
namespace {

using testing::joined;
using testing::request_for;
using testing::searched;
using testing::shipped;
using testing::shipped_files;
using testing::small_models;
using testing::space_of;

using Texts = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, Texts>>;  // by key

constexpr double cannot_run = std::numeric_limits<double>::infinity();

/// Every combination of the values as settings, with the micro-batches that make up the global batch.
std::vector<Overrides> combinations(const Values& values, int ranks, int global_batch) {
  std::vector<Overrides> all{{}};
  for (const auto& [key, texts] : values) {
    std::vector<Overrides> longer;
    for (const Overrides& one : all) {
      for (const std::string& text : texts) longer.push_back(joined(one, {{key, text}}));
    }
    all = std::move(longer);
  }
  std::vector<Overrides> possible;
  for (const Overrides& one : all) {
    const std::map<std::string, std::string> its(one.begin(), one.end());
    const auto number = [&](const char* key) { return std::stoi(its.at(key)); };
    const int of_replica = number("parallelism.tensor") * number("parallelism.pipeline");
    const int at_once = ranks / of_replica * number("batch_per_gpu");
    if (ranks % of_replica != 0 || global_batch % at_once != 0) continue;
    possible.push_back(joined(one, {{"accumulation", std::to_string(global_batch / at_once)}}));
  }
  return possible;
}

/// The step of each combination; infinite if it is impossible.
std::vector<double> steps_of(const PlanRequest& request, const std::vector<Overrides>& combinations) {
  const auto make = [&](int number) {
    const Overrides job = joined(request.set, {{"gpus", *request.settings.gpus}, {"nodes", "1"}});
    try {
      const Run run =
          simulate(resolve(shipped(), no_file, joined(job, combinations[at(number)]), shipped_files()),
                   {.timeline = false, .rows = false});
      return packed({run.pace.time.si()});
    } catch (const InputError&) {
      return packed({cannot_run});
    } catch (const JobImpossible&) {
      return packed({cannot_run});
    }
  };
  std::vector<double> steps;
  for (const std::string& step : in_children(static_cast<int>(combinations.size()), 2, make))
    steps.push_back(unpacked(step).front());
  return steps;
}

/// The same for all combinations of one layout: kinds of sharded state where no rank holds what another does.
std::string name_of(const Overrides& combination, int ranks) {
  std::map<std::string, std::string> its(combination.begin(), combination.end());
  if (std::stoi(its.at("parallelism.tensor")) * std::stoi(its.at("parallelism.pipeline")) == ranks)
    its.erase("parallelism.shard");
  std::string name;
  for (const auto& [key, value] : its) name += key + "=" + value + " ";
  return name;
}

/// Sums in another order differ in the last bits.
bool is_same(double a, double b) { return std::abs(a - b) <= 1e-12 * b; }

/// The least two steps of the layouts that these values allow.
std::vector<double> best_among(const std::vector<Overrides>& combinations, const std::vector<double>& steps,
                               const Texts& shards, int ranks) {
  std::map<std::string, double> of_layouts;
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const std::map<std::string, std::string> its(combinations[i].begin(), combinations[i].end());
    if (std::ranges::find(shards, its.at("parallelism.shard")) == shards.end() || steps[i] == cannot_run)
      continue;
    const auto [layout, is_new] = of_layouts.emplace(name_of(combinations[i], ranks), steps[i]);
    CAPTURE(layout->first);
    CAPTURE(its.at("parallelism.shard"));
    CAPTURE(layout->second);
    CAPTURE(steps[i]);
    CHECK(is_same(layout->second, steps[i]));  // what is not counted twice
  }
  std::vector<double> ascending;
  for (const auto& [name, step] : of_layouts) ascending.push_back(step);
  std::ranges::sort(ascending);
  ascending.resize(std::min<std::size_t>(ascending.size(), 2));
  return ascending;
}

/// The best two steps of the plan; none where it is refused or has no layouts.
std::vector<double> planned(const PlanRequest& request) {
  const PlanSpace space = space_of(request);
  const GroupSearch search = searched(space).searches.front();
  CHECK(search.failed == 0);
  if (!search.best) return {};
  return search.second ? std::vector{search.value, *search.second} : std::vector{search.value};
}

PlanRequest request_of(const std::string& platform, const Overrides& model, int ranks, int global_batch,
                       const Values& values) {
  PlanRequest request = request_for(platform, model, std::to_string(ranks), {});
  request.settings.global_batch = global_batch;
  request.settings.over = values;
  return request;
}

/// The subset of `all` whose bits are set.
template <class T>
std::vector<T> subset(const std::vector<T>& all, unsigned bits) {
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((bits >> i & 1U) != 0) some.push_back(all[i]);
  }
  return some;
}

const Texts all_shards{"none", "optimizer", "gradients", "parameters"};

TEST_CASE("Whatever kinds of sharded state a plan may choose from, it finds the best two of all layouts" *
          doctest::skip(testing::is_sanitized)) {
  const int ranks = 4;
  for (const Overrides& model : {small_models()[0], small_models()[4]}) {
    const bool has_blocks = model.front().second != "alexnet";
    Values values{{"parallelism.tensor", has_blocks ? Texts{"1", "2", "4"} : Texts{"1"}},
                  {"parallelism.pipeline", has_blocks ? Texts{"1", "2", "4"} : Texts{"1"}},
                  {"parallelism.shard", all_shards},
                  {"parallelism.virtual_stages", {"1"}},
                  {"parallelism.sequence", {"false"}},
                  {"parallelism.recompute", {"none"}},
                  {"batch_per_gpu", {"1", "2"}}};
    const std::vector<Overrides> all = combinations(values, ranks, 8);
    const std::vector<double> steps = steps_of(request_of("dgx1v", model, ranks, 8, values), all);
    for (unsigned bits = 1; bits < 1U << all_shards.size(); ++bits) {
      const Texts shards = subset(all_shards, bits);
      CAPTURE(model.front().second);
      CAPTURE(fmt::format("{}", fmt::join(shards, ",")));
      values[2].second = shards;
      const std::vector<double> best = planned(request_of("dgx1v", model, ranks, 8, values));
      const std::vector<double> expected = best_among(all, steps, shards, ranks);
      CAPTURE(fmt::format("{}", fmt::join(best, " ")));
      CAPTURE(fmt::format("{}", fmt::join(expected, " ")));
      CHECK(std::ranges::equal(best, expected, is_same));
    }
  }
}

/// Thousands of simulations. More of them, and which ones: RC_PARAMS="seed=7 max_success=2000" test_plan
/// -tc="*random plan*"
TEST_CASE("The best two of a random plan are those of all its layouts" *
          doctest::skip(testing::is_sanitized)) {
  CHECK(rc::check("any values of any axis", [] {
    const auto some = [](const Texts& all) { return subset(all, *rc::gen::inRange(1U, 1U << all.size())); };
    const std::string platform = *rc::gen::element<std::string>("dgx1v", "dgx_a100", "p3_8xlarge");
    const Overrides& model = small_models()[*rc::gen::inRange<std::size_t>(0, small_models().size())];
    const int ranks = *rc::gen::element(1, 2, 4);
    const int global_batch = *rc::gen::element(4, 8);
    const bool has_blocks = model.front().second != "alexnet";
    const bool has_experts = model.front().second == "mixtral_8x7b";
    const Values values{{"parallelism.tensor", has_blocks ? some({"1", "2", "4"}) : Texts{"1"}},
                        {"parallelism.pipeline", has_blocks ? some({"1", "2", "4"}) : Texts{"1"}},
                        {"parallelism.virtual_stages", has_blocks ? some({"1", "2"}) : Texts{"1"}},
                        {"parallelism.expert", has_experts ? some({"1", "2"}) : Texts{"1"}},
                        {"parallelism.sequence", has_blocks ? some({"false", "true"}) : Texts{"false"}},
                        {"parallelism.recompute", has_blocks ? some({"none", "full"}) : Texts{"none"}},
                        {"parallelism.shard", some(all_shards)},
                        {"batch_per_gpu", has_blocks ? some({"1", "2"}) : Texts{"1"}}};
    const PlanRequest request = request_of(platform, model, ranks, global_batch, values);
    const std::vector<Overrides> all = combinations(values, ranks, global_batch);
    const std::vector<double> expected = best_among(all, steps_of(request, all), all_shards, ranks);
    RC_ASSERT(std::ranges::equal(planned(request), expected, is_same));
  }));
}

}  // namespace
}  // namespace trainyard
