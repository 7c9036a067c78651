// Replicas whose ranks share a model, updated by parameter servers: against replicas of one rank, closed
// forms, and every message on SimGrid.

#include "engine/in_child.hpp"
#include "experiment/workers.hpp"
#include "platform/channels.hpp"
#include "run/memory_verdict.hpp"
#include "run/server_memory.hpp"
#include "run/simulate.hpp"
#include "run/worker_messages.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard;

namespace {

constexpr double speech_parameters = 440 * 2304 + 3 * 2304 * 2304 + 2304 * 8192 + 4 * 2304 + 8192;

/// Machines of DistBelief's, `in_replica` of which divide the speech model, and servers on other machines.
ResolvedExperiment speech(int nodes, const std::string& parallelism, const Overrides& overrides = {}) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "replicas.yaml").string();
  std::ofstream(file) << "platform: distbelief\nnodes: " << nodes
                      << "\nmodel: distbelief_speech\nstack: distbelief\nprecision: fp32\nbatch_per_gpu: 32\n"
                      << "optimizer: sgd\nsteps: {warmup: 2, measured: 6}\n"
                      << "sync: {kind: parameter_server, update: sync, placement: own_nodes, shards: 2}\n"
                      << parallelism;
  return testing::shipped_experiment(file, overrides);
}

std::string divided(int in_replica) {
  return "parallelism: {layer_group: " + std::to_string(in_replica) +
         ", layers: [{match: \"hidden*\"}, {match: states}]}\n";
}

/// GPT-2 small on one DGX-2.
ResolvedExperiment transformer(const std::string& parallelism, const Overrides& overrides = {}) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "transformer.yaml").string();
  std::ofstream(file) << "platform: dgx2\nnodes: 1\nmodel: gpt2_small\nstack: tf_parameter_server\n"
                      << "precision: fp32\nbatch_per_gpu: 2\noptimizer: adam\n"
                      << "steps: {warmup: 2, measured: 6}\n"
                      << "sync: {kind: parameter_server, update: async, shards: 4}\n"
                      << "parallelism: {" << parallelism << "}\n";
  return testing::shipped_experiment(file, overrides);
}

Run run_of(const ResolvedExperiment& resolved, Fidelity fidelity = Fidelity::flow) {
  return simulate(resolved, {.fidelity = fidelity});
}

double bytes_on(const Run& run, const std::string& name) {
  double sum = 0;
  for (const LinkRow& row : run.links.rows)
    sum += row.name.find(name) == std::string::npos ? 0 : row.bytes.si();
  return sum;
}

struct SentBytes {
  double pushed = 0, pulled = 0, held = 0;
};

SentBytes sent_by_worker(const ResolvedExperiment& resolved) {
  SentBytes sent;
  for (const ServerMessage& message : worker_messages(resolved)) {
    const double bytes = message.bytes.si() * static_cast<double>(message.shards.size());
    sent.pulled += bytes;
    if (message.is_pushed) sent.pushed += bytes;
    if (message.copy_of < 0) sent.held += bytes;
  }
  return sent;
}

/// The figures of a run that both fidelities must share.
struct Figures {
  double time = 0, communicating = 0, waiting = 0;
};

Figures figures_of(const ResolvedExperiment& resolved, Fidelity fidelity) {
  return testing::in_child<Figures>([&] {
    const Run run = run_of(resolved, fidelity);
    const WorkerRow sum = sum_of(updates_of(run)->workers);
    return Figures{run.pace.time.si(), sum.communicating.si(), sum.waiting.si()};
  });
}

void check_messages(const ResolvedExperiment& resolved) {
  const Figures flow = figures_of(resolved, Fidelity::flow);
  const Figures messages = figures_of(resolved, Fidelity::messages);
  CHECK(flow.time == doctest::Approx(messages.time).epsilon(1e-9));
  CHECK(flow.communicating == doctest::Approx(messages.communicating).epsilon(1e-9));
  CHECK(flow.waiting == doctest::Approx(messages.waiting).epsilon(1e-9));
}

}  // namespace

TEST_CASE("replicas of one rank are ranks that hold the whole model") {
  for (const char* const rule : {"sync", "async", "downpour", "k_sync"}) {
    CAPTURE(rule);
    Overrides set{{"sync.update", rule}};
    if (std::string(rule) == "k_sync") set.emplace_back("sync.k", "3");
    if (std::string(rule) == "downpour") {
      set.emplace_back("sync.push_every", "1");
      set.emplace_back("sync.fetch_every", "2");
    }
    const Run alone = run_of(speech(4, "", set));
    const Run replicas = run_of(speech(4, divided(1), set));
    CHECK(replicas.pace.time.si() == doctest::Approx(alone.pace.time.si()).epsilon(1e-12));
    CHECK(replicas.pace.throughput == doctest::Approx(alone.pace.throughput).epsilon(1e-12));
    CHECK(replicas.pace.speedup == doctest::Approx(alone.pace.speedup).epsilon(1e-12));
    CHECK(updates_of(replicas)->staleness.gradients == updates_of(alone)->staleness.gradients);
    CHECK(replicas.energy->per_step.si() == doctest::Approx(alone.energy->per_step.si()).epsilon(1e-9));
    REQUIRE(replicas.links.rows.size() == alone.links.rows.size());
    for (std::size_t i = 0; i < alone.links.rows.size(); ++i) {
      CHECK(replicas.links.rows[i].name == alone.links.rows[i].name);
      CHECK(replicas.links.rows[i].bytes.si() ==
            doctest::Approx(alone.links.rows[i].bytes.si()).epsilon(1e-12));
    }
    CHECK(total(*server_memory(speech(4, divided(1), set))) == total(*server_memory(speech(4, "", set))));
  }
}

TEST_CASE("without overlap two ranks push to a server each and pull at the rate of their links") {
  const ResolvedExperiment resolved =
      speech(2, divided(2), {{"stack.overlap", "false"}, {"stack.servers.pull", "after_update"}});
  const Run run = run_of(resolved);
  const Seconds computed = step_of(run).timeline.makespan;  // of the replica without servers
  const Cluster with_servers = make_cluster(resolved.platform, 4);
  std::vector<LinkId> links;
  const RouteSummary route =
      append_route(with_servers, Rank{0}, HostMemory{.node = NodeId{2}, .cpu = 0}, links);
  Bandwidth rate(1e30);
  for (const LinkId link : links) rate = std::min(rate, capacity(with_servers, link));
  const Bytes half(4 * speech_parameters / 2);
  const Seconds expected = computed + 2 * (route.latency + half / rate);
  CHECK(run.pace.time.si() == doctest::Approx(expected.si()).epsilon(1e-9));
}

TEST_CASE("messages of a replica and to its servers fit into the links together") {
  const Run run = run_of(speech(4, divided(2),
                                {{"sync.update", "downpour"},
                                 {"sync.push_every", "1"},
                                 {"sync.fetch_every", "1"},
                                 {"sync.shards", "8"}}));
  const WorkerRow sum = sum_of(updates_of(run)->workers);
  const double computing = sum.computing / (4 * updates_of(run)->measured);
  CHECK(computing < 0.9);  // pushes take longer than steps
  const double in_step =
      step_of(run).timeline.link_bytes[index(*find_link(*run.experiment.cluster, "node0.nic0->fabric"))];
  const auto row = std::ranges::find(run.links.rows, "node0.nic0->fabric", &LinkRow::name);
  REQUIRE(row != run.links.rows.end());
  // A replica makes half of the updates: each a step and a push. The last push may be under way.
  const double in_update = in_step / 2 + 4 * speech_parameters / 4;
  CHECK(row->bytes.si() == doctest::Approx(in_update).epsilon(0.1));
  CHECK(row->utilization <= 1 + 1e-9);
  CHECK(row->utilization > 0.9);  // this link limits
}

TEST_CASE("every rank of a replica exchanges its part with its part of the shards, and nothing twice") {
  const ResolvedExperiment resolved = speech(8, divided(4), {{"sync.shards", "8"}});
  CHECK(ranks_per_worker(resolved) == 4);
  CHECK(workers_of(resolved) == 2);
  for (const ServerMessage& message : worker_messages(resolved)) {
    for (const int shard : message.shards) CHECK(shard % 4 == message.rank);
  }
  const SentBytes sent = sent_by_worker(resolved);
  CHECK(sent.held == doctest::Approx(4 * speech_parameters).epsilon(1e-12));
  CHECK(sent.pushed == sent.held);
  CHECK(sent.pulled == sent.held);
}

TEST_CASE("tensor ranks push a gradient that all have once, and all of them pull it") {
  const ResolvedExperiment resolved = transformer("tensor: 2");
  const SentBytes sent = sent_by_worker(resolved);
  CHECK(sent.held == doctest::Approx(4 * totals(resolved.model->layers).parameters).epsilon(1e-12));
  CHECK(sent.pushed == sent.held);
  // both have the norms, the biases of layers divided by rows, and the positions
  const double copies = 4.0 * (12 * (4 * 768 + 2 * 768) + 2 * 768 + 1024 * 768);
  CHECK(sent.pulled - sent.held == doctest::Approx(copies).epsilon(1e-12));
}

TEST_CASE("layers that no rule divides have gradients of each rank's own samples, which servers add up") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "alexnet.yaml").string();
  std::ofstream(file) << "platform: dgx2\ngpus: 4\nmodel: alexnet\nstack: tf_parameter_server\n"
                      << "batch_per_gpu: 16\noptimizer: sgd\nsteps: {warmup: 1, measured: 4}\n"
                      << "parallelism: {layers: [{match: \"fc*\"}], layer_group: 2}\n"
                      << "sync: {kind: parameter_server, update: sync, shards: 4, placement: gpus}\n";
  const ResolvedExperiment resolved = testing::shipped_experiment(file);
  const SentBytes sent = sent_by_worker(resolved);
  CHECK(sent.pushed == sent.pulled);
  CHECK(sent.pushed > sent.held);
  double shared = 0;
  for (const Layer& layer : resolved.model->layers) {
    if (!layer.name.starts_with("fc")) shared += 4 * parameter_elements(layer);
  }
  CHECK(sent.pushed - sent.held == doctest::Approx(shared).epsilon(1e-12));
  check_messages(resolved);
}

TEST_CASE("what replicas push arrives at the servers, and links out carry what links in do") {
  const ResolvedExperiment resolved = speech(8, divided(4));
  const Run run = run_of(resolved);
  // an update has a gradient of each of two replicas
  const double into_servers = bytes_on(run, "fabric->node8") + bytes_on(run, "fabric->node9");
  CHECK(into_servers == doctest::Approx(2 * 4 * speech_parameters).epsilon(1e-9));
  CHECK(bytes_on(run, "nic0->fabric") == doctest::Approx(bytes_on(run, "fabric->")).epsilon(1e-9));
}

TEST_CASE("a rank of a replica holds its part, and servers hold the model once") {
  const ResolvedExperiment resolved = speech(
      8, divided(4), {{"sync.update", "downpour"}, {"sync.push_every", "1"}, {"sync.fetch_every", "1"}});
  const MemoryReport whole = fullest(memory_reports(speech(8, "")));
  const MemoryReport part = fullest(memory_reports(resolved));
  CHECK(4 * part.terms.parameters == whole.terms.parameters);
  CHECK(4 * part.terms.gradients == whole.terms.gradients);
  const ServerMemory server = server_memory(resolved).value();
  CHECK(server.places == 2);
  // two shards for four ranks: each has the parts of two
  CHECK(server.parameters.si() == doctest::Approx(4 * speech_parameters / 2).epsilon(1e-12));
  CHECK(server.gradient_sums == Bytes());
}

TEST_CASE("replicas give the same message by message: divided layers, tensor ranks, stages") {
  check_messages(speech(8, divided(4),
                        {{"sync.update", "downpour"}, {"sync.push_every", "1"}, {"sync.fetch_every", "1"}}));
  check_messages(speech(8, divided(4), {{"sync.update", "k_sync"}, {"sync.k", "1"}}));
  check_messages(speech(8, divided(2), {{"sync.update", "async"}, {"sync.placement", "hosts"}}));
  check_messages(transformer("tensor: 4"));
  check_messages(speech(8,
                        "parallelism: {pipeline: 2, first_layers: [hidden3], order: [tensor, context, "
                        "pipeline, data]}\naccumulation: 4\n"));
}

TEST_CASE("a stage's gradients are ready after its last micro-batch, and the first stage's last of all") {
  const ResolvedExperiment resolved =
      speech(4,
             "parallelism: {pipeline: 2, first_layers: [hidden3], order: [tensor, context, pipeline, "
             "data]}\naccumulation: 4\n");
  const Run run = run_of_replicas(resolved, {});
  const ReplicaStep step = replica_step(resolved, {}, run);
  const std::vector<ServerMessage> messages = worker_messages(resolved);
  const MessageParts parts = message_parts(resolved, step, messages);
  double last_of_first = 0;
  double last_of_second = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    CHECK(parts.ready[i] > 0.75);  // three of four micro-batches have passed the stage
    CHECK(parts.needed[i] < 0.5);
    double& last = messages[i].rank == 0 ? last_of_first : last_of_second;
    last = std::max(last, parts.ready[i]);
  }
  CHECK(last_of_first > 0.98);  // then gradients are added up
  CHECK(last_of_second < 0.98);
}

TEST_CASE("random steps make replicas of downpour drift apart, as slow as their slowest rank") {
  const Overrides slow{{"sync.update", "downpour"},
                       {"sync.push_every", "1"},
                       {"sync.fetch_every", "1"},
                       {"random.slow", "[{node: 3, factor: 2}]"}};
  const Run even = run_of(speech(8, divided(4),
                                 {{"sync.update", "downpour"},
                                  {"sync.push_every", "1"},
                                  {"sync.fetch_every", "1"},
                                  {"sync.placement", "free"}}));
  Overrides of_slow = slow;
  of_slow.emplace_back("sync.placement", "free");
  const Run uneven = run_of(speech(8, divided(4), of_slow));
  // one replica makes one step while the other makes two
  CHECK(uneven.pace.time / even.pace.time == doctest::Approx(4.0 / 3).epsilon(0.05));
}

TEST_CASE("what is not simulated with replicas on servers is refused with a way out") {
  struct Refused {
    std::string parallelism;
    Overrides set;
    std::string key;
  };
  const std::array refused{
      Refused{"tensor: 2, sequence: true", {}, "parallelism.sequence"},
      Refused{"context: 2", {}, "parallelism.context"},
      Refused{"tensor: 2, shard: optimizer", {}, "parallelism.shard"},
      Refused{"pipeline: 2", {}, "parallelism.order"},
      Refused{"pipeline: 2, order: [tensor, context, pipeline, data]", {}, "parallelism.pipeline"},
      Refused{"tensor: 2", {{"random.op", "{kind: exponential}"}}, "random.op"},
      Refused{"tensor: 2", {{"sync.update", "local_sgd"}, {"sync.push_every", "2"}}, "sync.update"},
      Refused{"tensor: 2", {{"stack.servers.node_reduce", "gpus"}}, "parallelism"},
      Refused{"tensor: 2", {{"input.data", "real"}}, "input.data"},
  };
  for (const Refused& one : refused) {
    CAPTURE(one.key);
    try {
      transformer(one.parallelism, one.set);
      FAIL("accepted");
    } catch (const InputError& error) {
      const auto found = std::ranges::find(error.diagnostics(), one.key, &Diagnostic::key_path);
      REQUIRE(found != error.diagnostics().end());
      CHECK_FALSE(found->hint.empty());
    }
  }
}
