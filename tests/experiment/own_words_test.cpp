// Keys of other software in an experiment's file.

#include "experiment/own_words.hpp"

#include "config/glossary.hpp"
#include "errors_of.hpp"
#include "experiment/experiment.hpp"
#include "experiment/input_files.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr const char* job = "platform: dgx_a100\nmodel: gpt2_small\nstack: pytorch_ddp\n";

struct Read {
  Experiment experiment;
  std::vector<std::string> notes;
};

Read read(const std::string& lines) {
  Read read;
  read.experiment = load_experiment(with_own_keys(config::parse("job.yaml", job + lines), read.notes));
  return read;
}

}  // namespace

TEST_CASE("words of other software are keys, at the top and in a block, and a note says which") {
  const auto [experiment, notes] = read(
      "per_device_train_batch_size: 4\nGradient-Accumulation-Steps: 8\ntp: 2\nnic: 25 Gbps\n"
      "num_train_epochs: 3\nparallelism: {pp: 4, shard: optimizer}\n");
  CHECK(experiment.batch_per_gpu == 4);
  CHECK(experiment.accumulation == 8);
  CHECK(experiment.parallelism->tensor == 2);
  CHECK(experiment.parallelism->pipeline == 4);
  CHECK(experiment.parallelism->shard == Sharded::optimizer);
  CHECK(experiment.set.at("platform.fabric.nic") == "25 Gbps");
  CHECK(experiment.job->epochs == 3);
  REQUIRE(notes.size() == 6);
  CHECK(notes.front() == "'per_device_train_batch_size' of the experiment is read as 'batch_per_gpu'");
}

TEST_CASE("a file without such words stays as it is") {
  std::vector<std::string> notes;
  const config::Document document = config::parse("job.yaml", std::string(job) + "batch_per_gpu: 4\n");
  CHECK(with_own_keys(document, notes).root.entries.size() == document.root.entries.size());
  CHECK(notes.empty());
}

TEST_CASE("a value by another word is wrong where it stands") {
  const Diagnostic error = only_error([] { read("micro_batch_size: many\n"); });
  CHECK(error.line == 4);
  CHECK(error.column == 19);
  CHECK(error.key_path == "batch_per_gpu");
}

TEST_CASE("a key that is given twice, by whatever words, is an error") {
  check_errors(
      {{"batch_per_gpu: 4\nmbs: 4\n", "mbs", "another word for 'batch_per_gpu'"},
       {"batch: 4\nmbs: 4\n", "mbs", "another word for 'batch_per_gpu'"},
       {"batch: 4\ntp: 2\nparallelism: {tensor: 2}\n", "tp", "another word for 'parallelism.tensor'"}},
      [](const std::string& lines) { read(lines); });
}

TEST_CASE("words whose meaning differs are errors with advice") {
  check_errors({{"batch: 4\ntrain_batch_size: 64\n", "train_batch_size", "global_batch, as in DeepSpeed"},
                {"batch: 4\nnum_gpus: 8\n", "num_gpus", "gpus, of all nodes, or gpus_per_node"},
                {"batch: 4\nmixed_precision: bf16\n", "mixed_precision", "amp_bf16 for autocast"}},
               [](const std::string& lines) { read(lines); });
}

TEST_CASE("every word that is the same as a key of the experiment or its layout is taken from files") {
  for (const config::OtherWord& other : config::glossary) {
    if (!other.is_same) continue;
    CAPTURE(std::string(other.word));
    std::vector<std::string> notes;
    with_own_keys(config::parse("job.yaml", std::string(other.word) + ": 1\n"), notes);
    CHECK(notes.size() == 1);
  }
}
