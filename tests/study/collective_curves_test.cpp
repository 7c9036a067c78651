#include "study/collective_curves.hpp"

#include "config/document.hpp"
#include "study/published_text.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

const MachineRules& rules() {
  static const MachineRules read =
      load_machine_rules(config::load(TRAINYARD_SOURCE_DIR "/platforms/machines/published.yaml"));
  return read;
}

}  // namespace

TEST_CASE("rows of one machine and operation make a curve by size") {
  const auto rows = rows_of(published_line({{"model", "allreduce 2097152 B"}}) + published_line() +
                            published_line({{"metric", "broadcast_time"}}));
  const CollectiveCurves curves = collective_curves(rows, rules());
  REQUIRE(curves.curves.size() == 2);
  const CollectiveCurve& curve = curves.curves[0];
  CHECK(curve.machine->platform == "dgx1v");
  CHECK(curve.nccl == NcclVersion::v2_12);
  CHECK(curve.gpus_per_process == 1);
  REQUIRE(curve.points.size() == 2);
  CHECK(curve.points[0].size() == Bytes{1048576});
  CHECK(curves.excluded.empty());
}

TEST_CASE("nccl-tests on one node drives all its GPUs from one process") {
  const auto rows = rows_of(published_line({{"source", "nccl-tests output"}}) +
                            published_line({{"source", "nccl-tests output"},
                                            {"nodes", "2"},
                                            {"gpus_total", "16"},
                                            {"interconnect_inter", "EFA"}}));
  const CollectiveCurves curves = collective_curves(rows, rules());
  CHECK(curves.curves[0].gpus_per_process == 8);
  CHECK(curves.curves[1].gpus_per_process == 1);
}

TEST_CASE("every row is in a curve or counted with a reason") {
  const auto rows =
      rows_of(published_line() + published_line({{"metric", "allreduce_inplace_time"}}) +
              published_line({{"metric", "throughput"}}) + published_line({{"framework", "MPI"}}) +
              published_line({{"gpu", "MI250X"}}) + published_line({{"gpus_total", ""}}));
  const CollectiveCurves curves = collective_curves(rows, rules());
  std::size_t counted = 0;
  for (const CollectiveCurve& curve : curves.curves) counted += curve.points.size();
  CHECK(counted == 1);
  for (const auto& [reason, count] : curves.excluded) {
    CAPTURE(reason);
    CHECK(count == 1);
    counted += static_cast<std::size_t>(count);
  }
  CHECK(counted == rows.size());
  CHECK(curves.excluded.count("another library than NCCL") == 1);
  CHECK(curves.excluded.count("no rule knows the machine") == 1);
}

TEST_CASE("a row in place is predicted where none out of place stands beside it") {
  const auto rows = rows_of(published_line({{"metric", "allreduce_inplace_time"}}));
  CHECK(collective_curves(rows, rules()).curves.size() == 1);
}

TEST_CASE("a row that says trees were off is a ring's") {
  const auto rows = rows_of(published_line({{"source_detail", "NCCL_TREE_THRESHOLD=0 (ring)"}}));
  CHECK(collective_curves(rows, rules()).curves.front().demands_ring);
}
