#include "cuda/recording.hpp"

#include "contains.hpp"
#include "cuda/input_error.hpp"
#include "cuda/plan.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard::cuda;

namespace {

const std::vector<Fact> facts{
    {"gpu", "Test GPU"}, {"cuda", "13.0"}, {"driver", "580.1"}, {"date", "2026-01-01"}};
const Request gemm{"gemm", "-", "fp32", "m8 n8 k8 nn", 768};
const Request copy{"copy", "d2d", "-", "-", 1048576};
const Measurement measured{.time_us = 12.3456789, .spread_us = 0.25, .repetitions = 100, .error = 1.5e-7};
const std::string head = "# gpu: Test GPU\n# cuda: 13.0\n# driver: 580.1\n# date: 2026-01-01\n" +
                         std::string(recording_header) + "\n";
const std::string gemm_row = "gemm,-,fp32,m8 n8 k8 nn,768,12.3457,0.25,100,1.5e-07,,\n";

/// A recording's file, with this text in it.
struct File {
  explicit File(const std::string& text = {}) {
    if (!text.empty()) std::ofstream(path) << text;
  }
  [[nodiscard]] std::string text() const { return read_text(path); }

  trainyard::TemporaryFolder folder;
  std::string path = (folder.path / "recording.csv").string();
};

std::string error_of_opening(const std::string& path, const std::vector<Fact>& now) {
  try {
    const Recording recording(path, now);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a new recording begins with the facts, and every row is there as soon as it is appended") {
  const File file;
  Recording recording(file.path, facts);
  CHECK(file.text() == head);
  CHECK_FALSE(recording.has(gemm));
  recording.append(gemm, measured);
  CHECK(recording.has(gemm));
  CHECK(file.text() == head + gemm_row);
  recording.append(copy,
                   {.time_us = 3, .spread_us = 0, .repetitions = 10, .power_w = 512.25, .clock_mhz = 1980});
  CHECK(file.text() == head + gemm_row + "copy,d2d,-,-,1048576,3,0,10,,512.25,1980\n");
}

TEST_CASE("a recording is continued where it ended") {
  const File file(head + gemm_row);
  Recording recording(file.path, facts);
  CHECK(recording.notes().empty());
  CHECK(recording.has(gemm));
  CHECK_FALSE(recording.has(copy));
  Request larger = gemm;
  larger.bytes = 769;
  CHECK_FALSE(recording.has(larger));
}

TEST_CASE("bytes are the same however they are written") {
  const File file(head + "copy,d2d,-,-,1e+09,3,0,10,,,\n");
  const Recording recording(file.path, facts);
  CHECK(recording.has({"copy", "d2d", "-", "-", 1e9}));
}

TEST_CASE("a last line that a crash tore is cut off, and its row is measured again") {
  for (const std::string torn : {"copy,d2d,-,-,10", "copy,d2d,-,-,1048576,3,0,10,,,", "c"}) {
    CAPTURE(torn);
    const File file(head + gemm_row + torn);
    Recording recording(file.path, facts);
    REQUIRE(recording.notes().size() == 1);
    CHECK(contains(recording.notes()[0], "torn and is cut off"));
    CHECK(recording.has(gemm));
    CHECK_FALSE(recording.has(copy));
    CHECK(file.text() == head + gemm_row);
  }
}

TEST_CASE("a recording that ended before its header is begun anew") {
  for (const std::string start : {"", "# gpu: Te", "# gpu: Other\n", "# gpu: Test GPU\nop,var"}) {
    CAPTURE(start);
    const File file(start);
    const Recording recording(file.path, facts);
    CHECK(file.text() == head);
  }
}

TEST_CASE("rows of another GPU or library are not mixed with these") {
  const File file(head + gemm_row);
  auto now = facts;
  now[0].value = "Other GPU";
  CHECK(contains(error_of_opening(file.path, now),
                 "its rows were measured with gpu 'Test GPU', this run has 'Other GPU' (name another file"));
  now = facts;
  now.push_back({"cudnn", "9.1.0"});
  CHECK(contains(error_of_opening(file.path, now), "cudnn none, this run has '9.1.0'"));
  now = facts;
  now[2].value = "590.2";
  now[3].value = "2026-02-02";
  CHECK(error_of_opening(file.path, now).empty());
  CHECK(file.text() == head + gemm_row);
}

TEST_CASE("a file that is no recording is refused and left as it is") {
  for (const std::string text :
       {"op,variant,dtype,shape,bytes\n", "notes of mine\n", "notes of mine", "\n"}) {
    CAPTURE(text);
    const File file(text);
    CHECK_FALSE(error_of_opening(file.path, facts).empty());
    CHECK(file.text() == text);
  }
}

TEST_CASE("a damaged row is told with its line") {
  const File file(head + gemm_row + "copy,d2d,-,-\n" + "copy,d2d,-,-,1048576,soon,0,10,,,\n");
  const std::string errors = error_of_opening(file.path, facts);
  CHECK(contains(errors, "recording.csv:7: error: 4 cells where the header has 11"));
  CHECK(contains(errors, "recording.csv:8: error: time_us 'soon' is no time"));
}

TEST_CASE("only one process at a time measures into a recording") {
  const File file;
  const Recording first(file.path, facts);
  CHECK_THROWS_AS(Recording(file.path, facts), FileError);
}

TEST_CASE("a recording that cannot be written is a matter of the file") {
  const File file;
  CHECK_THROWS_AS(Recording((file.folder.path / "no" / "such.csv").string(), facts), FileError);
  CHECK_THROWS_AS(Recording(file.folder.path.string(), facts), FileError);
  CHECK_THROWS_AS(Recording("/dev/null", facts), FileError);
}
