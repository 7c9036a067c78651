#include "engine/loader.hpp"

#include "units/ids.hpp"

#include <algorithm>

namespace trainyard::engine {

Loader::Loader(const LoadingTimes& times, int workers, double date) : times_(times) {
  if (times_.per_step.empty()) return;
  State idle;
  idle.ready = date;
  idle.freed.fill(date);
  states_.assign(at(workers), idle);
}

double Loader::wait(int worker, double date) {
  if (states_.empty()) return 0;
  const double loading = times_.per_step[at(worker)].si();
  if (!times_.is_prefetched) return loading;
  State& state = states_[at(worker)];
  double& freed = state.freed.at(state.steps++ % queue);
  state.ready = std::max(state.ready, freed) + loading;
  const double begun = std::max(date, state.ready);
  freed = begun;
  return begun - date;
}

}  // namespace trainyard::engine
