// Logs of nccl-tests, as launchers and NCCL itself leave them.

#include "imports/nccl_tests.hpp"

#include "errors_of.hpp"
#include "imports/nccl_rows.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>
#include <string>
#include <string_view>

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

TEST_CASE("a list of ranks is read without '#', and goes to its last rank if people cut it") {
  std::string text = ranks(16);
  text.replace(text.find("#  Rank  0"), 1, " ");
  const std::string big =
      "  1073741824     268435456     float     sum      -1   8000.0  134.22  251.66      0   8010.0  134.05 "
      " 251.34      0\n";
  CHECK(read_log(text + std::string(head) + big).tables[0].ranks == 16);
  const std::string cut = "# Using devices\n" + ranks(16).substr(ranks(16).find("#  Rank 15"));
  const NcclTestsLog log = read_log(cut + std::string(head) + big);
  CHECK(log.tables[0].ranks == 16);
  CHECK(log.tables[0].nodes == 2);  // device 7
  CHECK_FALSE(log.tables[0].is_list_whole);
  CHECK(log.tables[0].operation == Operation::all_reduce);
  // each process of Slurm may see one GPU: its number says nothing
  const std::string one_each = "#  Rank 15 Group  0 Pid 12 on node1 device  0 [0x01] NVIDIA H100\n";
  const NcclTestsLog unknown = read_log(one_each + std::string(head) + big);
  CHECK(unknown.tables[0].ranks == 16);
  CHECK(unknown.tables[0].nodes == 0);
  const NcclRows rows = nccl_rows(unknown, {.source = "s"});
  CHECK(rows.untold == 1);
  CHECK(rows.lacks_nodes);
  CHECK_FALSE(rows.lacks_operation);
}

TEST_CASE("answers replace the log's numbers of GPUs and nodes") {
  const NcclTestsLog log =
      read_log("all_reduce_perf\n" + ranks(4) + std::string(head) + row, {.ranks = 8, .nodes = 2});
  CHECK(log.tables[0].ranks == 8);
  CHECK(log.tables[0].nodes == 2);
  CHECK(log.tables[0].rows.size() == 1);
  // without them, bus bandwidth contradicts four ranks
  CHECK(errors_of([] { (void)read_log("all_reduce_perf\n" + ranks(4) + std::string(head) + row); })
            .front()
            .message.find("1.750 times") != std::string::npos);
  CHECK_THROWS_AS(
      (void)nccl_rows(read_log(ranks(8) + std::string(head) + row, {.nodes = 3}), {.source = "s"}),
      InputError);
}

TEST_CASE("a shortened list with another number of GPUs does not say the number of nodes") {
  const std::string big =
      "  1073741824     268435456     float     sum      -1   8000.0  134.22  251.66      0   8010.0  134.05 "
      " 251.34      0\n";
  const auto imported = [&](const NcclTestsAnswers& answers) {
    return read_log("all_reduce_perf\n" + ranks(4) + std::string(head) + big, answers);
  };
  const NcclRows open = nccl_rows(imported({.ranks = 16}), {.source = "s"});
  CHECK(open.rows == 0);
  CHECK(open.lacks_nodes);
  CHECK_FALSE(open.lacks_gpus);
  CHECK(nccl_rows(imported({.ranks = 16, .nodes = 2}), {.source = "s"}).rows == 2);
  // an answer that the list agrees with changes nothing; without a list one node is meant
  const NcclTestsAnswers eight{.ranks = 8};
  CHECK(read_log(ranks(8, 4) + std::string(head) + row, eight).tables[0].nodes == 2);
  CHECK(read_log(std::string(head) + row, eight).tables[0].nodes == 1);
}

TEST_CASE("more GPUs than any machine has are refused in JSON") {
  const auto message = [](const std::string& text) {
    const auto errors = errors_of([&] { (void)read_log(text); });
    return errors.empty() ? "" : errors.front().message;
  };
  const auto nccl = [](const char* config, const char* devices) {
    return fmt::format(R"({{"config": {{{}}}, "devices": [{}], "results": [{{"size": 8, "out_of_place":
{{"time": 1, "alg_bw": 1, "bus_bw": 1}}}}]}})",
                       config, devices);
  };
  constexpr std::string_view refused = "more than 1,000,000 GPUs";
  CHECK(message(nccl(R"("nthreads": 1000000, "ngpus": 1000000)", R"({"rank": 0})")).find(refused) !=
        std::string::npos);
  CHECK(message(nccl(R"("nthreads": 1, "ngpus": 600000)", R"({"rank": 0}, {"rank": 0})")).find(refused) !=
        std::string::npos);
  CHECK(message(nccl(R"("nthreads": 1, "ngpus": 2)", R"({"rank": 999999})")).find(refused) !=
        std::string::npos);
  CHECK(message(nccl(R"("nthreads": 1, "ngpus": 2)", R"({"rank": 0})")).empty());
  CHECK(message(R"({"name": "AllReduce", "ranks": 1000000, "gpusPerRank": 1000000, "nodes": 1, "size": 8,
"type": "float", "time": 1, "algBw": 1, "busBw": 1})")
            .find(refused) != std::string::npos);
}

TEST_CASE("the column error of old versions is a deviation, which the footer or its size judges") {
  const auto table = [](const char* error, const char* footer) {
    std::string old = std::string(head);
    for (std::size_t at = 0; (at = old.find("#wrong", at)) != std::string::npos;)
      old.replace(at, 6, " error");
    return read_log(ranks(8) + old + "  1073741824     268435456   float     sum   8000.0  134.22  234.88  " +
                    error + "   8010.0  134.05  234.59  0e+00\n" + footer)
        .tables[0]
        .rows[0]
        .out_of_place.wrong;
  };
  CHECK(table("1e-06", "# Out of bounds values : 0 OK\n") == 0);
  CHECK(table("1e-06", "") == 0);
  CHECK(table("1e-03", "# Out of bounds values : 0 OK\n") == 0);
  CHECK(table("1e-03", "# Out of bounds values : 2 FAILED\n") == 1);
  CHECK_FALSE(table("N/A", ""));
  CHECK(table("1", "") == 1);
}

TEST_CASE("two ranks have the ratio of an all-reduce and of a send and receive: the operation is asked for") {
  const std::string two =
      "     4194304       1048576     float     sum      -1    400.0   10.49   10.49      0    401.0   10.46 "
      "  "
      "10.46    N/A\n";
  CHECK_FALSE(read_log(ranks(2) + std::string(head) + two).tables[0].operation);
  CHECK(nccl_rows(read_log(ranks(2) + std::string(head) + two), {.source = "s"}).lacks_operation);
  CHECK(read_log("# Collective test starting: sendrecv_perf\n" + ranks(2) + std::string(head) + two)
            .tables[0]
            .operation == Operation::send_recv);
}

TEST_CASE("timestamps behind rows do not matter") {
  std::string text = row;
  text.insert(text.size() - 1, "  2025-09-01 10:00:00");
  CHECK(read_log(ranks(8) + std::string(head) + text).tables[0].rows.size() == 1);
}

TEST_CASE("JSON of nccl-tests has the same table") {
  const auto file = [](const char* devices, const char* inside) {
    return fmt::format(
        R"({{"version": 1, "args": ["build/all_reduce_perf", "-g", "8"], "nccl_version": 22807, "config": {{
"nthreads": 1, "ngpus": 8{}}}, {}"results": [{{"size": 8388608, "count": 2097152, "type": "float", "redop": "sum",
"root": "    -1", "out_of_place": {{"time": 84.78, "alg_bw": 98.95, "bus_bw": 173.16, "nwrong": 0}},
"in_place": {{"time": 87.87, "alg_bw": 95.46, "bus_bw": 167.06, "nwrong": null}}}}],
"out_of_bounds": {{"count": 0, "okay": "true"}}}})",
        inside, devices);
  };
  const std::string device =
      R"("devices": [{"rank": 0, "hostname": "a", "device": 0, "device_info": "NVIDIA H100"},
 {"rank": 8, "hostname": "b", "device": 0, "device_info": "NVIDIA H100"}])";
  for (const std::string& text : {file((device + ",").c_str(), ""), file("", (", " + device).c_str())}) {
    std::string sixteen = text;  // 2 (n - 1) / n of 16
    sixteen.replace(sixteen.find("173.16"), 6, "185.53");
    const NcclTestsLog log = read_log(sixteen);
    REQUIRE(log.tables.size() == 1);
    const NcclTestsTable& table = log.tables[0];
    CHECK(table.operation == Operation::all_reduce);
    CHECK(table.ranks == 16);
    CHECK(table.nodes == 2);
    CHECK(table.nccl == "2.28.7");
    CHECK(table.gpu == "NVIDIA H100");
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].out_of_place.time.si() == 84.78e-6);
    CHECK_FALSE(table.rows[0].in_place->wrong);
  }
  CHECK_THROWS_AS((void)read_log(file("", "").substr(0, 300)), InputError);
}

TEST_CASE("JSON of rccl-tests is read as lines and as a list, of both ages") {
  const std::string old =
      R"({"#wrong":"0","algBw":100.0,"busBw":150.0,"gpus":4,"inPlace":0,"name":"AllReduce","redop":"sum","size":1024,"time":19.184150000000002,"type":"float"}
{"#wrong":"0","algBw":100.0,"busBw":150.0,"gpus":4,"inPlace":1,"name":"AllReduce","redop":"sum","size":1024,"time":19.89765,"type":"float"}
)";
  const NcclTestsLog log = read_log(old);
  REQUIRE(log.tables.size() == 1);
  CHECK(log.tables[0].ranks == 4);
  CHECK(log.tables[0].nodes == 1);
  CHECK_FALSE(log.tables[0].is_list_whole);
  REQUIRE(log.tables[0].rows.size() == 1);
  CHECK(log.tables[0].rows[0].in_place->time.si() == doctest::Approx(19.89765e-6));
  CHECK(nccl_rows(log, {.source = "s"}).csv.find(",19.18415,us,yes,") != std::string::npos);  // no 0002
  const NcclTestsLog list = read_log(
      R"([{"numCycle":0, "name":"AllGather", "nodes":2, "ranks":16, "ranksPerNode":8, "gpusPerRank":1, "size":1048576,
"type":"half", "redop":"none", "inPlace":0, "time":50.5, "algBw":20.76, "busBw":19.46, "wrong":"0"}])");
  REQUIRE(list.tables.size() == 1);
  CHECK(list.tables[0].operation == Operation::all_gather);
  CHECK(list.tables[0].ranks == 16);
  CHECK(list.tables[0].nodes == 2);
  CHECK(list.tables[0].is_list_whole);
  CHECK_THROWS_AS((void)read_log(old.substr(0, old.size() - 30)), InputError);
}

TEST_CASE("a text without a table is refused") {
  CHECK(errors_of([] { (void)read_log("hello\n"); }).front().message == "no table of nccl-tests");
}
