#pragma once
// Kernels of a layer in addition to its op in the trace: biases added by separate kernels, heads copied into
// place, GELU and layer norm composed of element-wise ops, casts. Keys of a stack; they follow from the
// source of the framework and of the model's script.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The type of the values in a layer's work.
enum class WorkDtype { activation, fp32 };

/// Passes over the values of every layer of a kind, as kernels limited by memory bandwidth.
struct LayerWork {
  std::string name;  ///< "bias"
  LayerKind layer{};
  double forward = 0;   ///< values read or written per value of the layer, see add_layer_work()
  double backward = 0;  ///< the same in backward
  WorkDtype of = WorkDtype::activation;
  std::vector<Precision> only = {};  ///< precisions with this work; empty: all
  bool fusible = true;               ///< fused_elementwise removes it
  std::string source = {};           ///< its documentation
};

/// Adds a stack's work to a trace made by make_trace from `layers` (fused or not, before accumulation), each
/// item as an element-wise op LAYER.NAME after the layer in forward and before it in backward. Number of
/// values: the outputs of a linear layer; for a product per head, one operand over all tokens (queries, keys,
/// values or the result); otherwise the layer's inputs.
void add_layer_work(Trace& trace, const std::vector<Layer>& layers, const std::vector<LayerWork>& work);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<WorkDtype> {
  static constexpr std::string_view what = "type of a layer's work";
  static constexpr std::array table{
      Name{"activation", WorkDtype::activation, "type of the activations in the experiment's precision"},
      Name{"fp32", WorkDtype::fp32, "4 bytes per value"}};
};

template <>
struct Keys<LayerWork> {
  static auto table() {
    constexpr double most_passes = 100;
    return keys(required("name", &LayerWork::name, "name of the work: bias, heads, cast"),
                required("layer", &LayerWork::layer, "kind of layer that has the work"),
                optional("forward", &LayerWork::forward,
                         "passes over the layer's values in forward; a pass reads or writes each value once")
                    .at_least(0)
                    .at_most(most_passes),
                optional("backward", &LayerWork::backward, "passes over the layer's values in backward")
                    .at_least(0)
                    .at_most(most_passes),
                optional("of", &LayerWork::of, "type of the values"),
                optional("only", &LayerWork::only, "precisions that have the work; default: all"),
                optional("fusible", &LayerWork::fusible, "true: fused_elementwise removes the work"),
                optional("source", &LayerWork::source, "documentation of the work, or why it is assumed"));
  }
};

}  // namespace trainyard::config
