#pragma once
// The exchanges of tokens of a mixture of experts, and the copies that go with them. Part of experts.hpp,
// which has their sizes and sources.

#include "strategy/experts.hpp"
#include "strategy/transfer.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

/// The sizes of one mixture of experts on a rank.
struct TokenExchange {
  double tokens = 0;  ///< of a rank, T, per sample
  double sent = 0;    ///< copies of them, T k
  double rows = 0;    ///< that its experts compute
  double scale = 1;   ///< of the rows computed and sent over those that the router sends
  int experts = 0;    ///< of the model's layer
  int width = 0;      ///< features of a token
};

/// Adds the exchanges around the layer with number `copies`, which stands before the experts.
void add_copy_transfers(std::vector<Transfer>& transfers, int copies, const TokenExchange& exchange,
                        const ExpertSetting& setting);

/// Adds those around the layer with number `sums`, which stands behind the experts.
void add_sum_transfers(std::vector<Transfer>& transfers, int sums, const TokenExchange& exchange,
                       const ExpertSetting& setting);

/// Adds values to a layer that copies or sums tokens, which it moves because of other ranks: rows arrive
/// by rank and are computed by expert, and go back by rank.
void add_sorting(Layer& layer, const TokenExchange& exchange, const ExpertSetting& setting);

}  // namespace trainyard
