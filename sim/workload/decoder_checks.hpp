#pragma once
// Whether the hyper-parameters of a decoder, each valid alone, fit together.

#include "config/problems.hpp"
#include "workload/decoder.hpp"

#include <string>

namespace trainyard {

/// True if the layers can be made; otherwise an error below `key` is reported.
bool is_valid_decoder(const std::string& key, const DecoderHyperparameters& decoder,
                      config::Problems& problems);

}  // namespace trainyard
