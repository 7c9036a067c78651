#include "strategy/expert_transfers.hpp"

namespace trainyard {
namespace {

/// The exchanges of one mixture of experts. `copies` and `sums`: the layers before and after the experts.
class ExpertTransfers {
public:
  ExpertTransfers(const ExpertSetting& setting, std::vector<Transfer>& transfers)
      : setting_(setting), transfers_(transfers) {}

  void of_copies(int copies, const TokenExchange& exchange) {
    const TransferPlace sent = writes_copies() ? TransferPlace::after : TransferPlace::before;
    const TransferPlace received = writes_copies() ? TransferPlace::before : TransferPlace::after;
    gather_counts(copies, exchange);
    dispatch(copies, Phase::forward, sent, exchange);
    send_probabilities(copies, Phase::forward, sent, exchange);
    combine(copies, Phase::backward, received, exchange);
    send_probabilities(copies, Phase::backward, received, exchange);
  }

  void of_sums(int sums, const TokenExchange& exchange) {
    combine(sums, Phase::forward, writes_copies() ? TransferPlace::before : TransferPlace::after, exchange);
    dispatch(sums, Phase::backward, writes_copies() ? TransferPlace::after : TransferPlace::before, exchange);
  }

private:
  /// Whether copies travel, which a layer of their own writes, not tokens.
  [[nodiscard]] bool writes_copies() const { return setting_.dispatcher == TokenDispatcher::all_to_all; }
  [[nodiscard]] bool gathers() const { return setting_.dispatcher == TokenDispatcher::all_gather; }

  void dispatch(int layer, Phase phase, TransferPlace place, const TokenExchange& exchange) {
    exchange_tokens(layer, phase, place, Operation::all_gather, exchange);
    over_tensor(layer, phase, place, Operation::all_gather, exchange);
  }

  void combine(int layer, Phase phase, TransferPlace place, const TokenExchange& exchange) {
    over_tensor(layer, phase, place, Operation::reduce_scatter, exchange);
    exchange_tokens(layer, phase, place, Operation::reduce_scatter, exchange);
  }

  void exchange_tokens(int layer, Phase phase, TransferPlace place, Operation of_all,
                       const TokenExchange& exchange) {
    if (setting_.expert == 1) return;
    if (gathers())
      add(layer, phase, place, of_all, exchange.tokens * setting_.expert * exchange.width);
    else
      add(layer, phase, place, Operation::all_to_all, exchange.sent * exchange.scale * exchange.width);
  }

  void over_tensor(int layer, Phase phase, TransferPlace place, Operation operation,
                   const TokenExchange& exchange) {
    if (setting_.tensor == 1 || setting_.whole_experts) return;
    const double rows =
        gathers() ? exchange.tokens * setting_.expert * setting_.tensor : exchange.rows * exchange.scale;
    transfers_.push_back({layer, phase, place, operation, Axis::tensor, rows * exchange.width});
  }

  /// In fp32, as recipes set the router's type.
  void send_probabilities(int layer, Phase phase, TransferPlace place, const TokenExchange& exchange) {
    if (setting_.expert == 1 || setting_.dispatcher == TokenDispatcher::deepep) return;  // with the tokens
    const bool is_forward = phase == Phase::forward;
    constexpr double byte = 0.25;  // of fp32: whether a token passes through an expert
    const double of_all = exchange.tokens * setting_.expert * exchange.experts;
    if (gathers())
      add(layer, phase, place, is_forward ? Operation::all_gather : Operation::reduce_scatter,
          of_all * (is_forward ? 1 + byte : 1));
    else
      add(layer, phase, place, Operation::all_to_all, exchange.sent * exchange.scale);
    transfers_.back().of = TransferDtype::fp32;
  }

  /// The number of each rank's tokens for every expert. All-gathered tokens are counted where they arrive.
  void gather_counts(int layer, const TokenExchange& exchange) {
    if (setting_.expert == 1 || setting_.routing.capacity_factor || gathers()) return;
    constexpr Bytes number{8};
    add(layer, Phase::forward, TransferPlace::before, Operation::all_gather, 0);
    transfers_.back().fixed = 1.0 * exchange.experts * setting_.expert * number;
  }

  void add(int layer, Phase phase, TransferPlace place, Operation operation, double elements) {
    transfers_.push_back({layer, phase, place, operation, Axis::expert, elements});
  }

  const ExpertSetting& setting_;
  std::vector<Transfer>& transfers_;
};

/// Zeros and results for all tokens of the group, from which copies for the own experts are taken.
void add_gathered_tokens(Layer& layer, const TokenExchange& exchange, const ExpertSetting& setting) {
  const int parts = setting.whole_experts ? 1 : setting.tensor;
  const double others = exchange.tokens * (setting.expert * parts - 1) * exchange.width;
  if (copies_tokens(layer))
    layer.backward_rw_elements += others;
  else
    layer.forward_rw_elements += others;
}

}  // namespace

void add_copy_transfers(std::vector<Transfer>& transfers, int copies, const TokenExchange& exchange,
                        const ExpertSetting& setting) {
  ExpertTransfers(setting, transfers).of_copies(copies, exchange);
}

void add_sum_transfers(std::vector<Transfer>& transfers, int sums, const TokenExchange& exchange,
                       const ExpertSetting& setting) {
  ExpertTransfers(setting, transfers).of_sums(sums, exchange);
}

void add_sorting(Layer& layer, const TokenExchange& exchange, const ExpertSetting& setting) {
  if (setting.dispatcher == TokenDispatcher::all_gather) return add_gathered_tokens(layer, exchange, setting);
  if (setting.dispatcher == TokenDispatcher::deepep) return;  // copied in the order of the experts
  const int parts = setting.whole_experts ? 1 : setting.tensor;
  const bool is_sorted = setting.expert * parts == 1 || exchange.experts / setting.expert == 1;
  if (is_sorted) return;
  const double moved = 2 * exchange.rows * exchange.scale * exchange.width;
  layer.forward_rw_elements += moved;
  layer.backward_rw_elements += moved;
}

}  // namespace trainyard
