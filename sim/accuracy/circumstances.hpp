#pragma once
// The properties of a run that decide how comparable two runs are.

#include "strategy/software.hpp"

#include <string>

namespace trainyard {

struct Circumstances {
  SoftwareUse use = {};
  std::string platform = {};
  int gpus = 1;
  int nodes = 1;
  int batch_per_gpu = 1;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

}  // namespace trainyard
