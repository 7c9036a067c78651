#include "report/csv.hpp"

#include "sample.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("ops.csv has one row per op with units in the column names") {
  CHECK(ops_csv(sample_result()) ==
        "rank,phase,layer,kind,shape,flops,bytes,parameter_bytes,duration_s,source,start_s,end_s\n"
        "0,forward,conv1,conv_forward,n64,1000000000,2000000,4000,0.004,measured,0,0.004\n"
        "0,backward,fc,gemm,n64,1000000000,2000000,4000,0.004,measured,0.004,0.008\n"
        "0,backward,conv1,conv_wgrad,n64,1000000000,2000000,4000,0.002,measured,0.008,0.01\n"
        "0,optimizer,all,optimizer,n64,1000000000,2000000,4000,0.001,measured,0.012,0.013\n");
}

TEST_CASE("ops.csv has the ops of the first rank of every class") {
  const std::string csv = ops_csv(two_class_result());
  CHECK(csv.find("\n0,backward,fc,gemm,") != std::string::npos);
  CHECK(csv.find("\n1,backward,fc2,gemm,") != std::string::npos);
  CHECK(csv.find("\n1,forward,") == std::string::npos);
}

TEST_CASE("ranks.csv, links.csv and collectives.csv print SI base units") {
  const Run run = sample_result();
  CHECK(ranks_csv(run) ==
        "rank,node,gpu,compute_s,communication_s,end_s\n"
        "0,0,gpu0,0.011,0.004,0.013\n"
        "1,0,gpu1,0.011,0.004,0.013\n");
  CHECK(links_csv(run.links.rows) ==
        "link,capacity_bytes_per_s,bytes,utilization\n"
        "node0.gpu0->node0.gpu1,25000000000,100000000,0.3\n");
  CHECK(
      collectives_csv(run) ==
      "collective,operation,algorithm,protocol,channels,size_bytes,tensors,ready_after,ready_s,start_s,end_s,"
      "duration_s,"
      "bound_s,algbw_bytes_per_s,busbw_bytes_per_s\n"
      "bucket "
      "0,all_reduce,ring,Simple,6,100000000,3,fc,0.008,0.008,0.012,0.004,0.003,25000000000,25000000000\n");
}

TEST_CASE("a field with a comma, a quote or a line break is quoted") {
  Run run = sample_result();
  step_in(run).classes.front().ops.resize(1);
  step_in(run).classes.front().ops[0].layer = "a,\"b\"\nc";
  CHECK(ops_csv(run).find("forward,\"a,\"\"b\"\"\nc\",conv_forward") != std::string::npos);
}
