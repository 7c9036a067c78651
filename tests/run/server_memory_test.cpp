// The memory of parameter servers, in bytes computed by hand.

#include "run/server_memory.hpp"

#include "engine/in_child.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard;

namespace {

constexpr double parameters = 25557032;        // of ResNet-50
constexpr double largest = 3 * 3 * 512 * 512;  // its largest tensor

/// Four V100 of 16 GB on each of the nodes, one server on rank 0's GPU unless overridden.
ResolvedExperiment with_servers(const Overrides& overrides, const std::string& more = "") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "servers.yaml").string();
  std::ofstream(file)
      << "platform: dlperf\ngpus_per_node: 4\nnodes: 1\nmodel: resnet50\nstack: tf_parameter_server\n"
      << "batch_per_gpu: 8\noptimizer: momentum\n"
      << "sync: {kind: parameter_server, update: sync, placement: gpu}\n"
      << more;
  return testing::shipped_experiment(file, overrides);
}

ServerMemory memory_with(const Overrides& overrides) {
  return server_memory(with_servers(overrides)).value();
}

bool has_assumption(const MemoryReport& report, const std::string& text) {
  return std::ranges::any_of(report.assumptions,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a server on a GPU holds parameters, state, a sum and a message of every other rank") {
  const ServerMemory memory = memory_with({});
  CHECK(memory.is_on_gpu);
  CHECK(memory.place == "the GPU of rank 0");
  CHECK(memory.places == 1);
  CHECK(memory.parameters == Bytes(4 * parameters));
  CHECK(memory.optimizer_state == Bytes(4 * parameters));
  CHECK(memory.gradient_sums == Bytes(4 * parameters));
  CHECK(memory.receive_buffers == Bytes(3 * 4 * largest));
  CHECK(total(memory) == Bytes(12 * parameters + 12 * largest));
}

TEST_CASE("a server's terms follow the optimizer, the type of gradients and the update rule") {
  CHECK(memory_with({{"optimizer", "adam"}}).optimizer_state == Bytes(8 * parameters));
  CHECK(memory_with({{"optimizer", "sgd"}}).optimizer_state == Bytes());
  const ServerMemory half = memory_with({{"stack.gradient_dtype", "fp16"}});
  CHECK(half.parameters == Bytes(4 * parameters));
  CHECK(half.gradient_sums == Bytes(2 * parameters));
  CHECK(half.receive_buffers == Bytes(3 * 2 * largest));
  for (const char* rule : {"async", "ssp", "downpour"}) {
    CAPTURE(rule);
    Overrides overrides{{"sync.update", rule}};
    if (std::string(rule) == "ssp") overrides.emplace_back("sync.bound", "2");
    if (std::string(rule) == "downpour") {
      overrides.emplace_back("sync.push_every", "2");
      overrides.emplace_back("sync.fetch_every", "2");
    }
    CHECK(memory_with(overrides).gradient_sums == Bytes());
  }
  CHECK(memory_with({{"sync.update", "k_async"}, {"sync.k", "1"}}).gradient_sums == Bytes());
  CHECK(memory_with({{"sync.update", "k_async"}, {"sync.k", "2"}}).gradient_sums == Bytes(4 * parameters));
  const ServerMemory averages = memory_with({{"sync.update", "local_sgd"}, {"sync.push_every", "4"}});
  CHECK(averages.optimizer_state == Bytes());
  CHECK(averages.gradient_sums == Bytes(4 * parameters));
}

TEST_CASE("shards divide the parameters; those on one host are added up") {
  const ServerMemory one = memory_with({{"sync.placement", "hosts"}, {"nodes", "2"}, {"sync.shards", "1"}});
  CHECK_FALSE(one.is_on_gpu);
  CHECK(one.place == "node 0");
  CHECK(one.parameters == Bytes(4 * parameters));
  CHECK(one.receive_buffers == Bytes(8 * 4 * largest));  // from each of eight ranks
  const ServerMemory two = memory_with({{"sync.placement", "hosts"}, {"nodes", "2"}, {"sync.shards", "2"}});
  CHECK(two.places == 2);
  CHECK(two.parameters >= Bytes(2 * parameters));
  CHECK(two.parameters < Bytes(2.01 * parameters));  // by_size: as even as whole tensors allow
  const ServerMemory both = memory_with({{"sync.placement", "hosts"}, {"nodes", "1"}, {"sync.shards", "2"}});
  CHECK(both.places == 1);
  CHECK(both.parameters == Bytes(4 * parameters));
  const ServerMemory apart = memory_with({{"sync.placement", "own_nodes"}, {"sync.shards", "2"}});
  CHECK(apart.place.starts_with("server node "));
  CHECK(apart.places == 2);
  CHECK(apart.parameters == two.parameters);
}

TEST_CASE("a server in a GPU's memory counts in the verdict, one on a host does not") {
  const MemoryReport on_gpu = fullest(memory_reports(with_servers({})));
  const MemoryReport on_host = fullest(memory_reports(with_servers({{"sync.placement", "hosts"}})));
  CHECK(on_gpu.terms.server == Bytes(12 * parameters + 12 * largest));
  CHECK(on_host.terms.server == Bytes());
  CHECK(on_host.server.has_value());
  CHECK(on_gpu.peak > on_host.peak + on_gpu.terms.server);  // and the allocator's part of it
  CHECK(on_gpu.largest_batch < on_host.largest_batch);
  CHECK(has_assumption(on_gpu, "the GPU of rank 0"));
  CHECK(has_assumption(on_host, "hosts"));
  // between both largest batches only one of them fits
  const std::string batch = std::to_string(on_host.largest_batch);
  CHECK(fullest(memory_reports(with_servers({{"sync.placement", "hosts"}, {"batch_per_gpu", batch}}))).fits);
  CHECK_FALSE(fullest(memory_reports(with_servers({{"batch_per_gpu", batch}}))).fits);
  CHECK_THROWS_AS(simulate(with_servers({{"batch_per_gpu", batch}}), {}), OutOfMemory);
}

TEST_CASE("with servers ranks hold no optimizer state, buckets or buffers of NCCL") {
  const MemoryTerms terms = fullest(memory_reports(with_servers({}))).terms;
  CHECK(terms.optimizer_state == Bytes());
  CHECK(terms.gradient_buckets == Bytes());
  CHECK(terms.communication_buffers == Bytes());
  const MemoryTerms averaging =
      fullest(memory_reports(with_servers({{"sync.update", "local_sgd"}, {"sync.push_every", "4"}}))).terms;
  CHECK(averaging.optimizer_state == Bytes(4 * parameters));
  // a run reports what `trainyard memory` does
  const double peak = testing::in_child<double>([] {
    const Run run = simulate(with_servers({{"steps.warmup", "1"}, {"steps.measured", "1"}}), {});
    return fullest(run.memory.value()).peak.si();
  });
  CHECK(peak == total(terms).si());
}

TEST_CASE("servers that are nowhere, and those of a trace, are named as not counted") {
  const MemoryReport free = fullest(memory_reports(with_servers({{"sync.placement", "free"}})));
  CHECK_FALSE(free.server.has_value());
  CHECK(has_assumption(free, "not counted"));
  CHECK_FALSE(fullest(memory_reports(with_servers({{"sync", "{kind: all_reduce}"}}))).server.has_value());
}

TEST_CASE("where ranks are processors, a server on a host is in their memory") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "processors.yaml").string();
  std::ofstream(file) << "platform: xeon_cluster\nnodes: 2\nmodel: resnet50\nstack: tf_parameter_server\n"
                      << "batch_per_gpu: 8\noptimizer: sgd\nsync: {kind: parameter_server, update: async}\n";
  const ServerMemory memory = server_memory(testing::shipped_experiment(file)).value();
  CHECK(memory.is_on_gpu);
  CHECK(memory.place == "the processor of rank 0");
  CHECK(total(memory) == Bytes(4 * parameters + 3 * 4 * largest));  // of four processors
}
