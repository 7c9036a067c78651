// Keys that need others or exclude them, and what the values of the enums with traits have.

#include "experiment/combinations.hpp"

#include "config/read.hpp"
#include "errors_of.hpp"
#include "every_rule.hpp"
#include "experiment/sync_keys.hpp"
#include "workload/readme_keys.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// "KEY: message" of each error of an experiment with these lines.
std::vector<std::string> errors_in(const std::string& lines) {
  std::string text = "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 8\n" + lines;
  if (lines.find("model: ") == std::string::npos && lines.find("trace") == std::string::npos)
    text += "\nmodel: resnet50\n";
  std::vector<std::string> found;
  for (const Diagnostic& error : errors_of([&] { load_experiment(config::parse("e.yaml", text)); }))
    found.push_back(error.key_path + ": " + error.message);
  return found;
}

/// The values of an update rule's keys, as YAML.
std::string keys_of(const UpdateRuleTraits& rule, std::string_view without = {}) {
  const std::map<std::string_view, std::string_view> values{
      {"k", "2"}, {"bound", "2"}, {"push_every", "4"}, {"fetch_every", "8"}};
  std::string text;
  for (const RuleKey& key : rule_keys) {
    if (key.is_needed && key.is_of(rule) && key.name != without)
      text += fmt::format(", {}: {}", key.name, values.at(key.name));
  }
  return text;
}

}  // namespace

TEST_CASE("combinations of keys are refused at one of them, by name") {
  const std::string servers = "sync: {kind: parameter_server, ";
  const std::string learns = "learn: {model: {kind: quadratic}, rate: {base: 0.1}}\n";
  const std::string faults = "faults: {work: 1 h, restart: 1 min, dates: [{of: rank, at: 1 h}]}\n";
  const std::pair<std::string, std::string> cases[] = {
      {"model: resnet50\ntrace: t.csv", "trace: 'model'"},
      {"traces: []", "traces: the list"},
      {"model: resnet50\ntraces: [{trace: t.csv}]", "traces: 'model'"},
      {"trace: t.csv\ntraces: [{trace: t.csv}]", "traces: 'trace'"},
      {"traces: [{trace: t.csv, ranks: 0-3, data: 1}]", "traces[0].ranks: "},
      {servers + "algorithm: ring}", "sync.algorithm: 'algorithm' is for collectives"},
      {"sync: {update: async}", "sync.update: 'async' needs parameter servers; an all-reduce waits"},
      {"sync: {kind: peer_to_peer, update: async}", "sync.update: 'async' needs parameter servers; peer_to"},
      {"sync: {backups: 2}", "sync.backups: 'backups' needs parameter servers"},
      {"sync: {shards: 2}", "sync.shards: 'shards' needs parameter servers; an all-reduce has none"},
      {"sync: {placement: hosts}", "sync.placement: 'placement'"},
      {"sync: {kind: dataparallel_gpu0, update: local_sgd, push_every: 2}",
       "sync.update: local_sgd averages"},
      {"sync: {kind: dataparallel_gpu0, algorithm: ring}", "sync.algorithm: 'algorithm' does not apply"},
      {"sync: {algorithm: ring, grid: [4, 2]}",
       "sync.grid: 'grid' applies only to algorithm: torus2d; "
       "sync.algorithm is 'ring'"},
      {"sync: {compression: fp16}",
       "sync.compression: 'compression' applies only to peer_to_peer; sync.kind "
       "is 'all_reduce'"},
      {"sync: {kind: peer_to_peer, keep: 0.1}", "sync.keep: 'keep' applies only"},
      {"sync: {kind: peer_to_peer, compression: top_k}", "sync.compression: 'top_k' needs 'keep'"},
      {"sync: {kind: peer_to_peer, update: local_sgd, push_every: 2, compression: fp16}",
       "sync.compression: 'compression' does not apply to local_sgd"},
      {"sync: {kind: dataparallel_gpu0}\naccumulation: 2", "accumulation: "},
      {"random: {gpus: profile, step: {kind: exponential}}", "random.gpus: 'gpus: profile'"},
      {"random: {gpus: slowest, gpu: {kind: exponential}}", "random.gpus: 'gpu' draws"},
      {servers + "update: async}\njob: {epochs: 1, load: {bytes: 1 GB, rate: 1 GB/s, spread: 0.5}}",
       "job.load.spread: ranks wait for the slowest reader"},
      {servers + "update: downpour, push_every: 2, fetch_every: 2, placement: free}\n"
                 "random: {communication: {delay: 1 s, factor: {kind: exponential}}}",
       "random.communication: downpour hides"},
      {servers + "update: downpour, push_every: 2, fetch_every: 2}\n" + faults +
           "random: {communication: {delay: 1 s, factor: {kind: exponential}}}",
       "random.communication: faults with downpour"},
      {"trace: t.csv\nparallelism: {pipeline: 2}", "parallelism.pipeline: 'pipeline' divides"},
      {"trace: t.csv\nparallelism: {tensor: 2, sequence: true}", "parallelism.sequence: 'sequence' divides"},
      {"parallelism: {tensor: 2}\n" + faults + servers + "update: async}",
       "faults: ranks that share a model"},
      {"faults: {work: 1 h, restart: 1 min, spares: 1, dates: [{of: node, at: 1 h}]}",
       "faults.spares: 'spares' needs 'repair'"},
      {"faults: {work: 1 h, restart: 1 min, elastic: true, dates: [{of: node, at: 1 h}]}",
       "faults.elastic: 'elastic' needs 'repair'"},
      {"faults: {work: 1 h, restart: 1 min, repair: 1 d, dates: [{of: node, at: 1 h}]}\n" + servers +
           "update: async}",
       "faults.repair: jobs on servers"},
      {"faults: {work: 1 h, restart: 1 min, repair: 1 d, elastic: true, dates: [{of: node, at: 1 h}]}\n"
       "parallelism: {expert: 2}",
       "faults.elastic: replicas that share experts"},
      {"faults: {work: 1 h, restart: 1 min, dates: [{of: job, at: 1 h, planned: true}]}",
       "faults.rates: planned stops write a checkpoint"},
      {"faults: {work: 1 h, restart: 1 min, dates: [{of: node, at: 1 h}], checkpoint: {bandwidth: 1 GB/s, "
       "in_memory: {every: 1 min}}}\n" +
           servers + "update: async}",
       "faults.checkpoint.in_memory: parameters are on servers"},
      {"parallelism: {tensor: 2, shard: gradients}\nsync: {algorithm: ring}", "sync.algorithm: 'ring' is an"},
      {"one_gpu_scale: 1.1", "one_gpu_scale: 'one_gpu_scale' needs"},
      {"faults: {work: 1 h, restart: 1 min}", "faults: 'faults' needs"},
      {"job: {epochs: 1, steps: 10}", "job.steps: "},
      {"job: {epochs: 1, target: x}", "job.target: "},
      {"job: {broadcast: true}", "job: 'job' needs"},
      {"job: {epochs: 1, evaluation: {every: 1 epoch, samples: 10}}\nparallelism: {tensor: 2}",
       "job.evaluation: evaluation is not simulated with 'parallelism'"},
      {"job: {epochs: 1, evaluation: {every: 1 epoch, samples: 10}}\ntraces: [{trace: t.csv}]",
       "job.evaluation: evaluation is not simulated with 'traces'"},
      {"job: {epochs: 1, evaluation: {every: 1 epoch, samples: 10}}\nsync: {kind: dataparallel_gpu0}",
       "job.evaluation: evaluation is not simulated with 'sync.kind: dataparallel_gpu0'"},
      {"job: {epochs: 1, evaluation: {every: 1 epoch, samples: 10}}\n" + servers + "update: async}",
       "job.evaluation: evaluation is not simulated with 'random"},
      {"job: {epochs: 1, checkpoint: {every: 1 epoch}}\n" + faults, "job.checkpoint: "},
      {"job: {epochs: 1, broadcast: true}\n" + servers + "update: async}", "job.broadcast: parameters come"},
      {"job: {epochs: 1, broadcast: true}\nsync: {kind: dataparallel_gpu0}", "job.broadcast: dataparallel"},
      {"job: {epochs: 1, broadcast: true}\nparallelism: {tensor: 2}", "job.broadcast: the broadcast"},
      {learns + faults + servers + "update: ssp, bound: 1}",
       "faults: learning with faults is known for async and downpour, where nobody waits for a dead worker; "
       "sync.update is 'ssp'"},
      {learns + "faults: {work: 1 h, restart: 1 min, rates: [{of: rank, every: 1 h}]}\n" + servers +
           "update: async}",
       "faults.rates: "},
      {"learn: {model: {kind: quadratic}, rate: {base: 0.1}, until: {updates: 5}}\n" + faults + servers +
           "update: async}",
       "learn.until.updates: a job with faults"},
      {servers + "update: k_sync, k: 2, adaptive_k: {every: 5}}", "sync.adaptive_k: k can only"},
      {learns + faults + servers + "update: k_sync, k: 2, adaptive_k: {every: 5}}",
       "sync.adaptive_k: the pace"},
  };
  for (const auto& [lines, expected] : cases) {
    CAPTURE(lines);
    CAPTURE(expected);
    const std::vector<std::string> found = errors_in(lines);
    CHECK(std::ranges::any_of(found, [&](const std::string& one) { return one.starts_with(expected); }));
    for (const std::string& one : found) CHECK(one.find_first_of("{}") == std::string::npos);
  }
}

TEST_CASE("every update rule has the keys that it needs, and refuses those of others") {
  for (const auto& [name, rule, doc, rule_traits] : update_rules) {
    CAPTURE(name);
    const auto with = [&](std::string_view update, const std::string& keys) {
      const char* const kind = traits(rule).waits_for_all() ? "all_reduce" : "parameter_server";
      return errors_in(fmt::format("sync: {{kind: {}, update: {}{}}}", kind, update, keys));
    };
    const std::string own = keys_of(rule_traits);
    CHECK(with(name, own) == std::vector<std::string>{});
    for (const RuleKey& key : rule_keys) {
      CAPTURE(key.name);
      if (!key.is_of(rule_traits)) {
        const std::string value = key.name == "adaptive_k" ? "{every: 5}" : "2";
        const auto found = with(name, own + fmt::format(", {}: {}", key.name, value));
        CHECK(std::ranges::any_of(found, [&](const std::string& one) {
          return one.starts_with(fmt::format("sync.{}: '{}' applies only to ", key.name, key.name));
        }));
      } else if (key.is_needed) {
        CHECK(with(name, keys_of(rule_traits, key.name)) ==
              std::vector{fmt::format("sync.update: '{}' needs '{}'", name, key.name)});
      }
    }
  }
}

TEST_CASE("an update rule that does not exist has no keys that others refuse") {
  CHECK(errors_in("sync: {kind: parameter_server, update: nonsense, push_every: 2, fetch_every: 2}") ==
        std::vector<std::string>{"sync.update: unknown update rule 'nonsense'"});
}

TEST_CASE("every update rule, schedule and axis of parallelism is documented") {
  std::string text = readme_text("workloads/README.md");
  for (const auto& page : std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/docs")) {
    if (page.path().extension() == ".md") text += readme_text("docs/" + page.path().filename().string());
  }
  const auto check = [&](const auto& rows) {
    for (const auto& row : rows) {
      CAPTURE(row.text);
      CHECK(text.find(fmt::format("`{}`", row.text)) != std::string::npos);
    }
  };
  check(update_rules);
  check(pipeline_schedules);
  check(parallel_axes);
}

TEST_CASE("a block learn that waits to be asked for is read and checked, and combined with nothing") {
  const auto errors = errors_in("model: resnet50\nlearn: {when: asked, model: {kind: nonsense}, bogus: 3}");
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].starts_with("learn.rate: "));
  CHECK(errors[1].starts_with("learn.model.kind: "));
  CHECK(errors[2].starts_with("learn.bogus: "));
  const std::string asked = "model: resnet50\nlearn: {when: asked, model: {kind: quadratic}, ";
  REQUIRE(errors_in(asked + "rate: {base: 0.1, distance: 1}}").size() == 1);
  const std::string faults = "faults: {work: 1 h, restart: 1 min, dates: [{of: rank, at: 1 h}]}\n";
  CHECK(errors_in(asked + "rate: 0.1}\n" + faults).empty());
  CHECK_FALSE(errors_in("model: resnet50\nlearn: {model: {kind: quadratic}, rate: 0.1}\n" + faults).empty());
}
