// Logs of nccl-tests, as launchers and NCCL itself leave them.

#include "imports/nccl_tests.hpp"

#include "errors_of.hpp"
#include "imports/nccl_rows.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>
#include <string>

using namespace trainyard;

namespace {

constexpr std::string_view head =
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";

std::string ranks(int count, int per_node = 8) {
  std::string text = "# Using devices\n";
  for (int i = 0; i < count; ++i)
    text += fmt::format("#  Rank {:2} Group  0 Pid 12 on node{} device {} [0x0{}] NVIDIA A100-SXM4-80GB\n", i,
                        i / per_node, i % per_node, i % per_node);
  return text;
}

const std::string row =
    "  1073741824     268435456     float     sum      -1   8000.0  134.22  234.88      0   8010.0  134.05  "
    "234.59      0\n";

NcclTestsLog read_log(std::string text, const NcclTestsAnswers& answers = {}) {
  return read_nccl_tests({"log", std::move(text)}, answers);
}

}  // namespace

TEST_CASE("a table is read with its ranks, nodes, GPU, version and operation") {
  const NcclTestsLog log = read_log("NCCL version 2.19.3+cuda12.3\n" + ranks(16) + std::string(head) +
                                    "  1073741824     268435456     float     sum      -1   8000.0  134.22  "
                                    "251.66      0   8010.0  134.05  251.34      0\n"
                                    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 251.5\n");
  REQUIRE(log.tables.size() == 1);
  const NcclTestsTable& table = log.tables.front();
  CHECK(table.operation == Operation::all_reduce);  // 2 (n - 1) / n
  CHECK(table.ranks == 16);
  CHECK(table.nodes == 2);
  CHECK(table.gpu == "NVIDIA A100-SXM4-80GB");
  CHECK(table.nccl == "2.19.3");
  CHECK(table.average_busbw->si() == doctest::Approx(251.5e9));
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].size.si() == 1073741824);
  CHECK(table.rows[0].out_of_place.time.si() == doctest::Approx(0.008));
  CHECK(table.rows[0].in_place->busbw.si() == doctest::Approx(251.34e9));
  CHECK(table.rows[0].out_of_place.wrong == 0);
}

TEST_CASE("older tables have no root, an error in place of wrong values, and one half") {
  const NcclTestsLog log =
      read_log(ranks(8) + std::string(head) +
               "  1073741824     268435456   float     sum   8000.0  134.22  234.88    N/A\n");
  REQUIRE(log.tables.front().rows.size() == 1);
  CHECK_FALSE(log.tables.front().rows[0].in_place);
  CHECK_FALSE(log.tables.front().rows[0].out_of_place.wrong);
  CHECK(log.tables.front().operation == Operation::all_reduce);
}

TEST_CASE("prefixes of launchers and quotes do not matter") {
  for (const std::string prefix : {" 0: ", "[1,0]<stdout>:", "> "}) {
    CAPTURE(prefix);
    const std::string plain = ranks(8) + std::string(head) + row;
    std::string text;
    for (const std::string_view line : lines_of(plain)) text += prefix + std::string(line) + "\n";
    const NcclTestsLog log = read_log(text);
    CHECK(log.tables.front().ranks == 8);
    CHECK(log.tables.front().rows.size() == 1);
  }
}

TEST_CASE("a row that NCCL's log cuts is put together again, or counted") {
  const std::string cut =
      "node0:12:34 [0] NCCL INFO Bootstrap\n"
      "  1073741824     268435456     float     sum      -1node0:12:34 [0] NCCL INFO Launch mode Parallel\n"
      "   8000.0  134.22  234.88      0node0:12:34 [1] NCCL INFO x\n"
      "   8010.0  134.05  234.59      0\n";
  const NcclTestsLog log = read_log(ranks(8) + std::string(head) + cut);
  CHECK(log.tables.front().rows.size() == 1);
  CHECK(log.cut_rows == 0);
  const NcclTestsLog lost = read_log(ranks(8) + std::string(head) + cut.substr(0, cut.find("Parallel")));
  CHECK(lost.tables.front().rows.empty());
  CHECK(lost.cut_rows == 1);
}

TEST_CASE("a row whose bandwidths contradict each other is left out") {
  const std::string odd =
      "  1073741824     268435456     float     sum      -1   8000.0  134.22  134.22      0   8010.0  134.05 "
      " 234.59      0\n";
  const NcclTestsLog log = read_log("all_reduce_perf -b 1G\n" + ranks(8) + std::string(head) + row + odd);
  CHECK(log.tables.front().rows.size() == 1);
  CHECK(log.contradictory_rows == 1);
  CHECK(log.tables.front().operation == Operation::all_reduce);  // not reduce_perf, which is in its name
  CHECK(log.tables.front().rows[0].out_of_place.busbw.si() == doctest::Approx(234.88e9));
}

TEST_CASE("programs that are no collective of ours, and numbers that are none, tell nothing") {
  const NcclTestsLog other = read_log("./build/hypercube_perf -b 1G\n" + ranks(8) + std::string(head) + row);
  CHECK(other.tables.front().operation == Operation::all_reduce);  // by its figures
  const NcclTestsLog odd =
      read_log(ranks(8) + std::string(head) +
               "  1073741824     268435456     float     sum      -1   nan  134.22  234.88      0\n");
  CHECK(odd.tables.front().rows.empty());
  CHECK(odd.cut_rows == 1);
}

TEST_CASE("ranks of a run that printed no table do not count to the next one") {
  const NcclTestsLog log = read_log(ranks(8) + ranks(8) + std::string(head) + row);
  CHECK(log.tables.front().ranks == 8);
}

TEST_CASE("an operation that figures do not tell is that of the log's other tables, or asked for") {
  const std::string small =
      "        1024           256     float     sum      -1    30.00    0.03    0.06      0    30.00    0.03 "
      "   0.06      0\n";
  const NcclTestsLog both =
      read_log(ranks(8) + std::string(head) + small + ranks(8) + std::string(head) + row);
  REQUIRE(both.tables.size() == 2);
  CHECK(both.tables[0].operation == Operation::all_reduce);
  const NcclTestsLog one = read_log(ranks(8) + std::string(head) + small);
  CHECK_FALSE(one.tables[0].operation);
  CHECK(nccl_rows(one, {.source = "s"}).untold == 1);
  CHECK(read_log(ranks(8) + std::string(head) + small, {.operation = Operation::reduce_scatter})
            .tables[0]
            .operation == Operation::reduce_scatter);
}

TEST_CASE("property: a table that is printed is read, whatever the operation that the ratio tells") {
  CHECK(rc::check([] {
    const int n = *rc::gen::inRange(3, 64);
    const double algbw = *rc::gen::inRange(100, 40000) / 100.0;
    const bool reduces = *rc::gen::arbitrary<bool>();
    const double factor = reduces ? 2.0 * (n - 1) / n : 1.0;
    const std::string text = ranks(n) + std::string(head) +
                             fmt::format("  1048576  262144  float  sum  {}  {:.2f}  {:.2f}  {:.2f}  0\n",
                                         reduces ? -1 : 0, 1048576 / algbw / 1000, algbw, algbw * factor);
    const NcclTestsLog log = read_log(text);
    RC_ASSERT(log.tables.front().rows.size() == 1U);
    RC_ASSERT(log.tables.front().operation == (reduces ? Operation::all_reduce : Operation::reduce));
  }));
}

TEST_CASE("rows are those that validate reads; size 0 and wrong values are counted") {
  const std::string zero =
      "           0             0     float     sum      -1    35.20    0.00    0.00      0    34.05    0.00 "
      "   0.00      0\n";
  const std::string wrong =
      "   536870912     134217728     float     sum      -1   4000.0  134.22  234.88      7   4005.0  134.05 "
      " 234.59      0\n";
  const NcclRows rows = nccl_rows(read_log(ranks(8) + std::string(head) + zero + row + wrong),
                                  {.source = "my cluster", .intra = "NVSwitch, NVLink3"});
  CHECK(rows.rows == 4);
  CHECK(rows.empty == 1);
  CHECK(rows.wrong == 1);
  CHECK(
      rows.csv.find(
          "my cluster,line 14,,A100-SXM4-80GB,8,1,8,\"NVSwitch, NVLink3\",,NCCL,allreduce 1073741824 B,fp32,"
          "allreduce_oop_time,8000,us,yes,validate,float\n") != std::string::npos);
  CHECK(rows.csv.find("allreduce_oop_time,4000,us,no,") != std::string::npos);
}

TEST_CASE("a text without a table is refused") {
  CHECK(errors_of([] { (void)read_log("hello\n"); }).front().message == "no table of nccl-tests");
}
