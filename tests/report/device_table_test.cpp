#include "report/device_table.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

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
  CHECK(device_table(recording) ==
        "Besides kernels, for information:\n\n"
        "launch of an empty kernel and waiting for it  6.5 us\n"
        "per empty kernel, back to back                2.25 us\n"
        "copy h2d_pinned                               25 GB/s (256 MiB)\n"
        "bf16 gemm beside h2d copies                   1.15 times as long\n"
        "power, idle                                   75.5 W\n\n");
  CHECK(device_table(read_recording("r.csv", "op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\n")).empty());
}
