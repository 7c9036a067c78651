#include "compute/recording.hpp"

#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

const std::string recording_header = "op,variant,dtype,shape,bytes,time_us\n";

std::vector<Diagnostic> recording_errors(const std::string& text) {
  return errors_of([&] { read_recording("runs/r.csv", text); });
}

/// The only error of a recording with one row.
Diagnostic error_in_row(const std::string& row) {
  const auto errors = recording_errors(recording_header + row + "\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].file == "runs/r.csv");
  CHECK(errors[0].line == 2);
  return errors[0];
}

RecordedKernel recorded(const std::string& row) {
  const Recording recording = read_recording("r.csv", recording_header + row + "\n");
  REQUIRE(recording.rows.size() == 1);
  return recording.rows[0];
}

}  // namespace

TEST_CASE("a recording says where and with what it was measured") {
  const Recording recording = read_recording("/some/folder/h100.csv",
                                             "# gpu: NVIDIA H100 80GB HBM3\n"
                                             "# compute_capability: 9.0\n"
                                             "# sm_count: 132\n"
                                             "# sm_clock: 1980 MHz\n"
                                             "# memory_capacity: 81559 MiB\n"
                                             "# memory_bandwidth: 3352 GB/s\n"
                                             "# l2_cache: 50 MiB\n"
                                             "# power_limit: 700 W\n"
                                             "# driver: 580.65.06\n"
                                             "# cuda: 13.0\n"
                                             "# cublaslt: 13.0.0\n"
                                             "# cudnn: 9.13.0\n"
                                             "# nccl: 2.27.7\n"
                                             "# date: 2026-11-21\n"
                                             "# source: a test: of facts\n"
                                             "op,dtype,shape,time_us\n");
  CHECK(recording.name == "h100.csv");
  CHECK(recording.rows.empty());
  const RecordingFacts& facts = recording.facts;
  CHECK(facts.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(facts.compute_capability == 9.0);
  CHECK(facts.sm_count == 132);
  CHECK(facts.sm_clock_mhz == 1980);
  CHECK(facts.memory_capacity == Bytes(81559 * 1048576.0));
  CHECK(facts.memory_bandwidth == Bandwidth(3352e9));
  CHECK(facts.power_limit == Watts(700));
  CHECK(facts.driver == "580.65.06");
  CHECK(facts.cuda == "13.0");
  CHECK(facts.cublaslt == "13.0.0");
  CHECK(facts.cudnn == "9.13.0");
  CHECK(facts.nccl == "2.27.7");
  CHECK(facts.date == "2026-11-21");
  CHECK(facts.source == "a test: of facts");
  CHECK_FALSE(facts.is_framework_timing);
}

TEST_CASE("a fact that a recording leaves out stays empty") {
  const RecordingFacts facts = read_recording("r.csv", recording_header).facts;
  CHECK(facts.gpu.empty());
  CHECK(facts.driver.empty());
  CHECK_FALSE(facts.compute_capability);
  CHECK_FALSE(facts.sm_count);
  CHECK_FALSE(facts.sm_clock_mhz);
  CHECK_FALSE(facts.memory_capacity);
  CHECK_FALSE(facts.memory_bandwidth);
  CHECK_FALSE(facts.power_limit);
}

TEST_CASE("a framework's timing is told apart from that of kernels alone") {
  CHECK(read_recording("r.csv", "# timing: framework\n" + recording_header).facts.is_framework_timing);
  CHECK_FALSE(read_recording("r.csv", "# timing: kernels\n" + recording_header).facts.is_framework_timing);
}

TEST_CASE("facts that cannot be read are errors where they stand") {
  const auto errors = recording_errors(
      "# sm_clock: fast\n# memory_bandwidth: 3352\n# sm_count: many\n# power_limit: 700 GB\n" +
      recording_header);
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].line == 1);
  CHECK(errors[0].column == 13);
  CHECK(errors[0].width == 4);
  CHECK(errors[0].key_path == "sm_clock");
  CHECK(facts_in(errors[0].message) == "'fast' 0");
  CHECK(errors[0].hint == "for example 1530 MHz");
  CHECK(errors[1].line == 2);
  CHECK(errors[1].key_path == "memory_bandwidth");
  CHECK(errors[2].key_path == "sm_count");
  CHECK(errors[3].key_path == "power_limit");
}

TEST_CASE("the columns of a recording may stand in any order, and most may be missing") {
  const Recording recording = read_recording("r.csv",
                                             "time_us,clock_mhz,shape,op,error,dtype,repetitions,spread_us\n"
                                             "20.5,1380,m16 n1000 k2048 nt,gemm,0.0004,fp16,100,0.3\n");
  REQUIRE(recording.rows.size() == 1);
  const RecordedKernel& kernel = recording.rows[0];
  CHECK(kernel.op == "gemm");
  CHECK(kernel.kind == OpKind::gemm);
  CHECK(kernel.variant.empty());
  CHECK(kernel.dtype == Dtype::fp16);
  CHECK(kernel.shape == Shape(GemmShape{1, 16, 1000, 2048, false, true}));
  CHECK(kernel.time == Seconds(20.5 * 1e-6));
  CHECK(kernel.line == 2);
}

TEST_CASE("where no bytes are given they follow from the shape") {
  const Bytes product((16.0 * 2048 + 2048 * 1000 + 16 * 1000) * 2);
  CHECK(recorded("gemm,-,fp16,m16 n1000 k2048 nt,,20.5").bytes == product);
  CHECK(recorded("gemm,-,fp16,m16 n1000 k2048 nt,0,20.5").bytes == product);
  CHECK(recorded("gemm,-,fp16,m16 n1000 k2048 nt,-,20.5").bytes == product);
  CHECK(recorded("gemm,-,fp16,m16 n1000 k2048 nt,1234,20.5").bytes == Bytes(1234));
  const Bytes conv((2.0 * 64 * 56 * 56 + 2.0 * 256 * 56 * 56 + 64 * 256) * 4);
  CHECK(recorded("conv_wgrad,nhwc,tf32,n2 c64 h56 w56 k256 r1x1 s1 p0x0,,9").bytes == conv);
}

TEST_CASE("measurements that are no op of a trace are read with a dash for what they lack") {
  const RecordedKernel launch = recorded("launch,latency,-,-,0,4.25");
  CHECK(launch.op == "launch");
  CHECK(launch.variant == "latency");
  CHECK_FALSE(launch.kind);
  CHECK_FALSE(launch.dtype);
  CHECK(launch.shape == Shape());
  CHECK(launch.bytes == Bytes());
  CHECK(recorded("copy,h2d_pinned,-,-,65536,9.5").bytes == Bytes(65536));
  CHECK(recorded("gemm,-,fp32,m1 n1 k1 nn,12,1").variant.empty());
  CHECK_FALSE(recorded("reduction,sum,fp32,e1024,4096,3").kind);
  CHECK(recorded("layer_norm,backward w1024,bf16,e2048,12288,3").kind == OpKind::layer_norm);
}

TEST_CASE("power is read where it was measured") {
  const Recording recording = read_recording("r.csv",
                                             "op,variant,dtype,shape,time_us,power_w\n"
                                             "power,gemm,-,-,2000000,651.5\n"
                                             "power,idle,-,-,2000000,\n");
  REQUIRE(recording.rows.size() == 2);
  CHECK(recording.rows[0].power == Watts(651.5));
  CHECK_FALSE(recording.rows[1].power);
}

TEST_CASE("all that is wrong with the header of a recording is told at once") {
  const auto errors = recording_errors("op,dtype,dtype,shpae\ngemm,x,x,y\n");
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].line == 1);
  CHECK(errors[0].column == 10);
  CHECK(facts_in(errors[0].message) == "'dtype'");
  CHECK(errors[1].column == 16);
  CHECK(errors[1].message == "unknown column 'shpae'");
  CHECK(errors[1].hint == "did you mean 'shape'?");
  CHECK(errors[2].message == "column 'shape' is missing");
  CHECK(errors[3].message == "column 'time_us' is missing");
}

TEST_CASE("an empty recording is an error of the whole file") {
  const auto errors = recording_errors("# gpu: none\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message == "the file is empty");
}

TEST_CASE("a row that is wrong is told with its column, what it holds and what to write") {
  const Diagnostic op = error_in_row("sotfmax,-,fp32,e1,4,1");
  CHECK(op.column == 1);
  CHECK(op.message == "unknown op 'sotfmax'");
  CHECK(op.hint == "did you mean 'softmax'?");
  const Diagnostic dtype = error_in_row("gemm,-,fp61,m1 n1 k1 nn,4,1");
  CHECK(dtype.column == 8);
  CHECK(dtype.message == "unknown data type 'fp61'");
  CHECK(dtype.hint == "did you mean 'fp16'?");
  const Diagnostic dash = error_in_row("gemm,-,-,m1 n1 k1 nn,4,1");
  CHECK(dash.key_path == "dtype");
  const Diagnostic conv = error_in_row("conv_dgrad,nchw,fp32,m1 n1 k1 nn,4,1");
  CHECK(conv.column == 22);
  CHECK(facts_in(conv.message) == "'m1 n1 k1 nn'");
  CHECK(conv.hint == "for example n16 c64 h56 w56 k256 r1x1 s1 p0x0");
  CHECK(error_in_row("gemm,-,fp32,e16,4,1").hint == "for example m128 n1000 k2048 nt");
  CHECK(error_in_row("softmax,-,fp32,m1 n1 k1 nn,4,1").hint == "for example e1048576");
  CHECK(error_in_row("launch,rate,-,nonsense,0,1").key_path == "shape");
}

TEST_CASE("times, bytes and power must be numbers above 0") {
  CHECK(error_in_row("launch,rate,-,-,0,").key_path == "time_us");
  CHECK(error_in_row("launch,rate,-,-,0,0").key_path == "time_us");
  const Diagnostic negative = error_in_row("launch,rate,-,-,0,-3");
  CHECK(negative.key_path == "time_us");
  CHECK(negative.column == 19);
  CHECK(facts_in(negative.message) == "'-3'");
  for (const std::string time : {"fast", "nan", "1e10"}) {
    const Diagnostic wrong = error_in_row("launch,rate,-,-,0," + time);
    CHECK(wrong.key_path == "time_us");
    CHECK(facts_in(wrong.message) == "'" + time + "'");
  }
  CHECK(error_in_row("copy,d2d,-,-,-1,1").key_path == "bytes");
  const Diagnostic bytes = error_in_row("elementwise,add,fp32,e1024,,2");
  CHECK(bytes.key_path == "shape");
  CHECK(bytes.hint == "add a column 'bytes'");
}

TEST_CASE("all wrong rows of a recording are told at once, up to fifty") {
  std::string text = recording_header;
  for (int i = 0; i < 60; ++i) text += "gemm,-,fp32,m1 n1 k1 nn,4,wrong\n";
  const auto errors = recording_errors(text + "short\n");
  REQUIRE(errors.size() == 51);
  CHECK(errors[0].line == 62);  // rows of the wrong length are found when the file is split
  CHECK(errors[1].line == 2);
  CHECK(errors[49].line == 50);
  CHECK(errors[50].message == "and 11 more errors");
}

TEST_CASE("a recording may have Windows line ends, quotes and a byte order mark") {
  const Recording recording = read_recording(
      "r.csv", "\xEF\xBB\xBF# gpu: T4\r\nop,dtype,shape,time_us\r\n\"gemm\",fp32,\"m1 n2 k3 tn\",7\r\n");
  CHECK(recording.facts.gpu == "T4");
  REQUIRE(recording.rows.size() == 1);
  CHECK(recording.rows[0].shape == Shape(GemmShape{1, 1, 2, 3, true, false}));
}

TEST_CASE("a recording that is written reads back to the same facts and rows") {
  const std::string text =
      "# gpu: NVIDIA H100 80GB HBM3\n# compute_capability: 9\n# sm_count: 132\n# sm_clock: 1980 MHz\n"
      "# memory_capacity: 80 GiB\n# memory_bandwidth: 3.352 TB/s\n# power_limit: 700 W\n# driver: 580.65.06\n"
      "# cuda: 13.0\n# cublaslt: 13.1\n# cudnn: 9.1\n# nccl: 2.27\n# date: 2026-01-31\n# timing: framework\n"
      "# source: a test\n"
      "op,variant,dtype,shape,bytes,time_us\n"
      "gemm,-,bf16,b2 m128 n1000 k2048 nt,10082304,12.3457\n"
      "conv_forward,nhwc,fp16,n1 c64 h56 w56 k64 r3x3 s1 p1x1,876544,20.5\n"
      "softmax,forward w1024,fp32,e65536,524288,3.1\n"
      "launch,graph,-,-,0,1.5\n";
  CHECK(recording_text(read_recording("r.csv", text)) == text);
}

TEST_CASE("derived times, casts and attention of a recording are written and checked") {
  const std::string text =
      "op,variant,dtype,shape,bytes,time_us,derived\n"
      "gemm,-,fp8,m128 n64 k64 nt,28672,7,yes\n"
      "attention,causal,bf16,b8 m1024 n1024 k128 nt,8388608,30,-\n";
  CHECK(recording_text(read_recording("r.csv", text)) == text);
  const Recording without_bytes = read_recording(
      "r.csv", "op,variant,dtype,shape,time_us\nattention,causal,bf16,b8 m1024 n1024 k128 nt,30\n");
  CHECK(without_bytes.rows[0].bytes == Bytes(8388608));
  CHECK(error_in_row("gemm,with_cast,bf16,m64 n64 k64 nt,,9").key_path == "variant");
  CHECK(error_in_row("attention,-,bf16,b8 m1024 n1024 k128 nt,,9").key_path == "op");
  CHECK(error_in_row("attention,causal,bf16,e1024,,9").key_path == "shape");
}
