#include "compute/kernel_table.hpp"

#include "compute/pointwise.hpp"
#include "config/diagnostic.hpp"
#include "errors_of.hpp"

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

const std::string kernel_rows =
    "# origin: invented\n"
    "op,dtype,shape,time_us\n"
    "conv_forward,fp32,n32 c64 h56 w56 k256 r1x1 s1 p0x0,300\n"
    "conv_forward,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,100\n"
    "conv_forward,fp32,n16 c64 h56 w56 k256 r1x1 s1 p0x0,160\n"
    "conv_dgrad,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,90\n"
    "gemm,fp16,m16 n1000 k2048 nt,20.5\n";

KernelTable table_of(const std::string& csv) { return kernel_table(read_recording("k.csv", csv)); }

}  // namespace

TEST_CASE("a measured convolution is found by its exact shape, pass and type") {
  const KernelTable table = table_of(kernel_rows);
  CHECK(find_kernel(table, OpKind::conv_forward, Dtype::fp32, Layout::nchw, pointwise).duration ==
        Seconds(160 * 1e-6));
  CHECK(find_kernel(table, OpKind::conv_dgrad, Dtype::fp32, Layout::nchw, with_batch(8)).duration ==
        Seconds(90 * 1e-6));
  CHECK_FALSE(find_kernel(table, OpKind::conv_wgrad, Dtype::fp32, Layout::nchw, pointwise).duration);
  CHECK_FALSE(find_kernel(table, OpKind::conv_forward, Dtype::fp16, Layout::nchw, pointwise).duration);
  ConvShape strided = pointwise;
  strided.stride = 2;
  CHECK_FALSE(find_kernel(table, OpKind::conv_forward, Dtype::fp32, Layout::nchw, strided).duration);
}

TEST_CASE("between two measured batches the time is linear, beyond them it is only bounded") {
  const KernelTable table = table_of(kernel_rows);
  const auto find = [&](int batch) {
    return find_kernel(table, OpKind::conv_forward, Dtype::fp32, Layout::nchw, with_batch(batch));
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
  const KernelTable table = table_of(kernel_rows);
  CHECK(find_kernel(table, Dtype::fp16, GemmShape{1, 16, 1000, 2048, false, true}) == Seconds(20.5 * 1e-6));
  CHECK_FALSE(find_kernel(table, Dtype::fp16, GemmShape{1, 16, 1000, 2048, false, false}));
  CHECK_FALSE(find_kernel(table, Dtype::fp32, GemmShape{1, 16, 1000, 2048, false, true}));
  CHECK_FALSE(find_kernel(KernelTable{}, Dtype::fp32, GemmShape{1, 16, 1000, 2048, false, true}));
}

TEST_CASE("all errors of a kernel table are reported with their place") {
  try {
    table_of(
        "op,dtype,shape,time_us\nconv_forwrad,fp32,n1 c1 h1 w1 k1 r1x1 s1 p0x0,1\n"
        "gemm,fp23,m1 n1 k1 nn,1\ngemm,fp32,n1 c1 h1 w1 k1 r1x1 s1 p0x0,1\ngemm,fp32,m1 n1 k1 nn,0\n");
    FAIL("no error");
  } catch (const InputError& error) {
    const auto& found = error.diagnostics();
    REQUIRE(found.size() == 4);
    CHECK(found[0].hint == "did you mean 'conv_forward'?");
    CHECK(found[1].hint == "did you mean 'fp32'?");
    CHECK(found[1].column == 6);
    CHECK(found[2].key_path == "shape");
    CHECK(facts_in(found[2].message) == "'n1 c1 h1 w1 k1 r1x1 s1 p0x0'");
    CHECK(found[3].line == 5);
  }
}

TEST_CASE("in 16 bits a convolution counts as the fp32 kernel of its shape where that is faster") {
  const std::string shape = ",n8 c3 h32 w32 k64 r3x3 s1 p1x1,";
  const auto time_of = [&](const std::string& rows, OpKind pass, Dtype dtype) {
    const ConvShape first{8, 3, 32, 32, 64, 3, 3, 1, 1, 1};
    const KernelTable table = table_of("op,dtype,shape,time_us\n" + rows);
    return find_kernel(table, pass, dtype, Layout::nchw, first).duration.value().si() * 1e6;
  };
  const std::string slow = "conv_forward,fp16" + shape + "100\nconv_forward,fp32" + shape + "40\n";
  CHECK(time_of(slow, OpKind::conv_forward, Dtype::fp16) == doctest::Approx(40));
  CHECK(time_of(slow, OpKind::conv_forward, Dtype::fp32) == doctest::Approx(40));
  const std::string fast = "conv_forward,bf16" + shape + "20\nconv_forward,fp32" + shape + "40\n";
  CHECK(time_of(fast, OpKind::conv_forward, Dtype::bf16) == doctest::Approx(20));
  const std::string other_pass = "conv_forward,bf16" + shape + "100\nconv_wgrad,fp32" + shape + "40\n";
  CHECK(time_of(other_pass, OpKind::conv_forward, Dtype::bf16) == doctest::Approx(100));
  const std::string tf32 = "conv_forward,tf32" + shape + "100\nconv_forward,fp32" + shape + "40\n";
  CHECK(time_of(tf32, OpKind::conv_forward, Dtype::tf32) == doctest::Approx(100));  // 32 bits wide
}

TEST_CASE("the fp32 kernel that a 16-bit one counts as may lie between two measured batches") {
  const KernelTable table = table_of(
      "op,dtype,shape,time_us\n"
      "conv_forward,fp16,n12 c64 h56 w56 k256 r1x1 s1 p0x0,1000\n"
      "conv_forward,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,100\n"
      "conv_forward,fp32,n16 c64 h56 w56 k256 r1x1 s1 p0x0,160\n");
  const auto time = find_kernel(table, OpKind::conv_forward, Dtype::fp16, Layout::nchw, with_batch(12));
  REQUIRE(time.duration);
  CHECK(time.duration->si() == doctest::Approx(130e-6).epsilon(1e-12));
}

TEST_CASE("the layouts of a convolution are kept apart") {
  const KernelTable table = table_of(
      "op,variant,dtype,shape,time_us\n"
      "conv_forward,nhwc,fp16,n16 c64 h56 w56 k256 r1x1 s1 p0x0,50\n"
      "conv_forward,nchw,fp16,n16 c64 h56 w56 k256 r1x1 s1 p0x0,80\n"
      "conv_forward,nhwc,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,70\n"
      "conv_wgrad,,fp16,n16 c64 h56 w56 k256 r1x1 s1 p0x0,90\n");
  const auto find = [&](OpKind pass, Dtype dtype, Layout layout, int batch) {
    return find_kernel(table, pass, dtype, layout, with_batch(batch)).duration;
  };
  CHECK(find(OpKind::conv_forward, Dtype::fp16, Layout::nhwc, 16) == Seconds(50 * 1e-6));
  CHECK(find(OpKind::conv_forward, Dtype::fp16, Layout::nchw, 16) == Seconds(80 * 1e-6));
  CHECK(find(OpKind::conv_forward, Dtype::fp32, Layout::nhwc, 8) == Seconds(70 * 1e-6));
  CHECK_FALSE(find(OpKind::conv_forward, Dtype::fp32, Layout::nchw, 8));
  CHECK(find(OpKind::conv_wgrad, Dtype::fp16, Layout::nchw, 16) == Seconds(90 * 1e-6));  // unnamed: nchw
  CHECK_FALSE(find(OpKind::conv_wgrad, Dtype::fp16, Layout::nhwc, 16));
}

TEST_CASE("vector ops are kept with their bytes, whatever they do, and other measurements are no kernels") {
  const KernelTable table = table_of(
      "op,variant,dtype,shape,bytes,time_us\n"
      "softmax,backward w512,fp32,e1024,12288,9\n"
      "elementwise,relu,fp32,e1024,8192,5\n"
      "elementwise,add,fp32,e1024,12288,6\n"
      "elementwise,add,fp16,e1024,6144,4\n"
      "elementwise,gelu,fp32,e1024,8192,7\n"
      "reduction,sum,fp32,e1024,4096,3\n"
      "launch,latency,-,-,0,4\n"
      "copy,d2d,-,-,4096,3\n"
      "overlap,gemm h2d,fp32,m1 n1 k1 nn,12,3\n");
  CHECK(table.convs.empty());
  CHECK(table.gemms.empty());
  REQUIRE(table.vectors.size() == 5);
  std::vector<double> bytes;
  std::vector<double> microseconds;
  for (const VectorKernel& kernel : table.vectors) {
    bytes.push_back(kernel.bytes.si());
    microseconds.push_back(kernel.duration.si() * 1e6);
  }
  CHECK(bytes == std::vector<double>{6144, 8192, 8192, 12288, 12288});
  CHECK(microseconds[1] == doctest::Approx(5));  // with equal bytes, in the order of recording
  CHECK(microseconds[2] == doctest::Approx(7));
  CHECK(table.vectors[3].kind == OpKind::elementwise);
  CHECK(table.vectors[4].kind == OpKind::softmax);
}

TEST_CASE("a kernel that is listed twice is named with its recording") {
  const Diagnostic error = only_error([] {
    table_of(
        "op,variant,dtype,shape,time_us\n"
        "conv_forward,nchw,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,1\n"
        "conv_forward,nhwc,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,1\n"
        "conv_forward,-,fp32,n8 c64 h56 w56 k256 r1x1 s1 p0x0,2\n");
  });
  CHECK(facts_in(error.message) == "k.csv n8 c64 h56 w56 k256 r1x1 s1 p0x0");
  const Diagnostic gemms = only_error(
      [] { table_of("op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\ngemm,fp32,m1 n1 k1 nn,2\n"); });
  CHECK(facts_in(gemms.message) == "k.csv m1 n1 k1");
}

TEST_CASE("calls that cast their input are no kernels, and a derived time is marked") {
  const Recording recording = read_recording("r.csv",
                                             "op,variant,dtype,shape,time_us,derived\n"
                                             "gemm,with_cast,fp8,m64 n64 k64 nt,9,-\n"
                                             "gemm,-,fp8,m128 n64 k64 nt,7,yes\n"
                                             "gemm,-,bf16,m128 n64 k64 nt,8,-\n"
                                             "attention,causal,bf16,b8 m1024 n1024 k128 nt,30,-\n");
  CHECK(has_cast(recording.rows[0]));
  CHECK_FALSE(has_cast(recording.rows[1]));
  const KernelTable table = kernel_table(recording);
  REQUIRE(table.gemms.size() == 2);
  CHECK(find_product(table, Dtype::fp8, {1, 64, 64, 64, false, true}) == nullptr);
  const GemmKernel* derived = find_product(table, Dtype::fp8, {1, 128, 64, 64, false, true});
  REQUIRE(derived != nullptr);
  CHECK(derived->is_derived);
  CHECK_FALSE(find_product(table, Dtype::bf16, {1, 128, 64, 64, false, true})->is_derived);
}
