#include "strategy/shared_experts.hpp"

#include "strategy/transfer.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

bool is_shared(const Layer& layer) { return layer.name.find(".moe.shared.") != std::string::npos; }

namespace {

/// Moves the shared experts of each block to where tokens travel: their layers up to the last product run
/// while tokens are dispatched, the others while results are combined.
class SharedExperts {
public:
  SharedExperts(ShardedModel& model, bool writes_copies)
      : model_(model), writes_copies_(writes_copies), place_(model.layers.size()) {
    std::iota(place_.begin(), place_.end(), 0);
  }

  void overlap() {
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      if (is_shared(model_.layers[i]) && (i == 0 || !is_shared(model_.layers[i - 1]))) overlap(find(i));
    }
    std::vector<Layer> layers(model_.layers.size());
    for (std::size_t i = 0; i < place_.size(); ++i) layers[at(place_[i])] = std::move(model_.layers[i]);
    model_.layers = std::move(layers);
    for (Transfer& transfer : model_.transfers) transfer.layer = place_[at(transfer.layer)];
    std::ranges::stable_sort(model_.transfers, {}, &Transfer::layer);
  }

private:
  /// Layers of a block: the shared ones from `first` and from `last_product` to the router, the copies of
  /// tokens, then the experts, and the sums of their results.
  struct Block {
    int first = 0, last_product = 0, router = 0, copies = 0, sums = 0;
  };

  [[nodiscard]] Block find(std::size_t first) const {
    const std::vector<Layer>& layers = model_.layers;
    std::size_t router = first;
    while (is_shared(layers[router])) ++router;
    std::size_t last_product = router - 1;
    while (layers[last_product].name.ends_with(".gate") || layers[last_product].kind != LayerKind::linear)
      --last_product;
    std::size_t copies = router;
    while (!copies_tokens(layers[copies])) ++copies;
    std::size_t sums = copies + 1;
    while (layers[sums].experts > 0) ++sums;
    return {static_cast<int>(first), static_cast<int>(last_product), static_cast<int>(router),
            static_cast<int>(copies), static_cast<int>(sums)};
  }

  void overlap(const Block& block) {
    int next = block.first;
    const auto put = [&](int from, int end) {
      for (int i = from; i < end; ++i) place_[at(i)] = next++;
      model_.layers[at(from)].continues_previous = false;
    };
    const int experts = block.copies + 1;
    put(block.router, writes_copies_ ? experts : block.copies);
    put(block.first, block.last_product);
    put(writes_copies_ ? experts : block.copies, writes_copies_ ? block.sums : block.sums + 1);
    put(block.last_product, block.router);
    if (writes_copies_) put(block.sums, block.sums + 1);
    for (Transfer& transfer : model_.transfers) {
      if (transfer.layer == block.copies || transfer.layer == block.sums) hide(transfer, block);
    }
  }

  /// Launches an exchange when the layer before the shared ones has ended, in the order of its pass.
  void hide(Transfer& transfer, const Block& block) const {
    const bool is_forward = transfer.phase == Phase::forward;
    const bool is_of_copies = transfer.layer == block.copies;
    if (transfer.fixed > Bytes()) {  // the numbers of tokens, without which nothing is sent
      if (!writes_copies_) transfer.place = TransferPlace::after;
      if (!writes_copies_) transfer.layer = block.copies - 1;
      return;
    }
    if (transfer.place == TransferPlace::before) transfer.layer += is_forward ? -1 : 1;
    transfer.place = TransferPlace::beside_next;
    transfer.next_layers =
        is_of_copies ? block.last_product - block.first : block.router - block.last_product;
  }

  ShardedModel& model_;
  bool writes_copies_;
  std::vector<int> place_;  ///< of each layer afterwards
};

}  // namespace

void overlap_shared_experts(ShardedModel& model, bool writes_copies) {
  SharedExperts(model, writes_copies).overlap();
}

}  // namespace trainyard
