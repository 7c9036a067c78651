#pragma once
// The operands of an op, as torch.profiler records them with record_shapes.

#include "workload/trace.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// Lists of JSON; empty if the op's shape says nothing of its operands.
struct OperandTexts {
  std::string dims;    ///< "[[64,3,224,224],[64,3,7,7],[],[],[],[],[]]"
  std::string values;  ///< what is no tensor: strides, paddings
};

/// `table_rows`: of an embedding's table, where they are known.
OperandTexts operand_texts_of(const Op& op, const Trace& trace, std::optional<double> table_rows);

/// The rows of the table of an embedding, from the gradient that the layer's op in backward completes.
std::optional<double> table_rows(const Trace& trace, const Op& embedding);

}  // namespace trainyard
