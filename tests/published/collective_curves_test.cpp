#include "published/collective_curves.hpp"

#include "config/document.hpp"
#include "published/published_text.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

const MachineRules& rules() {
  static const MachineRules read =
      load_machine_rules(config::load(TRAINYARD_SOURCE_DIR "/workloads/published/machines/published.yaml"),
                         {.roots = {TRAINYARD_SOURCE_DIR}});
  return read;
}

}  // namespace

TEST_CASE("rows of one machine and operation make a curve by size") {
  const auto rows = rows_of(published_line({{"model", "allreduce 2097152 B"}}) + published_line() +
                            published_line({{"metric", "broadcast_time"}}));
  const CollectiveCurves curves = collective_curves(data_of(rows, rules()));
  REQUIRE(curves.curves.size() == 2);
  const CollectiveCurve& curve = curves.curves[0];
  CHECK(curve.machine->platform == "dgx1v");
  CHECK(curve.nccl == NcclVersion::v2_12);
  REQUIRE(curve.points.size() == 2);
  CHECK(curve.points[0].size() == Bytes{1048576});
  CHECK(curves.excluded.empty());
}

TEST_CASE("nccl-tests on one node drives all its GPUs from one process") {
  const auto rows = rows_of(published_line({{"metric", "allreduce_oop_time"}}) +
                            published_line({{"metric", "allreduce_oop_time"},
                                            {"nodes", "2"},
                                            {"gpus_total", "16"},
                                            {"interconnect_inter", "EFA"}}) +
                            published_line({{"system", "another box"}}));
  const CollectiveCurves curves = collective_curves(data_of(rows, rules()));
  CHECK(curves.curves[0].gpus_per_process == 8);
  CHECK(curves.curves[1].gpus_per_process == 1);
  CHECK(curves.curves[2].gpus_per_process == 1);
}

TEST_CASE("every row is in a curve or counted with a reason") {
  const auto rows =
      rows_of(published_line() + published_line({{"metric", "allreduce_inplace_time"}}) +
              published_line({{"metric", "throughput"}}) + published_line({{"framework", "MPI"}}) +
              published_line({{"gpu", "MI250X"}}) + published_line({{"gpus_total", "12"}}) +
              published_line({{"nodes", ""}, {"gpus_total", ""}}) + published_line({{"value", "0"}}) +
              published_line({{"clean", "no"}}) + published_line({{"notes", "NCCL_ALGO=NVLS"}}));
  const CollectiveCurves curves = collective_curves(data_of(rows, rules()));
  std::size_t counted = 0;
  for (const CollectiveCurve& curve : curves.curves) counted += curve.points.size();
  CHECK(counted == 1);
  for (const auto& [reason, count] : curves.excluded) {
    CAPTURE(reason);
    CHECK(count == 1);
    counted += static_cast<std::size_t>(count);
  }
  CHECK(counted == rows.size());
  CHECK(curves.excluded.count("library other than NCCL") == 1);
  CHECK(curves.excluded.count("no rule matches the machine") == 1);
  CHECK(curves.excluded.count("no value above 0") == 1);
  CHECK(curves.excluded.count("contradictory numbers of GPUs: gpus_total is not nodes x gpus_per_node") == 1);
}

TEST_CASE("a row in place is predicted where none out of place stands beside it") {
  const auto rows = rows_of(published_line({{"metric", "allreduce_inplace_time"}}));
  CHECK(collective_curves(data_of(rows, rules())).curves.size() == 1);
}

TEST_CASE("a row that says trees were off is a ring's") {
  const auto rows = rows_of(published_line({{"source_detail", "NCCL_TREE_THRESHOLD=0 (ring)"}}));
  CHECK(collective_curves(data_of(rows, rules())).curves.front().algorithm == Algorithm::ring);
}

TEST_CASE("rows that ran other software, or ran it otherwise, are curves of their own, told apart by name") {
  const auto rows = rows_of(
      published_line({{"framework", "NCCL"}, {"notes", "NCCL 2.12.10"}}) +
      published_line({{"framework", "NCCL"}, {"notes", "NCCL 2.4.8"}, {"model", "allreduce 2097152 B"}}) +
      published_line({{"framework", "NCCL"}, {"notes", "NCCL 2.4.8; NCCL_ALGO=Tree"}}) +
      published_line({{"framework", "NCCL"}, {"notes", "NCCL 2.4.8; NCCL_PROTO=Simple"}}) +
      published_line({{"framework", "NCCL"}, {"notes", "NCCL 2.4.8"}, {"metric", "allreduce_oop_time"}}));
  const CollectiveCurves curves = collective_curves(data_of(rows, rules()));
  REQUIRE(curves.curves.size() == 5);
  CHECK(curves.curves[0].nccl == NcclVersion::v2_12);
  CHECK(curves.curves[1].nccl == NcclVersion::v2_4);
  CHECK(curves.curves[2].algorithm == Algorithm::tree);
  CHECK(curves.curves[3].protocol == Protocol::simple);
  CHECK(curves.curves[4].gpus_per_process == 8);
  CHECK(curves.curves[0].name.ends_with(", NCCL 2.12, auto, any protocol, one GPU per process"));
  for (const CollectiveCurve& curve : curves.curves) {
    const auto same = [&](const CollectiveCurve& other) { return other.name == curve.name; };
    CHECK(std::ranges::count_if(curves.curves, same) == 1);
  }
}

TEST_CASE("coverage is short of clean collectives that are not scored, once each") {
  const auto missed = [](const std::map<std::string, std::string>& cells) {
    const auto rows = rows_of(published_line(cells) + published_line());
    return collective_curves(data_of(rows, rules())).missed.size();
  };
  CHECK(missed({{"metric", "allreduce_inplace_time"}}) == 0);
  CHECK(missed({{"metric", "throughput"}}) == 0);
  CHECK(missed({{"split", "context"}}) == 0);
  CHECK(missed({{"clean", "no"}}) == 0);
  CHECK(missed({{"framework", "MPI"}}) == 1);
  CHECK(missed({{"gpu", "MI250X"}}) == 1);
  CHECK(missed({{"value", ""}}) == 1);
}

TEST_CASE("what is suspected of a curve comes from the rules") {
  const auto rows = rows_of(published_line() + published_line({{"gpu", "V100-SXM3-32GB"},
                                                               {"interconnect_intra", "NVSwitch"},
                                                               {"metric", "allgather_oop_time"}}));
  const CollectiveCurves curves = collective_curves(data_of(rows, rules()));
  REQUIRE(curves.curves.size() == 2);
  CHECK(curves.curves[0].outlier == nullptr);
  REQUIRE(curves.curves[1].outlier != nullptr);
  CHECK(curves.curves[1].outlier->reason.find("element") != std::string::npos);
}
