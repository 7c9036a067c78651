// What studies of distributed training found, simulated: directions, and published figures where there are
// some. What comes out beside what was published is a table in workloads/published/README.md. Nothing is
// fitted.

#include "figure_of.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>

using namespace trainyard;

namespace {

Run trend(const std::string& experiment, const Overrides& overrides) {
  return simulate(testing::shipped_experiment(experiment, overrides), {.fidelity = Fidelity::closed});
}

Overrides and_also(Overrides first, const Overrides& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Bytes reduced(const Run& run) {
  Bytes sum;
  for (const CollectiveRow& row : step_of(run).collectives) sum += row.size;
  return sum;
}

/// In seconds.
double over_linear(const Run& run) { return figure_of(run, "communication_overhead_s"); }

/// Two p3.16xlarge, ResNet-50 in fp32 unless told otherwise, over the 10 Gb/s Ethernet of the studies.
Run two_p3(const Overrides& overrides) {
  return trend("resnet50_p3_16xlarge_x2",
               and_also({{"platform.fabric.nic", "10 Gbps"}, {"precision", "fp32"}}, overrides));
}

}  // namespace

TEST_CASE("larger batches raise scaling efficiency, because what a step loses does not grow with them") {
  // DLPerf, BERT-base in fp32, TensorFlow with Horovod, 32 V100: 79.4 and 85.6 % of linear scaling at 32
  // and 48.
  const auto dlperf = [](const std::string& batch) {
    return trend(
        "resnet50_dlperf",
        {{"model", "bert_base"}, {"stack", "horovod_fp16"}, {"optimizer", "adam"}, {"batch_per_gpu", batch}});
  };
  const Run small = dlperf("32");
  const Run large = dlperf("48");
  CHECK(large.pace.efficiency > small.pace.efficiency + 0.02);  // published: 0.062
  // Published: 77 and 72 ms.
  CHECK(over_linear(large) < 1.15 * over_linear(small));
  CHECK(over_linear(large) > 0.85 * over_linear(small));
}

TEST_CASE("amp on one V100 is 1.7 to 3.9 times as fast as fp32 with every framework, as in published pairs") {
  const auto rate = [](const std::string& stack, const std::string& model, const std::string& precision) {
    return trend("resnet50_dgx2", {{"gpus", "1"},
                                   {"stack", stack},
                                   {"model", model},
                                   {"batch_per_gpu", model == "resnet50" ? "128" : "32"},
                                   {"precision", precision}})
        .pace.throughput;
  };
  for (const std::string stack :
       {"pytorch_ddp", "apex_ddp", "horovod", "mxnet_horovod", "tf2_mirrored", "oneflow"}) {
    for (const std::string model : {"resnet50", "vgg16", "bert_base"}) {
      CAPTURE(stack);
      CAPTURE(model);
      const double gain = rate(stack, model, "amp") / rate(stack, model, "fp32");
      CHECK(gain > 1.7);
      CHECK(gain < 3.9);
    }
  }
}

TEST_CASE("amp raises throughput and the share of communication, although gradients have half the bytes") {
  // DLPerf, BERT-base, NVIDIA's PyTorch with a flat all-reduce, 32 V100: 77.9 % of linear scaling in fp32 at
  // 48, 65.6 % with amp (dynamic loss scale) at 64, 3.07 times as many sequences.
  const auto dlperf = [](const std::string& precision, const std::string& batch) {
    return trend("resnet50_dlperf", {{"model", "bert_base"},
                                     {"stack", "apex_flat"},
                                     {"optimizer", "adam"},
                                     {"precision", precision},
                                     {"batch_per_gpu", batch}});
  };
  const Run fp32 = dlperf("fp32", "48");
  for (const std::string batch : {"48", "64"}) {
    const Run amp = dlperf("amp", batch);
    INFO("batch ", batch, ": ", fp32.pace.efficiency, " and ", amp.pace.efficiency);
    CHECK(2 * reduced(amp) == reduced(fp32));
    CHECK(communication_time(amp) < 0.6 * communication_time(fp32));
    CHECK(amp.pace.throughput > 2.5 * fp32.pace.throughput);
    CHECK(exposed_communication(amp) / amp.pace.time > 1.2 * (exposed_communication(fp32) / fp32.pace.time));
    CHECK(fp32.pace.efficiency - amp.pace.efficiency > 0.05);  // published: 0.123
  }
}

TEST_CASE("the slower the GPU, the better the scaling efficiency of the same boxes") {
  double efficiency = 1, throughput = 0;
  for (const std::string gpu : {"k80", "p100_sxm2_16gb", "v100_sxm2_16gb"}) {
    const Run run = two_p3({{"batch_per_gpu", "32"}, {"platform.node.gpus.profile", gpu}});
    INFO(gpu, ": ", run.pace.efficiency, " and ", run.pace.throughput, " images/s");
    CHECK(run.pace.efficiency < efficiency - 0.02);
    CHECK(run.pace.throughput > 1.05 * throughput);
    efficiency = run.pace.efficiency;
    throughput = run.pace.throughput;
  }
}

TEST_CASE("on a bad network efficiency follows the compute for each byte of gradient") {
  std::map<double, double> efficiencies;  // by seconds of compute for a byte
  for (const std::string model : {"alexnet", "vgg16", "resnet152", "inception_v3"}) {
    const Run run = two_p3({{"batch_per_gpu", "32"}, {"model", model}});
    efficiencies[run.pace.one_rank.si() / reduced(run).si()] = run.pace.efficiency;
  }
  REQUIRE(efficiencies.size() == 4);
  CHECK(std::ranges::is_sorted(efficiencies, {}, [](const auto& entry) { return entry.second; }));
  CHECK(efficiencies.begin()->second < 0.2);
  CHECK(efficiencies.rbegin()->second > 0.8);
}

TEST_CASE("Inception v3 scales over 25 Gb/s to 512 P100 as VGG-16 does not") {
  // Horovod's documentation: 90 and 68 % on servers of four "Pascal GPUs" with 25 Gb/s RoCE. It states
  // neither the server nor the batch: a Minsky stands in, with the 64 of its example output.
  const auto horovod = [](const std::string& model) {
    return trend("resnet50_ac922", {{"platform", "minsky"},
                                    {"nodes", "128"},
                                    {"platform.fabric.nic", "25 Gbps"},
                                    {"stack", "horovod_0_20"},
                                    {"batch_per_gpu", "64"},
                                    {"model", model}})
        .pace.efficiency;
  };
  const double inception = horovod("inception_v3");
  const double vgg = horovod("vgg16");
  CHECK(inception > 0.9);
  CHECK(vgg > 0.58);
  CHECK(vgg < 0.78);
  CHECK(inception - vgg > 0.15);  // published: 0.22
}

TEST_CASE("a process for each GPU beats one process whose GPU 0 does it all") {
  for (const std::string model : {"resnet50", "vgg16"}) {
    const Overrides job{{"model", model}, {"batch_per_gpu", "32"}};
    const Run one = trend("resnet50_p3_8xlarge_dataparallel", job);
    const Run each = trend("resnet50_p3_8xlarge_dataparallel",
                           and_also(job, {{"stack", "pytorch_ddp"}, {"sync.kind", "all_reduce"}}));
    INFO(model, ": ", one.pace.throughput, " and ", each.pace.throughput, " images/s");
    CHECK(each.pace.throughput >
          1.02 * one.pace.throughput);  // with DDP's copies of buffers, 0.8 ms of ResNet-50
    CHECK(each.pace.throughput < 2 * one.pace.throughput);
    CHECK(one.pace.one_rank.si() == doctest::Approx(each.pace.one_rank.si()).epsilon(1e-9));
  }
}

TEST_CASE("eight RTX 2080 Ti would scale better if they could read each other's memory") {
  const auto ts4 = [](const std::string& model, const std::string& peer_to_peer) {
    return trend("resnet50_dgx1v", {{"platform", "ts4"},
                                    {"model", model},
                                    {"batch_per_gpu", "32"},
                                    {"platform.node.peer_to_peer", peer_to_peer}});
  };
  for (const auto& [model, points] : std::map<std::string, double>{{"resnet50", 0.02}, {"vgg16", 0.2}}) {
    const Run without = ts4(model, "false");
    const Run with = ts4(model, "true");
    INFO(model, ": ", without.pace.efficiency, " and ", with.pace.efficiency);
    CHECK(with.pace.efficiency > without.pace.efficiency + points);
    CHECK(communication_time(without) > 2 * communication_time(with));
  }
}

TEST_CASE("the second p3.16xlarge over 10 Gb/s Ethernet is worth little, with amp less than nothing") {
  const auto gain = [](const Overrides& job) {
    return two_p3(job).pace.throughput / two_p3(and_also(job, {{"nodes", "1"}})).pace.throughput;
  };
  CHECK(gain({{"batch_per_gpu", "32"}}) > 1);
  CHECK(gain({{"batch_per_gpu", "32"}}) < 1.5);
  CHECK(gain({{"batch_per_gpu", "64"}, {"precision", "amp"}}) < 1);
  CHECK(gain({{"batch_per_gpu", "32"}, {"platform.fabric.nic", "25 Gbps"}}) > 1.7);
}

TEST_CASE("overlap is what nodes of four P100 scale by") {
  // Published: 84 % of linear scaling without it and 95 % with it. On how many nodes, with which model and
  // which batch is not known here: ResNet-50 at 32, as the large P100 runs of 2017.
  for (const std::string nodes : {"4", "16", "64"}) {
    const auto minsky = [&](const std::string& overlap) {
      return trend("resnet50_ac922", {{"platform", "minsky"},
                                      {"nodes", nodes},
                                      {"batch_per_gpu", "32"},
                                      {"stack.overlap", overlap}})
          .pace.efficiency;
    };
    const double off = minsky("false");
    const double on = minsky("true");
    INFO(nodes, " nodes: ", off, " and ", on);
    CHECK(std::abs(off - 0.84) < 0.06);
    CHECK(std::abs(on - 0.95) < 0.04);
    CHECK(on - off > 0.08);  // published: 0.11
  }
}
