#include "errors_of.hpp"
#include "study/collective_rows.hpp"
#include "study/published_text.hpp"

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
  const auto rows = rows_of(published_line({{"nodes", ""}, {"value", ""}}));
  CHECK(rows.front().nodes == 0);
  CHECK(rows.front().value == 0);
}

TEST_CASE("all that is wrong with a file of measurements is said at once, with its place") {
  const auto errors = errors_of([] {
    rows_of(published_line({{"nodes", "two"}}) + published_line({{"value", "fast"}}));
  });
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].key_path == "nodes");
  CHECK(errors[1].line == 3);
  CHECK(errors[1].message == "a number above 0 is needed, not 'fast'");
  const auto missing = errors_of([] { read_published_rows("r.csv", "source,gpus\n"); });
  CHECK(missing.size() == published_columns.size() - 1);
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

TEST_CASE("what is no collective's figure is refused with the reason") {
  CHECK(refused({{"metric", "throughput"}}).find("not a collective") != std::string::npos);
  CHECK(refused({{"split", "context"}}) == "context, not a measurement");
  CHECK(refused({{"model", "allreduce many B"}}) == "no size in the column model");
  CHECK(refused({{"unit", "GB/s"}}) == "no time in the columns value and unit");
  CHECK(refused({{"metric", "allreduce_share"}}) == "not a collective's time or bus bandwidth");
}
