// What overrides leave out of an experiment's file, what they unset, and experiments without a file.

#include "experiment/replaced_keys.hpp"

#include "config/problems.hpp"
#include "errors_of.hpp"
#include "experiment/resolve.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// The document's keys of `sync` after the overrides took out theirs.
std::vector<std::string> left_in_sync(const std::string& text, const Overrides& overrides) {
  config::Document document = config::parse("e.yaml", text);
  remove_replaced_keys(document, overrides);
  std::vector<std::string> keys;
  for (const auto& entry : document.root.find("sync")->entries) keys.push_back(entry.key);
  return keys;
}

std::string error_of(const std::string& experiment, const Overrides& overrides) {
  const auto errors = errors_of([&] { shipped_experiment(experiment, overrides); });
  return errors.empty() ? "" : to_string(errors.front());
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("another precision takes the scales of 8-bit values with it") {
  const auto left = [](const Overrides& overrides) {
    config::Document document = config::parse("e.yaml", "precision: fp8\nset: {stack.fp8_scaling: block}");
    const auto notes = remove_replaced_keys(document, overrides);
    CHECK(notes.size() == document.root.find("set")->entries.empty());
    return document.root.find("set")->entries.size();
  };
  CHECK(left({{"precision", "bf16"}}) == 0);
  CHECK(left({{"precision", "fp8"}}) == 1);
  CHECK(left({}) == 1);
}

TEST_CASE("another kind of synchronisation or another rule takes the keys of the file's with it") {
  const std::string servers =
      "sync: {kind: parameter_server, update: k_sync, k: 3, shards: 4, placement: gpus}";
  CHECK(left_in_sync(servers, {{"sync.kind", "all_reduce"}}) == Keys{"kind"});
  CHECK(left_in_sync(servers, {{"sync.kind", "parameter_server"}}) ==
        Keys{"kind", "update", "k", "shards", "placement"});
  CHECK(left_in_sync(servers, {{"sync.update", "async"}}) == Keys{"kind", "update", "shards", "placement"});
  CHECK(left_in_sync(servers, {{"sync.kind", "all_reduce"}, {"sync.shards", "2"}}) == Keys{"kind", "shards"});
  CHECK(left_in_sync("sync: {kind: peer_to_peer, compression: top_k, keep: 0.01}",
                     {{"sync.kind", "all_reduce"}}) == Keys{"kind"});
  CHECK(left_in_sync("sync: {kind: peer_to_peer, compression: top_k, keep: 0.01}",
                     {{"sync.compression", "fp16"}}) == Keys{"kind", "compression"});
  const std::string torus = "sync: {algorithm: torus2d, grid: [4, 2]}";
  CHECK(left_in_sync(torus, {{"sync.kind", "parameter_server"}}).empty());
  CHECK(left_in_sync(torus, {{"sync.kind", "dataparallel_gpu0"}}).empty());
  CHECK(left_in_sync(torus, {{"sync.algorithm", "ring"}}) == Keys{"algorithm"});
  CHECK(left_in_sync(torus, {{"sync.grid", "[2, 4]"}}) == Keys{"algorithm", "grid"});
  CHECK(left_in_sync(servers, {{"sync.kind", "ring"}}).size() ==
        5);  // no such kind: an error when it is read
}

TEST_CASE("a distribution of another kind keeps the mean alone") {
  config::Document document = config::parse("e.yaml", "random: {step: {kind: normal, mean: 1, sd: 0.1}}");
  const auto notes =
      remove_replaced_keys(document, {{"random.step.kind", "pareto"}, {"random.step.shape", "3"}});
  CHECK(document.root.find("random")->find("step")->entries.size() == 2);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front() == "random.step.kind=pareto leaves out of the experiment's file: random.step.sd");
}

TEST_CASE("a model brings its own optimizer, and takes that of the file's model with it") {
  const ResolvedExperiment bert = shipped_experiment("resnet50_dgx2", {{"model", "bert_base"}});
  CHECK(bert.settings.optimizer == Optimizer::adam);
  CHECK(!bert.changed.empty());
  REQUIRE(!bert.notes.empty());
  CHECK(bert.notes.front() == "model=bert_base leaves out of the experiment's file: optimizer");
  CHECK(shipped_experiment("resnet50_dgx2", {{"model", "bert_base"}, {"optimizer", "sgd"}})
            .settings.optimizer == Optimizer::sgd);
  CHECK(shipped_experiment("resnet50_dgx2", {{"model", "resnet50"}}).notes ==
        shipped_experiment("resnet50_dgx2").notes);
  CHECK(shipped_experiment("resnet50_dgx2").changed.empty());
}

TEST_CASE("the error of a learner's accuracy is that of this learner") {
  const auto error_of = [](const Overrides& overrides) {
    return shipped_experiment("nt3_theta", overrides).settings.learn->accuracy_error;
  };
  CHECK(error_of({{"learn.rate", "0.01"}}) == 0.026);
  CHECK_FALSE(error_of({{"learn.model.hidden", "[40, 20]"}}));
  CHECK(error_of({{"learn.model.hidden", "[40, 20]"}, {"learn.accuracy_error", "0.1"}}) == 0.1);
}

TEST_CASE("none unsets a key, but not where it is a name or the default is a file") {
  const Overrides k_sync{{"sync.kind", "parameter_server"}, {"sync.update", "k_sync"}, {"sync.k", "3"}};
  Overrides unset = k_sync;
  unset.emplace_back("sync.k", "none");
  unset.emplace_back("sync.update", "none");
  CHECK(shipped_experiment("resnet50_dgx2", k_sync).settings.sync.k == 3);
  CHECK(!shipped_experiment("resnet50_dgx2", unset).settings.sync.k);
  CHECK(shipped_experiment("resnet50_dgx2", unset).settings.sync.update == UpdateRule::sync);
  CHECK(shipped_experiment("resnet50_dgx2", {{"optimizer", "none"}, {"model", "bert_base"}})
            .settings.optimizer == Optimizer::adam);
  CHECK(shipped_experiment("resnet50_dgx2", {{"sync", "none"}}).settings.sync.kind == SyncKind::all_reduce);
  CHECK(shipped_experiment("resnet50_dgx2", {{"platform.fabric", "none"}}).platform.fabric.kind ==
        FabricKind::none);
  CHECK(error_of("resnet50_dgx2", {{"software", "none"}}).find("unknown software 'none'") !=
        std::string::npos);
  CHECK(error_of("resnet50_dgx2", {{"platform", "none"}}).find("unknown platform 'none'") !=
        std::string::npos);
  const ResolvedExperiment peers =
      shipped_experiment("resnet50_dgx2", {{"sync.kind", "peer_to_peer"}, {"sync.compression", "none"}});
  CHECK(peers.settings.sync.compression == Compression::none);
}

TEST_CASE(
    "the grid of a torus has one place for each rank that sums gradients, and no other algorithm has one") {
  const auto error = [](Overrides overrides) { return error_of("resnet50_abci", overrides); };
  CHECK(error({{"sync.grid", "[68, 32]"}}).empty());
  CHECK(error({{"sync.grid", "[32, 68]"}}).empty());
  CHECK(error({{"sync.grid", "[68, 31]"}}).find("in sync.grid") != std::string::npos);
  CHECK(error({{"sync.grid", "[68, 31]"}}).find("2108 places") != std::string::npos);
  CHECK(error({{"sync.grid", "[2176, 1]"}}).find("in sync.grid") != std::string::npos);
  CHECK_FALSE(error({{"sync.grid", "2176"}}).empty());
  // a single rank sums nothing
  CHECK_FALSE(error({{"sync.grid", "[68, 32]"}, {"nodes", "1"}, {"gpus", "1"}}).empty());
  for (const char* other : {"auto", "ring", "halving_doubling"}) {
    CAPTURE(other);
    CHECK(error({{"sync.grid", "[68, 32]"}, {"sync.algorithm", other}}).find("in sync.grid") !=
          std::string::npos);
  }
  // of a layout the replicas count
  const auto with_grid = [&](const char* grid) {
    return error_of("t5_11b_dgx_a100", {{"nodes", "4"}, {"sync.algorithm", "torus2d"}, {"sync.grid", grid}});
  };
  CHECK(with_grid("[2, 2]").empty());
  CHECK(with_grid("[8, 4]").find("summed over 4 ranks") != std::string::npos);
  // replicas that divide their state inside nodes sum over the nodes; experts have fewer replicas
  const auto sharded = [&](const char* grid) {
    return error_of("resnet50_dgx2", {{"nodes", "4"},
                                      {"gpus", "64"},
                                      {"parallelism.shard", "optimizer"},
                                      {"parallelism.shard_over", "node"},
                                      {"sync.algorithm", "torus2d"},
                                      {"sync.grid", grid}});
  };
  CHECK(sharded("[2, 2]").empty());
  CHECK(sharded("[8, 8]").find("gradients are summed over 4 ranks") != std::string::npos);
  CHECK(error_of("mixtral_8x7b_dgx_h100",
                 {{"parallelism.shard", "none"}, {"sync.algorithm", "torus2d"}, {"sync.grid", "[4, 4]"}})
            .find("gradients of experts are summed over") != std::string::npos);
  // experts without replicas sum nothing
  CHECK(error_of("mixtral_8x7b_dgx_h100", {{"nodes", "4"},
                                           {"accumulation", "64"},
                                           {"parallelism.shard", "none"},
                                           {"sync.algorithm", "torus2d"},
                                           {"sync.grid", "[4, 2]"}})
            .empty());
}

TEST_CASE("what users call a key is answered with the key") {
  CHECK(error_of("resnet50_dgx2", {{"batch", "4"}}).find("did you mean 'batch_per_gpu'?") !=
        std::string::npos);
  CHECK(error_of("resnet50_dgx2", {{"tp", "4"}}).find("did you mean 'parallelism.tensor'?") !=
        std::string::npos);
}

TEST_CASE("an experiment needs no file") {
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const auto error = [&](const Overrides& overrides) {
    return to_string(errors_of([&] { resolve(catalogue, no_file, overrides); }).at(0));
  };
  CHECK(error({}).find("key 'platform' is missing") != std::string::npos);
  CHECK(error({{"platform", "dgx2"}, {"batch_per_gpu", "32"}}).find("'model' or 'trace' is missing") !=
        std::string::npos);
  CHECK(error({{"platform", "dgx2"}, {"model", "vgg16"}}).find("batch_per_gpu") != std::string::npos);
  const ResolvedExperiment vgg =
      resolve(catalogue, no_file,
              {{"platform", "minsky"}, {"model", "vgg16"}, {"batch_per_gpu", "32"}, {"nodes", "4"}});
  CHECK(vgg.name == "vgg16 on minsky");
  CHECK(vgg.settings.stack == "pytorch_ddp");
  CHECK(vgg.cluster->ranks() == 16);
}

TEST_CASE("another GPU takes price and power of the machine with it") {
  const ResolvedExperiment rented = shipped_experiment("resnet50_p3_2xlarge");
  REQUIRE(rented.platform.price.hour);
  const Overrides other{{"platform.node.gpus.profile", "a100_sxm4_40gb"}};
  const ResolvedExperiment changed = shipped_experiment("resnet50_p3_2xlarge", other);
  CHECK(!changed.platform.price.hour);
  CHECK(!changed.platform.power.overhead);
  REQUIRE(!changed.notes.empty());
  CHECK(changed.notes.back() ==
        "price and power of p3_2xlarge left out: with 1 a100_sxm4_40gb in place of 1 v100_sxm2_16gb it is "
        "another machine");
  const Overrides same{{"platform.node.gpus.profile", "v100_sxm2_16gb"}};
  CHECK(shipped_experiment("resnet50_p3_2xlarge", same).platform.price.hour);
  const ResolvedExperiment priced = shipped_experiment(
      "resnet50_p3_2xlarge",
      {other.front(), {"platform.node.price", "{hour: 4 USD, date: 2026-11, source: a test}"}});
  CHECK(priced.platform.price.hour);
  // The same GPU, named in the experiment's file.
  InputFiles files;
  const ResolvedExperiment in_file =
      resolve({{TRAINYARD_SOURCE_DIR}},
              config::parse("own.yaml",
                            "platform: p3_2xlarge\nmodel: resnet50\nstack: pytorch_ddp\n"
                            "batch_per_gpu: 64\nset: {platform.node.gpus.profile: a100_sxm4_40gb}\n"),
              "own.yaml", {}, files);
  CHECK(!in_file.platform.price.hour);
  CHECK(!in_file.platform.power.overhead);
  CHECK(in_file.notes.back() == changed.notes.back());
}
