#include "lab/calibration_tables.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// The text with one blank for several.
std::string without_gaps(std::string text) {
  const auto is_gap = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), is_gap), text.end());
  return text;
}

}  // namespace

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
  const std::string table = device_table(recording);
  CAPTURE(table);
  // the slowdown of the vector kernel is missing: it was not recorded alone
  CHECK(std::ranges::count(table, '\n') == 8);
  for (const std::string row : {"6.50 us", "2.25 us", "copy h2d_pinned 25.0 GB/s (256 MiB)",
                                "bf16 gemm with concurrent h2d copies 1.15 times", "power, idle 75.5 W"}) {
    CAPTURE(row);
    CHECK(without_gaps(table).find(row) != std::string::npos);
  }
  CHECK(device_table(read_recording("r.csv", "op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\n")).empty());
}
