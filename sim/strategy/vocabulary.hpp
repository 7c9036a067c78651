#pragma once
// Tables of a model's vocabulary: entries that are added so that the ranks of a tensor group can divide it,
// and the layers that share a table.

#include "workload/layer.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct PaddedVocabulary {
  int entries = 0;  ///< of the model
  int padded = 0;
};

/// If `ranks` do not divide the vocabulary, makes its entries a multiple of 128 x `ranks`, in the word
/// embedding, the last projection and the loss. Returns nothing if there is nothing to add: no vocabulary, or
/// one that the ranks divide. Source: NVIDIA/Megatron-LM v2.5, megatron/tokenizer/tokenizer.py,
/// _vocab_size_with_padding (make-vocab-size-divisible-by: 128).
std::optional<PaddedVocabulary> pad_vocabulary(std::vector<Layer>& layers, int ranks);

/// Whether `table` is the embedding whose rows `tied` shares. A rank's own copy of a shared table may look
/// like one: compare layers of a whole model.
bool is_table_of(const Layer& table, const Layer& tied);

}  // namespace trainyard
