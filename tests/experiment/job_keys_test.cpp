// Keys of other tools become keys that experiments have.

#include "experiment/known_keys.hpp"
#include "jobs/key_rules.hpp"

#include <doctest/doctest.h>
#include <string>

namespace trainyard {
namespace {

TEST_CASE("each key of a job that is taken is a key of experiments") {
  using namespace jobs;
  for (const auto keys : {&launcher_keys, &megatron_keys, &torchtitan_keys, &deepspeed_keys, &trainer_keys,
                          &accelerate_keys, &torchtune_keys, &maxtext_keys, &nanotron_keys, &llmc_keys})
    for (const KeyRule& rule : keys())
      if (rule.fate == Fate::taken && !rule.text.starts_with('@'))
        CHECK_MESSAGE(unknown_experiment_key(rule.text).message.empty(), rule.key);
}

}  // namespace
}  // namespace trainyard
