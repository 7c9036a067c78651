#pragma once
// Evaluates the values, types and conditions of rules (lowering_rules.hpp) for one layer of a step.

#include "lowering/lower.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/make_trace.hpp"

#include <vector>

namespace trainyard {

/// Whether libraries have only slow kernels for products with this number of columns.
constexpr bool is_unaligned(int columns) { return columns > 64 && columns % 8 != 0; }

/// The values that a layer's rules name. Refers to its arguments.
class LayerValues {
public:
  LayerValues(const TypedLayer& typed, const LoweredStep& step, const ElementSizes& sizes,
              const ModelTraits& model)
      : typed_(typed), step_(step), sizes_(sizes), model_(model) {}

  /// The number of these values in the whole batch.
  [[nodiscard]] double number(KernelValues of) const;

  /// The size of one value.
  [[nodiscard]] Bytes size(PassType type) const;

  [[nodiscard]] bool holds(LaunchCondition condition) const;
  [[nodiscard]] bool hold(const std::vector<LaunchCondition>& all) const;

private:
  [[nodiscard]] bool is_cast() const;  ///< the products have operands of 8 or 4 bits
  [[nodiscard]] bool is_in_4_bits() const;
  [[nodiscard]] bool has_bias() const;
  [[nodiscard]] double query_elements() const;
  [[nodiscard]] double key_elements() const;

  const TypedLayer& typed_;
  const LoweredStep& step_;
  const ElementSizes& sizes_;
  const ModelTraits& model_;
};

}  // namespace trainyard
