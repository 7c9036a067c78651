#include "errors_of.hpp"
#include "published/collective_rows.hpp"
#include "published/published_text.hpp"

#include <doctest/doctest.h>
#include <variant>

using namespace trainyard;

namespace {

CollectiveMeasurement understood(const std::map<std::string, std::string>& cells) {
  return std::get<CollectiveMeasurement>(collective_measurement(rows_of(published_line(cells)).front()));
}

std::string refused(const std::map<std::string, std::string>& cells) {
  const auto row = collective_measurement(rows_of(published_line(cells)).front());
  const auto* reason = std::get_if<std::string>(&row);
  return reason == nullptr ? "" : *reason;
}

}  // namespace

TEST_CASE("rows are read by the names of their columns, in any order and with unknown ones") {
  const auto rows = rows_of(published_line() + published_line({{"notes", "\"a, b\""}, {"value", "2.5"}}));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].line == 2);
  CHECK(rows[0].gpus_total == 8);
  CHECK(rows[0].value == 100);
  CHECK(rows[1].notes == "a, b");
  CHECK(rows[1].value == 2.5);
  const auto more = read_published_rows("r.csv", "extra," + published_header() + "x," + published_line());
  CHECK(more.front().unit == "us");
}

TEST_CASE("a number that the source does not give is 0") {
  const auto rows = rows_of(published_line({{"nodes", ""}, {"gpus_per_node", ""}, {"value", ""}}));
  CHECK(rows.front().nodes == 0);
  CHECK(rows.front().gpus_per_node == 0);
  CHECK(rows.front().value == 0);
}

TEST_CASE("of nodes, GPUs of each and GPUs in all the missing one follows from the others") {
  const auto counts = [](const std::string& nodes, const std::string& per_node, const std::string& total) {
    const auto rows =
        rows_of(published_line({{"nodes", nodes}, {"gpus_per_node", per_node}, {"gpus_total", total}}));
    return std::vector{rows.front().nodes, rows.front().gpus_per_node, rows.front().gpus_total};
  };
  CHECK(counts("2", "8", "") == std::vector{2, 8, 16});
  CHECK(counts("2", "", "16") == std::vector{2, 8, 16});
  CHECK(counts("", "8", "16") == std::vector{2, 8, 16});
  CHECK(counts("", "8", "4") == std::vector{1, 8, 4});
  CHECK(counts("", "8", "12") == std::vector{0, 8, 12});
  CHECK(counts("3", "", "16") == std::vector{3, 0, 16});
  CHECK(counts("", "", "16") == std::vector{0, 0, 16});
  CHECK(counts("1", "8", "4") == std::vector{1, 8, 4});
  CHECK(counts("10000000", "10000000", "") == std::vector{10000000, 10000000, 0});
}

TEST_CASE("a value of 0 or less is read, and its row refused with the reason") {
  for (const std::string value : {"0", "-3.5", ""}) {
    CAPTURE(value);
    CHECK(refused({{"value", value}}) == "no value above 0");
  }
}

TEST_CASE("all that is wrong with a file of measurements is said at once, with its place") {
  const auto errors = errors_of([] {
    rows_of(published_line({{"nodes", "two"}}) + published_line({{"value", "fast"}}));
  });
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].key_path == "nodes");
  CHECK(errors[1].line == 3);
  CHECK(errors[1].message == "a number is needed, not 'fast'");
  const Diagnostic unclean = only_error([] { rows_of(published_line({{"clean", "wurst"}})); });
  CHECK(unclean.line == 2);
  CHECK(unclean.key_path == "clean");
  CHECK(unclean.hint == "one of yes, partial, no");
  const auto missing = errors_of([] { read_published_rows("r.csv", "source,gpus\n"); });
  REQUIRE(missing.size() == 5);  // gpu, model, value, unit, a number of GPUs
  CHECK(missing.front().message == "the column 'gpu' is missing");
  CHECK(missing.back().message == "the column 'gpus_total' is missing");
}

TEST_CASE("columns that a row does not need may be absent, and the unit tells a rate from a time") {
  const auto read = [](const std::string& unit) {
    return read_published_rows("r.csv",
                               "gpu,gpus_per_node,nodes,framework,model,precision,batch_per_gpu,value,unit\n"
                               "V100,8,2,PyTorch,ResNet-50,fp32,64,5000," +
                                   unit + "\n")
        .front();
  };
  const PublishedRow row = read("img/s");
  CHECK(row.gpus_total == 16);
  CHECK(row.metric == "throughput");
  CHECK(row.split.empty());
  CHECK(read("images/sec").metric == "throughput");
  CHECK(read("ms").metric == "step_time");
  CHECK(read("h").metric.empty());  // of an epoch, or of all
  CHECK(read("GB").metric.empty());
  for (const std::string count : {"gpus_total", "gpus_per_node"}) {
    const PublishedRow one =
        read_published_rows("r.csv", "gpu," + count +
                                         ",framework,model,precision,batch_per_gpu,value,unit\n" +
                                         "V100,8,PyTorch,ResNet-50,fp32,64,2500,img/s\n")
            .front();
    CHECK(one.nodes == 1);
    CHECK(one.gpus_per_node == 8);
    CHECK(one.gpus_total == 8);
  }
}

TEST_CASE("an unknown collective does not make a table one about training") {
  const auto rows = read_published_rows("r.csv",
                                        "gpu,gpus_total,nodes,metric,model,value,unit\n"
                                        "V100,8,1,allmax_time,allmax 8 B,20,us\n"
                                        "V100,8,1,allreduce_time,allreduce 8 B,20,us\n");
  REQUIRE(rows.size() == 2);
  CHECK(std::get<std::string>(collective_measurement(rows[0])).starts_with("unknown collective 'allmax'"));
  CHECK(std::holds_alternative<CollectiveMeasurement>(collective_measurement(rows[1])));
}

TEST_CASE("rows about training runs need more columns than rows about collectives") {
  const std::string columns = "gpu,gpus_total,nodes,metric,model,value,unit\n";
  CHECK(read_published_rows("r.csv", columns + "V100,8,1,allreduce_time,allreduce 8 B,20,us\n").size() == 1);
  const auto errors = errors_of(
      [&] { read_published_rows("r.csv", columns + "V100,8,1,throughput,ResNet-50,3000,img/s\n"); });
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].message == "the column 'framework' is missing");
  CHECK(errors[1].message == "the column 'precision' is missing");
  CHECK(errors[2].message == "the column 'batch_per_gpu' is missing");
}

TEST_CASE("a row says operation, size and time") {
  const CollectiveMeasurement row = understood({});
  CHECK(row.operation == Operation::all_reduce);
  CHECK(row.figure == CollectiveFigure::time);
  CHECK_FALSE(row.in_place);
  CHECK(row.sizes == std::vector{Bytes{1048576}});
  CHECK(row.measured == doctest::Approx(100e-6));
  CHECK(understood({{"metric", "allgather_inplace_time"}}).in_place);
  CHECK(understood({{"metric", "allgather_inplace_time"}}).operation == Operation::all_gather);
  CHECK(understood({{"metric", "broadcast_time"}, {"unit", "ms"}}).measured == doctest::Approx(0.1));
  CHECK(understood({{"model", "allreduce 64 MiB"}}).sizes.front().si() == 64 * 1024 * 1024);
}

TEST_CASE("a bus bandwidth stands for several sizes") {
  const CollectiveMeasurement peak = understood({{"metric", "allreduce_busbw_peak"},
                                                 {"model", "allreduce 8 B..4 MiB step 1 MiB"},
                                                 {"value", "96"},
                                                 {"unit", "GB/s"}});
  CHECK(peak.figure == CollectiveFigure::peak_busbw);
  CHECK(peak.measured == 96e9);
  CHECK(peak.sizes.size() == 4);
  CHECK(peak.sizes.front() == Bytes{8});
  const CollectiveMeasurement last =
      understood({{"metric", "allreduce_busbw"}, {"model", "allreduce up to 512 MiB"}, {"unit", "GB/s"}});
  CHECK(last.figure == CollectiveFigure::last_busbw);
  CHECK(last.sizes == std::vector{Bytes{512.0 * 1024 * 1024}});
}

TEST_CASE("operations are known by every spelling, capital letters or not") {
  for (const auto& [metric, operation] : {std::pair{"all_reduce_time", Operation::all_reduce},
                                          {"AllReduce_time", Operation::all_reduce},
                                          {"reduce_scatter_time", Operation::reduce_scatter},
                                          {"reducescatter_time", Operation::reduce_scatter},
                                          {"all_gather_oop_time", Operation::all_gather},
                                          {"allgather_time", Operation::all_gather},
                                          {"all_to_all_time", Operation::all_to_all},
                                          {"alltoall_time", Operation::all_to_all},
                                          {"send_recv_time", Operation::send_recv},
                                          {"sendrecv_time", Operation::send_recv},
                                          {"broadcast_time", Operation::broadcast},
                                          {"reduce_time", Operation::reduce}}) {
    CAPTURE(metric);
    CHECK(understood({{"metric", metric}}).operation == operation);
  }
  CHECK(understood({{"metric", "allreduce_tree_time"}}).algorithm == Algorithm::tree);
  CHECK(understood({{"metric", "allreduce_ring_time"}}).algorithm == Algorithm::ring);
}

TEST_CASE("an algorithm bandwidth becomes a bus bandwidth by nccl-tests' factor") {
  const auto busbw_of = [](const std::string& metric) {
    const CollectiveMeasurement row = understood({{"metric", metric}, {"value", "8"}, {"unit", "GB/s"}});
    return row.measured / 1e9;
  };
  CHECK(busbw_of("allreduce_algbw") == doctest::Approx(14));
  CHECK(busbw_of("all_gather_algbw") == doctest::Approx(7));
  CHECK(busbw_of("broadcast_algbw") == doctest::Approx(8));
  CHECK(busbw_of("allreduce_busbw") == doctest::Approx(8));
  const CollectiveMeasurement peak =
      understood({{"metric", "allreduce_algbw_peak"}, {"value", "8"}, {"unit", "GB/s"}});
  CHECK(peak.figure == CollectiveFigure::peak_busbw);
  CHECK(refused({{"metric", "allreduce_algbw"}, {"unit", "GB/s"}, {"gpus_total", ""}, {"nodes", ""}}) ==
        "no number of GPUs");
}

TEST_CASE("what is no collective's figure is refused with the reason") {
  CHECK(refused({{"metric", "throughput"}}).find("not a collective") != std::string::npos);
  CHECK(refused({{"split", "context"}}) == "context, not a measurement");
  CHECK(refused({{"model", "allreduce many B"}}) == "no size in the column model");
  CHECK(refused({{"unit", "GB/s"}}) == "no time in the columns value and unit");
  CHECK(refused({{"metric", "allreduce_share"}}) ==
        "not a collective's time, bus bandwidth or algorithm bandwidth");
}
