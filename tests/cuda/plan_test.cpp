#include "cuda/plan.hpp"

#include "contains.hpp"
#include "cuda/input_error.hpp"
#include "cuda/ops.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard::cuda;

namespace {

const std::string header = "op,variant,dtype,shape,bytes\n";

/// What is wrong with a plan, empty if nothing is.
std::string errors_in(const std::string& text) {
  try {
    (void)parse_plan("plan.csv", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string errors_in_row(const std::string& row) { return errors_in(header + row + "\n"); }

}  // namespace

TEST_CASE("a plan's rows keep their order and their lines") {
  const auto plan = parse_plan("plan.csv", "# made for a test\n" + header +
                                               "gemm,-,bf16,b16 m128 n128 k64 nn,1310720\r\n"
                                               "# copies\n"
                                               "copy,h2d_pinned,-,-,65536");
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].request == Request{"gemm", "-", "bf16", "b16 m128 n128 k64 nn", 1310720});
  CHECK(plan[0].line == 3);
  CHECK(plan[1].request == Request{"copy", "h2d_pinned", "-", "-", 65536});
  CHECK(plan[1].line == 5);
}

TEST_CASE("every op of the documentation can be planned") {
  for (const char* row :
       {"gemm,-,tf32,m1 n1 k1 tn,12", "conv_forward,nchw,fp32,n1 c4 h8 w8 k8 r3x3 s1 p1x1 g2,1",
        "conv_dgrad,nhwc,fp16,n1 c4 h8 w8 k8 r3x3 s1 p1x1,1",
        "conv_wgrad,nhwc,tf32,n1 c4 h8 w8 k8 r1x1 s2 p0x0,1", "elementwise,add,fp32,e65536,1",
        "reduction,sum,fp16,e65536,1", "embedding,forward w768,bf16,e768000,1", "launch,graph,-,-,0",
        "copy,peer,-,-,1024", "all_reduce,nccl,fp32,-,1024", "overlap,gemm h2d,fp16,m64 n64 k64 nn,1",
        "overlap,vector d2d,fp32,e1024,1", "power,idle,-,-,0", "power,gemm,fp16,-,0"}) {
    CAPTURE(row);
    CHECK(errors_in_row(row).empty());
  }
}

TEST_CASE("every problem of a plan is told with its line and what to write instead") {
  const std::string errors = errors_in(header +
                                       "gem,-,fp32,m1 n1 k1 nn,1\n"
                                       "gemm,-,fp64,m1 n1 k1,many\n"
                                       "gemm,-,fp32\n");
  CHECK(contains(errors, "plan.csv:2: error: unknown op 'gem' (one of gemm, conv_forward"));
  CHECK(contains(errors, "plan.csv:3: error: bytes 'many' is no number"));
  CHECK(contains(errors, "plan.csv:3: error: dtype 'fp64' is none of gemm's (one of 'fp32', 'tf32'"));
  CHECK(contains(errors, "plan.csv:3: error: shape 'm1 n1 k1' is none of gemm's (for example 'm128"));
  CHECK(contains(errors, "plan.csv:4: error: 3 cells where the header has 5"));
}

TEST_CASE("rows that no kernel could run are refused") {
  CHECK(contains(errors_in_row("conv_forward,nchw,fp32,n1 c6 h8 w8 k8 r3x3 s1 p1x1 g4,1"),
                 "groups that divide"));
  CHECK(contains(errors_in_row("embedding,forward w100,fp32,e1001,1"), "no multiple of the 100"));
  CHECK(contains(errors_in_row("embedding,forward,fp32,e1000,1"), "none of embedding's ('forward w64')"));
  CHECK(contains(errors_in_row("softmax,forward w512,fp32,e1024,1"), "unknown op 'softmax'"));
  CHECK(contains(errors_in_row("elementwise,add,tf32,e1000,1"), "dtype 'tf32'"));
  CHECK(contains(errors_in_row("overlap,vector h2d,tf32,e1000,1"), "dtype 'tf32'"));
  CHECK(contains(errors_in_row("overlap,vector h2d,fp32,m1 n1 k1 nn,1"), "for example 'e1048576'"));
  CHECK(contains(errors_in_row("all_reduce,nccl,fp16,-,1024"),
                 "dtype 'fp16' is none of all_reduce's ('fp32')"));
  CHECK(contains(errors_in_row("copy,d2d,-,-,0"), "copy needs a whole number of bytes"));
  CHECK(contains(errors_in_row("copy,d2d,-,-,1.5"), "copy needs a whole number"));
  CHECK(contains(errors_in_row("launch,rate,-,-,-1"), "bytes must be at least 0"));
  CHECK(contains(errors_in_row("launch,rate,-,e4,0"), "this op has none: '-'"));
}

TEST_CASE("a plan with another header is refused at once") {
  CHECK(errors_in("op,dtype,variant,shape,bytes\nx,y\n") ==
        "plan.csv:1: error: the header is not a plan's (it must be 'op,variant,dtype,shape,bytes')");
  CHECK(contains(errors_in(""), "plan.csv: error: it holds no plan"));
}

TEST_CASE("of very many problems the first fifty are told") {
  std::string text = header;
  for (int i = 0; i < 60; ++i) text += "x\n";
  CHECK(contains(errors_in(text), "plan.csv:51: error"));
  CHECK_FALSE(contains(errors_in(text), "plan.csv:52: error"));
  CHECK(contains(errors_in(text), "plan.csv: error: and 10 more"));
}

TEST_CASE("a plan that cannot be read is a matter of the file") {
  const trainyard::TemporaryFolder folder;
  CHECK_THROWS_AS((void)read_plan((folder.path / "none.csv").string()), FileError);
  CHECK_THROWS_AS((void)read_plan(folder.path.string()), FileError);
  std::ofstream(folder.path / "plan.csv") << header << "launch,rate,-,-,0\n";
  CHECK(read_plan((folder.path / "plan.csv").string()).size() == 1);
}
