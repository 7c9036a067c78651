#pragma once
// A model: its layers in the order of the forward pass, and their totals.

#include "units/sourced.hpp"
#include "workload/convergence.hpp"
#include "workload/fixed_epochs.hpp"
#include "workload/layer.hpp"
#include "workload/sample_input.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct Model {
  std::string name;
  std::string title;
  std::vector<Layer> layers;
  std::optional<Sourced<double>> samples_per_epoch;
  std::optional<int> sequence_length = {};  ///< tokens per sample; empty for a model without sequences
  std::optional<SampleInput> input = {};
  Optimizer optimizer = Optimizer::momentum;   ///< the one it is usually trained with
  std::vector<Convergence> convergence = {};   ///< published numbers of samples to a target
  std::vector<FixedEpochs> fixed_epochs = {};  ///< published accuracies after a number of epochs
};

/// The samples of the model's training set without their source; empty if unknown.
std::optional<double> samples_per_epoch(const Model& model);

/// Sums over the layers, per sample except the parameters.
struct ModelTotals {
  double parameters = 0;
  int tensors = 0;
  double forward_macs = 0;
  Flops forward_flops;
  Flops backward_flops;
  double saved_elements = 0;
  Bytes saved_fixed;
  double forward_rw_elements = 0;
  double backward_rw_elements = 0;
};

ModelTotals totals(const std::vector<Layer>& layers);

/// Activations kept for the backward pass of one sample, with `element` bytes per value.
Bytes saved_activations(const ModelTotals& totals, Bytes element);

}  // namespace trainyard
