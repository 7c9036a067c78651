#pragma once
// Keys that an override makes meaningless: those of the experiment's file that belong to the replaced value.

#include "config/document.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Removes from an experiment's document the keys that belong to another value of a key that `overrides` set:
/// with sync.kind=all_reduce the number of shards, with another model the optimizer and the overrides of the
/// file's model. Keys that `overrides` set themselves stay. To be called before they are applied. Returns a
/// note for each override that left something out; the length of a job is replaced without one.
std::vector<std::string> remove_replaced_keys(
    config::Document& document, const std::vector<std::pair<std::string, std::string>>& overrides);

/// Puts a block `learn` that waits to be asked for (`when: asked`) in force (`when: always`) if an override
/// sets a key of it. To be called after they are applied.
void ask_for_learning(config::Document& document,
                      const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace trainyard
