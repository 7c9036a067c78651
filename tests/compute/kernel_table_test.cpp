#include "compute/kernel_table.hpp"

#include "compute/pointwise.hpp"
#include "config/diagnostic.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

ConvShape with_batch(int batch) {
  ConvShape shape = pointwise;
  shape.batch = batch;
  return shape;
}

const std::string text =
    "# origin: invented\n"
    "op,dtype,shape,time_us\n"
    "conv_forward,fp32,n32 c64 h56 w56 k256 r1x1 s1 p0x0,300\n"
    "conv_forward,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,100\n"
    "conv_forward,fp32,n16 c64 h56 w56 k256 r1x1 s1 p0x0,160\n"
    "conv_dgrad,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,90\n"
    "gemm,fp16,m16 n1000 k2048 nt,20.5\n";

}  // namespace

TEST_CASE("a measured convolution is found by its exact shape, pass and type") {
  const KernelTable table = read_kernel_table("k.csv", text);
  CHECK(find_kernel(table, OpKind::conv_forward, Dtype::fp32, pointwise).duration == Seconds(160 * 1e-6));
  CHECK(find_kernel(table, OpKind::conv_dgrad, Dtype::fp32, with_batch(8)).duration == Seconds(90 * 1e-6));
  CHECK_FALSE(find_kernel(table, OpKind::conv_wgrad, Dtype::fp32, pointwise).duration);
  CHECK_FALSE(find_kernel(table, OpKind::conv_forward, Dtype::fp16, pointwise).duration);
  ConvShape strided = pointwise;
  strided.stride = 2;
  CHECK_FALSE(find_kernel(table, OpKind::conv_forward, Dtype::fp32, strided).duration);
}

TEST_CASE("between two measured batches the time is linear, beyond them it is only bounded") {
  const KernelTable table = read_kernel_table("k.csv", text);
  const auto find = [&](int batch) {
    return find_kernel(table, OpKind::conv_forward, Dtype::fp32, with_batch(batch));
  };
  REQUIRE(find(12).duration);
  CHECK(find(12).duration->si() == doctest::Approx(130e-6).epsilon(1e-12));
  CHECK(find(20).duration->si() == doctest::Approx(195e-6).epsilon(1e-12));
  CHECK_FALSE(find(33).duration);
  CHECK(find(33).at_least == Seconds(300 * 1e-6));
  CHECK_FALSE(find(33).at_most);
  CHECK_FALSE(find(7).duration);
  CHECK(find(7).at_most == Seconds(100 * 1e-6));
}

TEST_CASE("a measured matrix product is found by its exact shape or not at all") {
  const KernelTable table = read_kernel_table("k.csv", text);
  CHECK(find_kernel(table, Dtype::fp16, GemmShape{1, 16, 1000, 2048, false, true}) == Seconds(20.5 * 1e-6));
  CHECK_FALSE(find_kernel(table, Dtype::fp16, GemmShape{1, 16, 1000, 2048, false, false}));
  CHECK_FALSE(find_kernel(table, Dtype::fp32, GemmShape{1, 16, 1000, 2048, false, true}));
  CHECK_FALSE(find_kernel(KernelTable{}, Dtype::fp32, GemmShape{1, 16, 1000, 2048, false, true}));
}

TEST_CASE("all errors of a kernel table are reported with their place") {
  try {
    read_kernel_table(
        "k.csv",
        "op,dtype,shape,time_us\nconv_forwrad,fp32,n1 c1 h1 w1 k1 r1x1 s1 p0x0,1\n"
        "gemm,fp23,m1 n1 k1 nn,1\ngemm,fp32,n1 c1 h1 w1 k1 r1x1 s1 p0x0,1\ngemm,fp32,m1 n1 k1 nn,0\n");
    FAIL("no error");
  } catch (const InputError& error) {
    const auto& found = error.diagnostics();
    REQUIRE(found.size() == 4);
    CHECK(found[0].hint == "did you mean 'conv_forward'?");
    CHECK(found[1].hint == "did you mean 'fp32'?");
    CHECK(found[1].column == 6);
    CHECK(found[2].message == "'n1 c1 h1 w1 k1 r1x1 s1 p0x0' is no shape of a matrix product");
    CHECK(found[3].line == 5);
  }
}

TEST_CASE("a kernel that is listed twice is an error") {
  const std::string twice = "op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\ngemm,fp32,m1 n1 k1 nn,2\n";
  CHECK_THROWS_AS(read_kernel_table("k.csv", twice), InputError);
  CHECK_THROWS_AS(read_kernel_table("k.csv", "op,dtype,time_us,shape\n"), InputError);
}
