#include "workload/trace_csv.hpp"

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "workload/make_trace.hpp"
#include "workload/resnet.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::vector<Diagnostic> trace_errors(const std::string& text) {
  return errors_of([&] { read_trace("t.csv", text); });
}

const std::string header = "phase,layer,kind,flops,bytes,parameter_bytes,gradients,duration_s\n";

/// The one error of a file; fails the test if there are none or more.
Diagnostic error_of(const std::string& text) {
  const auto errors = trace_errors(text);
  REQUIRE(errors.size() == 1);
  return errors[0];
}

/// Any non-negative double a trace may hold, with many of its bits in use.
double any_number(double largest) {
  const int mantissa = *rc::gen::inRange(0, 1'000'000'000);
  const int exponent = *rc::gen::inRange(-60, 40);
  return std::min(std::ldexp(mantissa / 3.0, exponent), largest);
}

std::string any_name() {
  return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ0123456789._-:,\"# /+")));
}

Shape any_shape(OpKind kind) {
  const auto any_size = [] { return *rc::gen::inRange(1, 100'000); };
  if (kind == OpKind::conv_forward) {
    return ConvShape{.batch = any_size(),
                     .in_channels = any_size(),
                     .height = any_size(),
                     .width = any_size(),
                     .out_channels = any_size(),
                     .kernel_h = any_size(),
                     .kernel_w = any_size(),
                     .groups = any_size()};
  }
  if (kind == OpKind::gemm) {
    return GemmShape{
        .batch = any_size(), .m = any_size(), .n = any_size(), .k = any_size(), .transpose_b = true};
  }
  return VectorShape{any_number(1e15) + 1};
}

OpCommunication any_communication() {
  return {
      .operation = *rc::gen::elementOf(std::vector<Operation>{Operation::all_reduce, Operation::all_to_all}),
      .size = Bytes(1 + any_number(1e17)),
      .axis = *rc::gen::elementOf(std::vector<Axis>{Axis::all, Axis::tensor}),
      .at = *rc::gen::elementOf(std::vector<LaunchTime>{LaunchTime::start, LaunchTime::end}),
      .waits = *rc::gen::elementOf(std::vector<std::optional<int>>{std::nullopt, 0, 3})};
}

Op any_op(Phase phase, int index) {
  Op op;
  op.phase = phase;
  op.layer = any_name();
  op.kind = *rc::gen::elementOf(std::vector<OpKind>{OpKind::conv_forward, OpKind::gemm, OpKind::elementwise,
                                                    OpKind::softmax, OpKind::batch_norm_backward});
  if (*rc::gen::arbitrary<bool>()) op.shape = any_shape(op.kind);
  op.flops = Flops(any_number(1e24));
  op.bytes = Bytes(any_number(1e18));
  const int gradients = *rc::gen::inRange(0, 3);
  for (int i = 0; i < gradients; ++i) {
    op.gradients.push_back({any_name() + "#" + std::to_string(index) + "." + std::to_string(i),
                            static_cast<double>(*rc::gen::inRange(1, 100'000'000))});
  }
  if (*rc::gen::arbitrary<bool>()) {
    op.duration = Seconds(std::min(any_number(86400) + 1e-9, 86400.0));  // a trace of zeros is an error
    if (*rc::gen::arbitrary<bool>()) op.source = ComputeSource::roofline;
  }
  if (op.phase != Phase::optimizer && *rc::gen::arbitrary<bool>()) {
    op.communications = {any_communication(), {.size = Bytes(7)}};
  }
  return op;
}

}  // namespace

TEST_CASE("a trace reads back equal to the bit") {
  CHECK(rc::check([] {
    Trace trace;
    trace.model = *rc::gen::elementOf(std::vector<std::string>{"resnet50", "my model", ""});
    trace.batch_per_gpu = *rc::gen::inRange(0, 4096);
    trace.precision = *rc::gen::elementOf(std::vector<Precision>{Precision::fp32, Precision::amp_bf16});
    int index = 0;
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
      const int ops = *rc::gen::inRange(1, 4);
      for (int i = 0; i < ops; ++i) trace.ops.push_back(any_op(phase, index++));
    }
    RC_ASSERT(read_trace("t.csv", write_trace(trace)) == trace);
  }));
}

TEST_CASE("a model's trace reads back equal to the bit") {
  const Model model{"resnet", "", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  Trace trace = make_trace(model, 96, Precision::amp, Optimizer::adam);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops[i].duration = Seconds(1e-6 / static_cast<double>(i + 3));
    trace.ops[i].source = ComputeSource::fitted;
    trace.ops[i].of_layer = -1;  // not part of a file
  }
  CHECK(read_trace("t.csv", write_trace(trace)) == trace);
}

TEST_CASE("the export names its version, what it is a trace of, and its columns") {
  const Model model{"net", "", {linear_layer("fc", 3, 2)}, std::nullopt};
  CHECK(
      write_trace(make_trace(model, 2, Precision::fp32, Optimizer::sgd)) ==
      "# trainyard trace: 1\n"
      "# model: net\n"
      "# batch_per_gpu: 2\n"
      "# precision: fp32\n"
      "phase,layer,kind,shape,flops,bytes,parameter_bytes,gradients,duration_s,duration_source,communication,"
      "communication_bytes\n"
      "forward,fc,gemm,m2 n2 k3 nt,24,72,,,,,,\n"
      "backward,fc,gemm,m2 n3 k2 nn,24,72,,,,,,\n"
      "backward,fc,gemm,m2 n3 k2 tn,24,72,32,fc.bias:2;fc.weight:6,,,,\n"
      "optimizer,optimizer,optimizer,e8,16,96,,,,,,\n");
}

TEST_CASE("a user's trace needs phases, layers and durations only") {
  const Trace trace = read_trace("t.csv",
                                 "phase,layer,duration_s\r\nforward,all of it,0.1\r\n"
                                 "backward,all of it,2e-1\r\noptimizer,\"sgd, fused\",1e-3\r\n");
  REQUIRE(trace.ops.size() == 3);
  CHECK(trace.batch_per_gpu == 0);
  CHECK(!trace.precision.has_value());
  CHECK(trace.ops[0].kind == OpKind::measured);
  CHECK(trace.ops[0].duration == Seconds(0.1));
  CHECK_FALSE(trace.ops[0].source.has_value());
  CHECK(trace.ops[2].layer == "sgd, fused");
}

TEST_CASE("parameter bytes alone make one gradient per row") {
  const Trace trace = read_trace("t.csv",
                                 "phase,layer,duration_s,parameter_bytes\nforward,a,1,\n"
                                 "backward,b,2,400\nbackward,b,1,0\nbackward,b,1,8\n");
  CHECK(trace.ops[0].gradients.empty());
  CHECK(trace.ops[1].gradients == std::vector<Gradient>{{"b#3", 100}});
  CHECK(trace.ops[2].gradients.empty());
  CHECK(trace.ops[3].gradients == std::vector<Gradient>{{"b#5", 2}});
}

TEST_CASE("parameter bytes that contradict the gradients are an error") {
  const Diagnostic error = error_of(header + "backward,fc,gemm,1,1,404,fc.bias:1;fc.weight:99,\n");
  CHECK(error.line == 2);
  CHECK(error.column == 22);
  CHECK(error.width == 3);
  CHECK(error.key_path == "parameter_bytes");
  CHECK(error.message.starts_with("404 bytes"));
  CHECK(error.message.find("100 values") != std::string::npos);
}

TEST_CASE("unknown, repeated and missing columns are reported together") {
  const auto errors = trace_errors("phase,layr,kind,kind,flop\n");
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].message.find("'layr'") != std::string::npos);
  CHECK(errors[0].hint == "did you mean 'layer'?");
  CHECK(errors[0].column == 7);
  CHECK(errors[1].message.find("'kind'") != std::string::npos);
  CHECK(errors[1].column == 17);
  CHECK(errors[2].hint == "did you mean 'flops'?");
  CHECK(errors[3].message.find("'layer'") != std::string::npos);
  const std::string neither = trace_errors("phase,layer\nforward,a\n").at(0).message;
  CHECK(neither.find("'kind'") != std::string::npos);
  CHECK(neither.find("'duration_s'") != std::string::npos);
}

TEST_CASE("all bad cells of a trace are reported, each at its place") {
  const auto errors = trace_errors(header +
                                   "foreward,a,gem,1,1,,,\n"
                                   "backward,b,gemm,-1,nan,,,\n"
                                   "backward,c,gemm,1e30,1 GB,,,\n"
                                   "backward,d,,,,,,35.2us\n"
                                   "backward,e,,,,3,,1\n"
                                   "backward,f,,,,,x:1.5;y;:3,1\n");
  REQUIRE(errors.size() == 11);
  CHECK(errors[0].key_path == "phase");
  CHECK(errors[0].hint == "did you mean 'forward'?");
  CHECK(errors[1].key_path == "kind");
  CHECK(errors[1].hint == "did you mean 'gemm'?");
  CHECK(errors[2].message.find("'-1'") != std::string::npos);
  CHECK(errors[2].line == 3);
  CHECK(errors[2].column == 17);
  CHECK(errors[3].key_path == "bytes");
  CHECK(errors[4].key_path == "flops");
  CHECK(errors[4].message.find("'1e30'") != std::string::npos);
  CHECK(errors[5].column == 22);
  CHECK(errors[6].key_path == "duration_s");
  CHECK(errors[7].key_path == "parameter_bytes");
  for (std::size_t i = 8; i < 11; ++i) CHECK(errors[i].key_path == "gradients");
  CHECK(errors[8].message.starts_with("'x:1.5' "));
  CHECK(errors[9].message.starts_with("'y' "));
  CHECK(errors[10].message.starts_with("':3' "));
}

TEST_CASE("durations in another unit than seconds are noticed") {
  const Diagnostic error = error_of("phase,layer,duration_s\nforward,a,352000\n");
  CHECK(error.key_path == "duration_s");
  CHECK(error.message.find("'352000'") != std::string::npos);
  CHECK(error.hint.find("35.2e-6") != std::string::npos);
}

TEST_CASE("an op without work and without a duration is an error") {
  CHECK(error_of(header + "forward,a,,1,1,,,\n").key_path == "duration_s");
  CHECK(error_of(header + "forward,a,measured,1,1,,,\n").key_path == "duration_s");
  CHECK(error_of(header + "forward,a,gemm,,,,,\n").key_path == "kind");
  CHECK(error_of(header + ",a,gemm,1,1,,,\n").key_path == "phase");
}

TEST_CASE("phases out of order are an error") {
  const Diagnostic error = error_of("phase,layer,duration_s\nforward,a,1\noptimizer,o,1\nbackward,a,1\n");
  CHECK(error.line == 4);
  CHECK(error.key_path == "phase");
}

TEST_CASE("a gradient is completed once in each micro-batch") {
  const Diagnostic error = error_of(header + "backward,a,,,,,w:1,1\nbackward,b,,,,,w:1,1\n");
  CHECK(error.line == 3);
  CHECK(error.key_path == "gradients");
  CHECK(error.message.find("'w'") != std::string::npos);
  const std::string micro_batch = "forward,a,,,,,,1\nbackward,a,,,,,w:1,1\n";
  CHECK(read_trace("t.csv", "# accumulation: 2\n" + header + micro_batch + micro_batch).ops.size() == 4);
}

TEST_CASE("a collective and its bytes come together") {
  const std::string columns = "phase,layer,duration_s,communication,communication_bytes\n";
  CHECK(read_trace("t.csv", columns + "backward,a,1,all_reduce,100\n").ops[0].communications ==
        std::vector{OpCommunication{.size = Bytes(100)}});
  CHECK(read_trace("t.csv", columns + "backward,a,1,all_reduce,100;20\n").ops[0].communications ==
        std::vector{OpCommunication{.size = Bytes(100)}, OpCommunication{.size = Bytes(20)}});
  CHECK(error_of(columns + "backward,a,1,all_reduce,100;\n").key_path == "communication_bytes");
  CHECK(error_of(columns + "backward,a,1,all_reduce,0\n").key_path == "communication_bytes");
  CHECK(error_of(columns + "optimizer,a,1,all_reduce,9\n").key_path == "communication");
  CHECK(error_of(columns + "backward,a,0,,\n").hint.find("duration_s") != std::string::npos);
  CHECK(error_of(columns + "backward,a,1,all_reduce,\n").key_path == "communication");
  CHECK(error_of(columns + "backward,a,1,,100\n").key_path == "communication_bytes");
  CHECK(error_of(columns + "backward,a,1,all_redcue,9\n").hint == "did you mean 'all_reduce'?");
}

TEST_CASE("a trace says which ranks take part in a collective and which op waits for it") {
  const std::string columns = "phase,layer,duration_s,communication,communication_bytes,group,waits,launch\n";
  const auto of = [&](const std::string& line) {
    return read_trace("t.csv", columns + line).ops[0].communications;
  };
  CHECK(of("forward,a,1,all_to_all,8,,,\n").front().waits == 0);
  CHECK_FALSE(of("forward,a,1,all_to_all,8,,optimizer,\n").front().waits);
  CHECK(of("backward,a,1,all_gather,8,expert,,\n").front() ==
        OpCommunication{
            .operation = Operation::all_gather, .size = Bytes(8), .axis = Axis::expert, .waits = 0});
  const auto both = of("backward,a,1,all_gather;reduce_scatter,8;9,tensor,1;2,start;end\n");
  REQUIRE(both.size() == 2);
  CHECK(both[0].at == LaunchTime::start);
  CHECK(both[1] ==
        OpCommunication{
            .operation = Operation::reduce_scatter, .size = Bytes(9), .axis = Axis::tensor, .waits = 2});
  CHECK(error_of(columns + "backward,a,1,all_gather,8,tensr,,\n").hint == "did you mean 'tensor'?");
  CHECK(error_of(columns + "backward,a,1,all_gather,8,,-1,\n").key_path == "waits");
  CHECK(error_of(columns + "backward,a,1,all_gather,8;9;10,,1;2,\n").key_path == "waits");
  CHECK(error_of(columns + "backward,a,1,,,tensor,,\n").key_path == "group");
}

TEST_CASE("a trace without ops is an error") {
  CHECK(error_of(header).message == "the trace has no ops");
  CHECK(error_of("").message == "the file is empty");
}

TEST_CASE("what the leading comments say is checked") {
  const std::string body = "phase,layer,duration_s\nforward,a,1\n";
  const Trace trace = read_trace(
      "t.csv", "# a note\n# host: box7\n# model: net\n#batch_per_gpu: 32\n# precision: amp\n" + body);
  CHECK(trace.model == "net");
  CHECK(trace.batch_per_gpu == 32);
  CHECK(trace.precision == Precision::amp);
  CHECK(error_of("# trainyard trace: 2\n" + body).message.find("'2'") != std::string::npos);
  CHECK(error_of("# batch_per_gpu: 0\n" + body).column == 18);
  CHECK(error_of("# precision: fp23\n" + body).hint == "did you mean 'fp32'?");
}

TEST_CASE("no text breaks the reader: it reads or says what is wrong") {
  const Model model{"net", "", {linear_layer("fc", 3, 2)}, std::nullopt};
  const std::string good = write_trace(make_trace(model, 2, Precision::fp32, Optimizer::sgd));
  CHECK(rc::check([&] {
    std::string text = good;
    const int edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size())));
      const int length = *rc::gen::inRange(0, 3);
      text.replace(at, static_cast<std::size_t>(length),
                   *rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    }
    try {
      const Trace trace = read_trace("t.csv", text);
      RC_ASSERT(read_trace("t.csv", write_trace(trace)) == trace);
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().empty());
    }
  }));
}

TEST_CASE("a shape must be one that the op's kind has") {
  const std::string columns = "phase,layer,kind,shape,flops\n";
  const Diagnostic conv = error_of(columns + "forward,a,conv_forward,m128 n1000 k2048 nt,1\n");
  CHECK(conv.key_path == "shape");
  CHECK(conv.message.find("conv_forward") != std::string::npos);
  CHECK(conv.hint == "for example n128 c64 h56 w56 k256 r1x1 s1 p0x0");
  CHECK(error_of(columns + "forward,a,gemm,e100,1\n").hint == "for example m128 n1000 k2048 nt");
  CHECK(error_of(columns + "forward,a,softmax,m1 n1 k1 nn,1\n").hint == "for example e802816");
  CHECK(error_of(columns + "forward,a,conv_froward,e100,1\n").key_path == "kind");
}

TEST_CASE("ends of messages are written as they are read, with their defaults") {
  const std::string text =
      "# trainyard trace: 1\n"
      "phase,layer,kind,shape,flops,bytes,parameter_bytes,gradients,duration_s,duration_source,communication,"
      "communication_bytes,peer\n"
      "forward,a,measured,,0,0,,,0.5,,recv;send,1000;2000,-1;+1\n"
      "backward,b,measured,,0,0,,,0.5,,send,2000,0\n";
  const Trace trace = read_trace("t.csv", text);
  const std::vector<OpCommunication>& ends = trace.ops[0].communications;
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].operation == Operation::send_recv);
  CHECK(ends[0].message == MessageEnd{.sends = false, .peer = {.is_relative = true, .place = -1}});
  CHECK(ends[0].at == LaunchTime::start);
  CHECK(ends[0].waits == 0);
  CHECK(ends[1].message == MessageEnd{.sends = true, .peer = {.is_relative = true, .place = 1}});
  CHECK(ends[1].at == LaunchTime::end);
  CHECK(ends[1].size == Bytes(2000));
  CHECK(trace.ops[1].communications[0].message ==
        MessageEnd{.sends = true, .peer = {.is_relative = false, .place = 0}});
  CHECK(trace.ops[1].communications[0].waits == 0);  // of a reduction in backward only the optimizer
  CHECK(trace.ops[0].line.number == 3);
  CHECK(trace.ops[1].line.number == 4);
  CHECK(write_trace(trace) == text);
}

TEST_CASE("a message needs a peer, and only messages have one") {
  const auto line = [](const std::string& cells) {
    return "phase,layer,duration_s,communication,communication_bytes,peer\nforward,a,0.5," + cells + "\n";
  };
  CHECK(error_of(line("send,1000,")).message.find("no peer") != std::string::npos);
  CHECK(error_of(line("all_reduce,1000,+1")).key_path == "peer");
  CHECK(error_of(line(",,+1")).key_path == "peer");
  for (const char* peer : {"+0", "-0", "next", "+", "1.5", "+-1", "-+1", "++1", "--1"}) {
    CAPTURE(peer);
    CHECK(error_of(line("send,1000," + std::string(peer))).key_path == "peer");
  }
  CHECK(error_of(line("sned,1000,")).hint.find("send") != std::string::npos);
  CHECK(error_of(line("recv;send,1000;1000,+1;")).key_path == "peer");
  CHECK(error_of(line("all_reduce;send,1000;1000,+1;+1")).message.find("peer of a collective") !=
        std::string::npos);
}

TEST_CASE("a trace states the samples of an epoch, also more than an int holds, and reads what it wrote") {
  const std::string header = "phase,layer,duration_s\nforward,everything,0.1\n";
  const Trace trace = read_trace("t.csv", "# samples_per_epoch: 4195197692\n" + header);
  CHECK(trace.samples_per_epoch == 4'195'197'692);
  CHECK(read_trace("t.csv", write_trace(trace)) == trace);
  CHECK_FALSE(read_trace("t.csv", header).samples_per_epoch);
  const Diagnostic error = only_error([&] { read_trace("t.csv", "# samples_per_epoch: many\n" + header); });
  CHECK(error.line == 1);
}

TEST_CASE("a trace states the memory of a rank, and reads what it wrote") {
  const std::string header = "phase,layer,duration_s\nforward,everything,0.1\n";
  const Trace trace = read_trace("t.csv", "# memory_bytes: 17179869184\n" + header);
  CHECK(trace.memory == Bytes(17'179'869'184.0));
  CHECK(read_trace("t.csv", write_trace(trace)) == trace);
  CHECK_FALSE(read_trace("t.csv", header).memory);
  const Diagnostic error = only_error([&] { read_trace("t.csv", "# memory_bytes: 16 GB\n" + header); });
  CHECK(error.message == "'16 GB' is not a number of bytes");
}
