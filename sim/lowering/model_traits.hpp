#pragma once
// What rules ask of a whole model.

#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct ModelTraits {
  bool predicts_next_token = false, is_rotary = false, is_tied = false, is_joined = false;
};

ModelTraits traits_of(const std::vector<Layer>& layers);

}  // namespace trainyard
