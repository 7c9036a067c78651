#pragma once
// The block `plan` of an experiment: a search for the best way to train its model on its platform. Other
// commands than `trainyard plan` ignore it.

#include "config/fields.hpp"
#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The figure that the best plan minimises.
enum class PlanGoal { time, cost, energy };

struct PlanSettings {
  PlanGoal goal = PlanGoal::time;
  std::optional<std::string> gpus = {};                 ///< "64", "8,16", "8..64"
  std::optional<int> global_batch = {};                 ///< samples per step
  config::Ordered<std::vector<std::string>> over = {};  ///< further keys, with the values to try
  config::Ordered<Dollars> prices = {};                 ///< rent of a node for an hour, by platform
  double memory_headroom = 0;                           ///< share of a GPU's memory that must stay free
  double gap = 0;                                       ///< share by which the answer may miss the optimum
  std::optional<double> epochs = {};
  std::optional<std::string> target = {};
  std::optional<Seconds> deadline = {};
  std::optional<Dollars> budget = {};
  std::optional<double> quantile = {};  ///< of the goal over draws of errors and speeds; empty: as predicted
  int draws = 1000;                     ///< for the quantile
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<PlanGoal> {
  static constexpr std::string_view what = "goal of a plan";
  static constexpr std::array table{
      Name{"time", PlanGoal::time, "the shortest training"},
      Name{"throughput", PlanGoal::time, "the same: most samples per second"},
      Name{"time-to-target", PlanGoal::time, "the same, to the accuracy or loss that 'target' names"},
      Name{"cost", PlanGoal::cost, "the lowest rent"}, Name{"energy", PlanGoal::energy, "the least energy"}};
};

template <>
struct Keys<PlanSettings> {
  static auto table() {
    return keys(
        optional("goal", &PlanSettings::goal, "the figure that the best plan minimises"),
        optional("gpus", &PlanSettings::gpus,
                 "numbers of GPUs to try: 64, a list 8,24 or a range 8..64, which doubles; default: the "
                 "experiment's"),
        optional("global_batch", &PlanSettings::global_batch,
                 "samples per step of all ranks; default: the experiment's")
            .between(1, 1e9),
        optional("over", &PlanSettings::over,
                 "further keys with the values to try: those of the layout replace the usual ones"),
        optional("prices", &PlanSettings::prices,
                 "rent of one node for an hour, by platform: in place of the price in its file"),
        optional("memory_headroom", &PlanSettings::memory_headroom,
                 "share of a GPU's memory that a plan leaves free")
            .between(0, 0.9),
        optional("gap", &PlanSettings::gap,
                 "share by which the answer may be slower than the best one, for a shorter search")
            .between(0, 0.9),
        optional("epochs", &PlanSettings::epochs, "epochs of the training").above(0).at_most(1e6),
        optional(
            "target", &PlanSettings::target,
            "in place of epochs: the training ends when this target of the model's convergence is reached"),
        optional("deadline", &PlanSettings::deadline, "longest time of the whole training").above(0),
        optional("budget", &PlanSettings::budget, "highest cost of the whole training").above(0),
        optional("quantile", &PlanSettings::quantile,
                 "minimise this quantile of the goal, such as 0.9, over draws of the expected "
                 "error and of the slowest GPU's speed")
            .between(0.5, 0.999),
        optional("draws", &PlanSettings::draws, "number of draws for the quantile").between(100, 10000));
  }
};

}  // namespace trainyard::config
