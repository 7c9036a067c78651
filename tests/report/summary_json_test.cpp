#include "report/summary_json.hpp"

#include "document/json_text.hpp"
#include "sample.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace trainyard;
using OrderedJson = nlohmann::ordered_json;

namespace {

const ResourceUsage cost{.wall = Seconds(0.05), .cpu = Seconds(0.04), .peak_rss = Bytes(3e7)};

}  // namespace

TEST_CASE("the summary has every promised field, and each null has its reason") {
  const OrderedJson json = summary_json(sample_result(), cost);
  for (const char* field : {"schema_version",
                            "trainyard_version",
                            "step_time_s",
                            "throughput_samples_per_s",
                            "speedup",
                            "scaling_efficiency",
                            "communication_overhead_s",
                            "compute_time_s",
                            "communication_time_s",
                            "exposed_communication_s",
                            "lower_bound_s",
                            "gpu_utilization",
                            "link_utilization_max",
                            "busiest_link",
                            "memory",
                            "memory_peak_bytes",
                            "memory_capacity_bytes",
                            "energy_per_step_j",
                            "average_power_w",
                            "epoch_time_s",
                            "cost_per_epoch_usd",
                            "throughput_tokens_per_s",
                            "achieved_flops_per_gpu",
                            "model_flops_utilization",
                            "cpu_utilization",
                            "memory_utilization",
                            "network_utilization",
                            "host_memory_utilization",
                            "storage_utilization",
                            "updates_per_s",
                            "staleness_mean",
                            "staleness_max",
                            "wasted_compute_s",
                            "goodput_samples_per_s",
                            "compute_source_shares",
                            "comparable_by",
                            "calibrated_on",
                            "ranks",
                            "nodes",
                            "fidelity",
                            "unmodelled",
                            "simulation"}) {
    CAPTURE(field);
    CHECK(json.contains(field));
  }
  for (const auto& [field, value] : json.items()) {
    CAPTURE(field);
    CHECK(value.is_null() == json["unmodelled"].contains(field));
  }
  for (const auto& [field, reason] : json["unmodelled"].items()) {
    CAPTURE(field);
    CHECK(json.contains(field));
    CHECK_FALSE(reason.get<std::string>().empty());
  }
}

TEST_CASE("the summary's numbers are those of the result in SI units") {
  const OrderedJson json = summary_json(sample_result(), cost);
  CHECK(json["schema_version"] == 3);
  CHECK(json["step_time_s"] == 0.013);
  CHECK(json["ranks"] == 2);
  CHECK(json["fidelity"] == "flow");
  CHECK(json["epoch_time_s"] == 130.2);
  CHECK(json["model_flops_utilization"] == 0.21);
  CHECK(json["throughput_tokens_per_s"] == 64 * 128 / 0.013);
  CHECK(json["memory_peak_bytes"] == 5.36e9);
  CHECK(json["memory_capacity_bytes"] == 16e9);
  CHECK(json["memory_utilization"] == 0.335);
  CHECK(json["memory"]["activations"] == 3e9);
  CHECK(json["memory"].size() == 9);
  CHECK(json["energy_per_step_j"] == 6.5);
  CHECK(json["average_power_w"] == 500);
  CHECK(json["cost_per_epoch_usd"] == 0.1107);
  CHECK(json["compute_source_shares"] ==
        OrderedJson{{"measured", 0.75}, {"fitted", 0.0}, {"roofline", 0.25}});
  CHECK(json["simulation"] ==
        OrderedJson{{"wall_s", 0.05}, {"cpu_s", 0.04}, {"events", 42}, {"peak_rss_bytes", 3e7}});
  CHECK(summary_json(sample_result(), {})["simulation"] ==
        OrderedJson{{"wall_s", nullptr}, {"cpu_s", nullptr}, {"events", 42}, {"peak_rss_bytes", nullptr}});
}

TEST_CASE("what a result could not tell is null with the reason that the run gives") {
  Run run = sample_result();
  run.experiment.samples_per_epoch.reset();
  run.experiment.model->sequence_length.reset();
  run.memory = unknown("a trace");
  run.links.busiest.clear();
  std::vector<Figure> table(figures().begin(), figures().end());
  table[index_of("speedup")].of = [](const Run&) { return unknown("no run on one rank to compare with"); };
  const OrderedJson json = summary_json(run, cost, table);
  CHECK(json["epoch_time_s"].is_null());
  CHECK(json["busiest_link"].is_null());
  CHECK(json["speedup"].is_null());
  CHECK(json["memory_peak_bytes"].is_null());
  CHECK(json["throughput_tokens_per_s"].is_null());
  CHECK(json["memory"].is_null());
  for (const char* field : {"memory", "memory_peak_bytes", "memory_capacity_bytes", "memory_utilization"})
    CHECK(json["unmodelled"][field] == "a trace");
  CHECK(json["unmodelled"]["throughput_tokens_per_s"] == "the model does not read sequences");
  CHECK(json["unmodelled"]["speedup"] == "no run on one rank to compare with");
}

TEST_CASE("JSON text has twelve significant digits and parses back") {
  const OrderedJson value{{"third", 1.0 / 3},
                          {"whole", 7},
                          {"list", OrderedJson::array({1.5, "a\"b"})},
                          {"none", nullptr},
                          {"empty", OrderedJson::object()}};
  const std::string text = json_text(value);
  CHECK(text ==
        "{\n  \"third\": 0.333333333333,\n  \"whole\": 7,\n  \"list\": [\n    1.5,\n    \"a\\\"b\"\n  ],\n"
        "  \"none\": null,\n  \"empty\": {}\n}\n");
  CHECK(OrderedJson::parse(text)["list"] == value["list"]);
}

TEST_CASE("a number that is not finite is our bug, never a file") {
  CHECK_THROWS_AS(json_text(OrderedJson{{"x", std::nan("")}}), std::logic_error);
  CHECK_THROWS_AS(json_text(OrderedJson{{"x", std::numeric_limits<double>::infinity()}}), std::logic_error);
}
