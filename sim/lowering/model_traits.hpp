#pragma once
// Traits of a whole model that rules depend on.

#include "units/quantity.hpp"
#include "workload/layer.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct ModelTraits {
  bool predicts_next_token = false, is_rotary = false, is_tied = false, is_joined = false;
};

/// Bytes per value of the tensors that a layer may read.
struct StreamSizes {
  Bytes before;  ///< of the layer before
  Bytes shared;  ///< of the last tensor that several layers read
};

/// Facts about a part of a model that its layers do not tell.
struct PartOfModel {
  ModelTraits traits;
  std::optional<StreamSizes> before = {};  ///< none at the beginning of the model
};

ModelTraits traits_of(const std::vector<Layer>& layers);

}  // namespace trainyard
