#include "run/figure_getters.hpp"
#include "run/figure_groups.hpp"

#include <functional>
#include <vector>

namespace trainyard::figure_groups {

namespace {

/// A figure of runs of many updates.
template <class Get>
Getter of_updates(Get get) {
  return [get](const Run& run) {
    const Updates* updates = updates_of(run);
    return updates != nullptr ? to_value(std::invoke(get, *updates)) : Value(none());
  };
}

constexpr const char* always_fresh =
    "each update is a step of all ranks: gradients are fresh and none is cancelled";

/// A figure of runs of many updates that readers look for in every run: null with a reason, never absent.
template <class Get>
Getter of_updates_or_reason(Get get) {
  return [get](const Run& run) {
    const Updates* updates = updates_of(run);
    return updates != nullptr ? to_value(std::invoke(get, *updates)) : Value(unknown(always_fresh));
  };
}

Value lead(const Updates& updates) {
  return traits(updates.settings.rule).is_bounded() ? to_value(updates.lead) : Value(none());
}

Value useful_throughput(const Run& run) {
  if (run.faults || updates_of(run) != nullptr) return to_value(goodput(run));
  return unknown("same as throughput: synchronous run without faults");
}

}  // namespace

std::vector<Figure> figures_of_many_updates() {
  return {Figure{"update_rule", "update rule", FigureUnit::text,
                 "for runs of many updates: which gradients an update waits for", "", summary_only,
                 of_updates([](auto& updates) { return config::name_of(updates.settings.rule); })},
          Figure{"updates_per_s", "updates", per_second, "updates per second, of runs of many updates", "",
                 in_sweeps, of_updates_or_reason([](auto& updates) { return 1 / updates.time.median.si(); })},
          Figure{"update_time_low_s", "fastest repeat", FigureUnit::time,
                 "time of an update in the fastest repeat", "", summary_only,
                 of_updates([](auto& updates) { return updates.time.low; })},
          Figure{"update_time_high_s", "slowest repeat", FigureUnit::time,
                 "time of an update in the slowest repeat", "", summary_only,
                 of_updates([](auto& updates) { return updates.time.high; })},
          Figure{"update_time_confidence", "confidence", share,
                 "probability that the median of all possible repeats lies between `update_time_low_s` and "
                 "`update_time_high_s`",
                 "", summary_only, of_updates([](auto& updates) { return updates.time.confidence; })},
          Figure{"step_time_p50_s", "median step", FigureUnit::time,
                 "median of the times between two updates, over all repeats, of runs of many updates", "",
                 in_sweeps, of_updates([](auto& updates) { return updates.each.p50; })},
          Figure{"step_time_p90_s", "90 % of steps", FigureUnit::time, "likewise, of 90 % of them", "",
                 in_sweeps, of_updates([](auto& updates) { return updates.each.p90; })},
          Figure{"step_time_p99_s", "99 % of steps", FigureUnit::time, "likewise, of 99 % of them", "",
                 in_sweeps, of_updates([](auto& updates) { return updates.each.p99; })},
          Figure{"gradients_per_update", "gradients per update", FigureUnit::number,
                 "gradients that an update applies, mean", "", summary_only,
                 of_updates(&Updates::gradients_per_update)},
          Figure{"steps_per_gradient", "steps per gradient", FigureUnit::number,
                 "local steps of a rank between two pushes", "", summary_only,
                 of_updates([](auto& updates) { return updates.settings.push_every; })},
          Figure{"updates_measured", "updates measured", FigureUnit::count, "updates measured in each repeat",
                 "", summary_only, of_updates(&Updates::measured_updates)},
          Figure{"repeats", "repeats", FigureUnit::count,
                 "repetitions of the run, each with different random draws", "", summary_only,
                 of_updates([](auto& updates) { return updates.counts.repeats; })},
          Figure{"staleness_mean", "staleness", FigureUnit::number,
                 "updates between reading the parameters and applying the gradient, 1 is fresh; mean", "",
                 key_in_sweeps, of_updates_or_reason([](auto& updates) { return updates.staleness.mean; })},
          Figure{"staleness_max", "largest staleness", FigureUnit::count, "the largest staleness", "",
                 in_sweeps, of_updates_or_reason([](auto& updates) { return updates.staleness.max; })},
          Figure{"lead_steps_max", "lead", FigureUnit::count,
                 "with `ssp`: largest lead of a rank over the slowest one, in finished steps", "",
                 summary_only, of_updates(lead)},
          Figure{"wasted_compute_s", "wasted computing", FigureUnit::time,
                 "cancelled computing of all ranks, per update", "", in_sweeps,
                 of_updates_or_reason(&Updates::wasted)},
          Figure{"wasted_energy_j", "wasted energy", energy,
                 "energy that GPUs draw for `wasted_compute_s`, per update", "", summary_only,
                 of_updates_or_reason(&Updates::wasted_energy)},
          Figure{"goodput_samples_per_s", "goodput", samples_per_s,
                 "for runs of many updates and jobs with faults: useful samples per second, after "
                 "faults and checkpoints",
                 "", everywhere, useful_throughput}};
}

}  // namespace trainyard::figure_groups
