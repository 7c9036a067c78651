#pragma once
// Which samples a worker's step computes with. They follow from seed, worker and step alone, so that all
// update rules see the same batches.

#include "learn/learn_settings.hpp"
#include "random/generator.hpp"

#include <vector>

namespace trainyard {

class Batches {
public:
  /// `count` training samples for `workers` workers. Sharded parts differ by at most one sample. Throws
  /// InputError if a worker would have none.
  Batches(DataPerWorker division, int count, int workers, int batch, random::Generator stream);

  /// The numbers of the samples of a step, valid until the next call.
  const std::vector<int>& at(int worker, int step);

private:
  /// The order in which a worker passes over its samples in an epoch.
  const std::vector<int>& order(int worker, long long epoch);

  DataPerWorker division_;
  int count_;
  int workers_;
  random::Generator stream_;
  std::vector<int> batch_;
  struct Epoch {
    long long number = -1;
    std::vector<int> order;
  };
  std::vector<Epoch> epochs_;  ///< by worker: the one used last
};

}  // namespace trainyard
