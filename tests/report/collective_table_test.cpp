#include "report/collective_table.hpp"

#include "document/writers.hpp"
#include "has_all.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

using namespace trainyard;

namespace {

std::string collective_table(const CollectiveReport& report, const PrintStyle& style = {}) {
  return nccl_tests_text(collective_document(report), style);
}

CollectiveReport sample() {
  CollectiveReport report{.platform = "dgx2",
                          .library = "NCCL",
                          .operation = Operation::all_reduce,
                          .ranks = 2,
                          .nodes = 1,
                          .root = 0,
                          .groups = {{{Rank{0}, Rank{1}}, Seconds{}}},
                          .notes = {"a note"},
                          .rows = {},
                          .links = {{"gpu0->nvswitch0", Bandwidth(1e9), Bytes(5e8), 0.5}}};
  const auto add = [&](double size, double us, double bound_us, const char* protocol) {
    const Seconds time(us * 1e-6);
    const Bandwidth algbw = Bytes(size) / time;
    report.rows.push_back({.size = Bytes(size),
                           .elements = static_cast<std::int64_t>(size / 4),
                           .group = 0,
                           .algorithm = "ring",
                           .protocol = protocol,
                           .channels = 6,
                           .time = time,
                           .algbw = algbw,
                           .busbw = algbw * (22.0 / 12),
                           .bound = Seconds(bound_us * 1e-6),
                           .closed_form = time});
  };
  add(8, 25.5, 20, "LL");
  add(134217728, 2047.5, 2000, "Simple");
  report.average_busbw_gbs = 60.09;
  return report;
}

}  // namespace

TEST_CASE("the table has nccl-tests' columns, with the bound and the choice beside them") {
  CHECK(
      collective_table(sample(), {.width = 160}) ==
      "# all_reduce on dgx2: 2 ranks on 1 node\n"
      "# a note\n"
      "# bound: shortest time of any algorithm on this network; share: bound / time; formula: closed form of "
      "the collective alone\n"
      "#\n"
      "#       size         count      type   redop    root     time   algbw   busbw    bound   share  "
      "formula"
      "  algorithm\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     (us)     (%)     "
      "(us)"
      "  /protocol/channels\n"
      "           8             2     float     sum      -1    25.50    0.00    0.00    20.00    78.4    "
      "25.50"
      "  ring/LL/6\n"
      "   134217728      33554432     float     sum      -1  2047.50   65.55  120.18  2000.00    97.7  "
      "2047.50"
      "  ring/Simple/6\n"
      "# Busiest link         : gpu0->nvswitch0, busy for 50.0 % of the time, over all sizes\n"
      "# Avg bus bandwidth    : 60.09\n");
}

TEST_CASE("keys of the machine that were set stand below the title, and in the JSON") {
  CollectiveReport report = sample();
  CHECK(collective_table(report, {}).find("set on the command line") == std::string::npos);
  report.changed = "platform.node.speed.nvlink=2";
  CHECK(collective_table(report, {}).find("\n# set on the command line: platform.node.speed.nvlink=2\n") !=
        std::string::npos);
  CHECK(collective_json(report)["changed_keys"] == report.changed);
}

TEST_CASE("a narrow page keeps nccl-tests' columns and says in a comment what it leaves out") {
  const std::string table = collective_table(sample());
  CHECK(table.find("   134217728    33554432  float    sum    -1  2047.50   65.55  120.18 ") !=
        std::string::npos);
  CHECK(table.find("\n# left out: bound, formula (in --json or a wider terminal)\n") != std::string::npos);
}

TEST_CASE("every wrapped line that is no row of sizes is a comment, as tools of nccl-tests need it") {
  CollectiveReport report = sample();
  report.links.front().is_assumed = true;
  const std::string table = collective_table(report, {.width = 70});
  CHECK(table.find("\n#                        ") != std::string::npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const std::size_t first = line.find_first_not_of(' ');
    CHECK(
        (line.starts_with('#') || (first != std::string::npos && line[first] >= '0' && line[first] <= '9')));
  }
}

TEST_CASE("a switch of protocol between two sizes is said before the rows") {
  CollectiveReport report = sample();
  report.switches.push_back({0, Bytes(8), Bytes(134217728), "ring/LL", "ring/Simple"});
  CHECK(collective_table(report).find(
            "# a note\n# kink: NCCL switches from ring/LL to ring/Simple between 8 and 134217728 B\n") !=
        std::string::npos);
  const nlohmann::json change = collective_json(report)["switches"][0];
  CHECK(change["size_below_bytes"] == 8);
  CHECK(change["size_above_bytes"] == 134217728);
  CHECK(change["from"] == "ring/LL");
  CHECK(change["to"] == "ring/Simple");
}

TEST_CASE("with several groups every row says whose it is") {
  CollectiveReport report = sample();
  report.operation = Operation::broadcast;
  report.root = 1;
  report.groups.push_back({{Rank{2}, Rank{3}, Rank{5}}, Seconds{1e-3}});
  report.rows[1].group = 1;
  const std::string table = collective_table(report, {.width = 160});
  CHECK(table.find("# group 0: 2 ranks, 0-1\n# group 1: 3 ranks, 2-3,5, starts at 1 ms\n") !=
        std::string::npos);
  CHECK(table.find("  ring/Simple/6       1\n") != std::string::npos);
  CHECK(table.find("    none       1 ") != std::string::npos);
}

TEST_CASE("the JSON has the same rows in SI base units") {
  const nlohmann::ordered_json json = collective_json(sample());
  CHECK(json["operation"] == "all_reduce");
  CHECK(json["ranks"] == 2);
  CHECK(json["root"].is_null());
  CHECK(json["groups"][0]["ranks"] == std::vector<int>{0, 1});
  CHECK(json["rows"].size() == 2);
  CHECK(json["rows"][1]["size_bytes"] == 134217728.0);
  CHECK(json["rows"][1]["elements"] == 33554432);
  CHECK(json["rows"][1]["time_s"].get<double>() == doctest::Approx(2047.5e-6));
  CHECK(json["rows"][1]["bound_share"].get<double>() == doctest::Approx(2000 / 2047.5));
  CHECK(json["rows"][1]["protocol"] == "Simple");
  CHECK(json["busiest_link"] == "gpu0->nvswitch0");
  CHECK(json["average_busbw_bytes_per_s"].get<double>() == doctest::Approx(60.09e9));
}

TEST_CASE("a collective has the expected error of its bandwidths by size, or the reason why it is unknown") {
  CollectiveReport report = sample();
  report.expected_error = CollectiveErrorsBySize{
      .large = CollectiveError{.low = -0.08, .high = 0.05, .curves = 15, .fitted = 6, .nearest = {}},
      .small = std::nullopt};
  report.expected_error->large->nearest.of = {
      .operation = "all_reduce", .platform = "dgx1v", .links = "nvlink", .compute_capability = 70, .gpus = 8};
  report.expected_error->large->nearest.place = "nccl.csv:12";
  const std::string table = collective_table(report, {.width = 160});
  CHECK(
      table.find(
          "# from 1 MiB up: -8 to +5 % (nearest of 15 curves: all_reduce on 8 GPUs of dgx1v, nccl.csv:12)") !=
      std::string::npos);
  CHECK(table.find("below 1 MiB:") == std::string::npos);
  const auto json = collective_json(report)["expected_error"];
  CHECK(json["from_1_mib"]["low"] == -0.08);
  CHECK(json["from_1_mib"]["fitted"] == 6);
  CHECK(json["below_1_mib"].is_null());
  CHECK(json["reason"].is_null());
  report.expected_error = unknown("nobody measured it");
  CHECK(collective_table(report, {.width = 160}).find("# expected error unknown: nobody measured it\n") !=
        std::string::npos);
  CHECK(collective_json(report)["expected_error"]["reason"] == "nobody measured it");
}

TEST_CASE("the page of a collective joins its sizes across protocols, and has the table's words") {
  const std::string page = doc::html(collective_document(sample()));
  CHECK(has_all(page, "<h1>all_reduce on dgx2</h1>", "bus bandwidth, GB/s by size", "predicted</li>",
                "ring/LL</li>", "bound</li>", "ring/Simple</li>", "<th>busbw (GB/s)</th>", "120.18",
                "Avg bus bandwidth", "60.09"));
  CHECK(has_all(doc::markdown(collective_document(sample())), "busbw (GB/s)", "120.18", "60.09"));
}
