#include "calibrated_gpu.hpp"
#include "document/writers.hpp"
#include "lab/pages.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using trainyard::testing::calibrated;
using trainyard::testing::held_out;

namespace {

std::string text_of(const GpuProfile& gpu, const std::vector<Recording>& recordings = {}) {
  return doc::text(calibration_document(gpu, recordings));
}

/// The text with one blank for several.
std::string without_gaps(std::string text) {
  const auto is_gap = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), is_gap), text.end());
  return text;
}

}  // namespace

TEST_CASE("held-out errors are a line per group, as percentages") {
  CHECK(text_of(calibrated()) ==
        "Error on held-out shapes (five folds):\n"
        "kernels      count     mean   median     90 %  curve alone\n"
        "gemm fp16       40    9.7 %    3.0 %   25.0 %       13.0 %\n"
        "gemm fp32       40    4.9 %    3.0 %   25.0 %       13.0 %\n"
        "softmax         40    5.7 %    3.0 %   25.0 %       13.0 %\n");
  CHECK(text_of(GpuProfile()).empty());
  GpuProfile scaled;
  scaled.calibration.emplace();
  scaled.calibration->scaled_from = "v100";
  scaled.calibration->scaling = {held_out("gemm fp32 of p100", 0.19)};
  CHECK(text_of(scaled).find("scaling from v100,") != std::string::npos);
}

TEST_CASE("what a recording says besides kernels: launches, the largest copies, slow-downs, power") {
  const Recording recording = read_recording("r.csv",
                                             "op,variant,dtype,shape,bytes,time_us,power_w\n"
                                             "launch,latency,-,-,0,6.5,\n"
                                             "launch,rate,-,-,0,2.25,\n"
                                             "copy,h2d_pinned,-,-,1048576,100,\n"
                                             "copy,h2d_pinned,-,-,268435456,10737.41824,\n"
                                             "gemm,-,bf16,m4096 n4096 k4096 nt,0,200,\n"
                                             "overlap,gemm h2d,bf16,m4096 n4096 k4096 nt,0,230,\n"
                                             "overlap,vector d2d,fp32,e1024,0,230,\n"
                                             "power,idle,-,-,0,3000000,75.5\n");
  const std::string table = text_of(GpuProfile(), {recording});
  CAPTURE(table);
  // the slowdown of the vector kernel is missing: it was not recorded alone
  CHECK(std::ranges::count(table, '\n') == 6);
  for (const std::string row : {"6.50 us", "2.25 us", "copy h2d_pinned 25.0 GB/s (256 MiB)",
                                "bf16 gemm with concurrent h2d copies 1.15 times", "power, idle 75.5 W"}) {
    CAPTURE(row);
    CHECK(without_gaps(table).find(row) != std::string::npos);
  }
  CHECK(text_of(GpuProfile(), {read_recording("r.csv", "op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\n")})
            .empty());
}
