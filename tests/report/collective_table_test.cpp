#include "report/collective_table.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;

namespace {

CollectiveReport sample() {
  CollectiveReport report{.platform = "dgx2",
                          .operation = Operation::all_reduce,
                          .ranks = 12,
                          .nodes = 1,
                          .algorithm = "ring",
                          .protocol = "Simple",
                          .channels = 6,
                          .notes = {},
                          .rows = {}};
  const auto add = [&](double size, double us, double bound_us) {
    const Seconds time(us * 1e-6);
    const Bandwidth algbw = Bytes(size) / time;
    report.rows.push_back({.size = Bytes(size),
                           .elements = static_cast<std::int64_t>(size / 4),
                           .time = time,
                           .algbw = algbw,
                           .busbw = algbw * (22.0 / 12),
                           .bound = Seconds(bound_us * 1e-6)});
  };
  add(8, 25.5, 20);
  add(134217728, 2047.5, 2000);
  report.average_busbw_gbs = 60.09;
  return report;
}

}  // namespace

TEST_CASE("the table has nccl-tests' columns, with the bound beside them") {
  CHECK(collective_table(sample()) ==
        "# all_reduce on dgx2: 12 ranks on 1 node, ring, Simple, 6 channels\n"
        "# size is one rank's buffer; bound is the time no algorithm on this network can beat\n"
        "#\n"
        "#       size         count      type   redop    root     time   algbw   busbw    bound   share\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     (us)     (%)\n"
        "           8             2     float     sum      -1    25.50    0.00    0.00    20.00    78.4\n"
        "   134217728      33554432     float     sum      -1  2047.50   65.55  120.18  2000.00    97.7\n"
        "# Avg bus bandwidth    : 60.09\n");
}

TEST_CASE("the JSON has the same rows in SI base units") {
  const nlohmann::ordered_json json = collective_json(sample());
  CHECK(json["operation"] == "all_reduce");
  CHECK(json["ranks"] == 12);
  CHECK(json["rows"].size() == 2);
  CHECK(json["rows"][1]["size_bytes"] == 134217728.0);
  CHECK(json["rows"][1]["elements"] == 33554432);
  CHECK(json["rows"][1]["time_s"].get<double>() == doctest::Approx(2047.5e-6));
  CHECK(json["rows"][1]["bound_share"].get<double>() == doctest::Approx(2000 / 2047.5));
  CHECK(json["average_busbw_bytes_per_s"].get<double>() == doctest::Approx(60.09e9));
}
