#include "workload/accumulate.hpp"

#include "config/diagnostic.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Trace one_micro_batch() {
  return read_trace("t.csv",
                    "phase,layer,kind,bytes,parameter_bytes\n"
                    "forward,a,elementwise,100,\nbackward,a,elementwise,200,4000\n"
                    "optimizer,update,optimizer,300,\n");
}

}  // namespace

TEST_CASE("micro-batches repeat forward and backward, add gradients up and complete them in the last") {
  Trace trace = one_micro_batch();
  accumulate(trace, 3, Bytes(4));
  CHECK(trace.accumulation == 3);
  REQUIRE(trace.ops.size() == 9);
  const auto additions = std::count_if(trace.ops.begin(), trace.ops.end(), [](const Op& op) {
    return op.layer == "gradient_accumulation" && op.bytes == Bytes(3 * 4 * 1000);
  });
  CHECK(additions == 2);
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    CHECK(trace.ops[i].gradients.size() == (i == 7 ? 1U : 0U));
  CHECK(trace.ops[8].phase == Phase::optimizer);
}

TEST_CASE("kernels that add gradients themselves need no additions") {
  Trace trace = one_micro_batch();
  accumulate(trace, 3, Bytes(4), {.fuses_additions = true});
  CHECK(trace.ops.size() == 7);
  CHECK(std::ranges::none_of(trace.ops, is_gradient_addition));
}

TEST_CASE("every micro-batch has the collectives within a model, only the last those of the gradients") {
  Trace trace = one_micro_batch();
  const OpCommunication inside{
      .operation = Operation::all_reduce, .size = Bytes(8), .axis = Axis::tensor, .waits = 0};
  trace.ops[1].communications = {{.operation = Operation::all_reduce, .size = Bytes(4000)}, inside};
  accumulate(trace, 2, Bytes(4));
  CHECK(trace.ops[1].communications == std::vector<OpCommunication>{inside});
  CHECK(trace.ops[4].communications.size() == 2);
}

TEST_CASE("one micro-batch stays as it is, none or a second time is an error") {
  Trace trace = one_micro_batch();
  accumulate(trace, 1, Bytes(4));
  CHECK(trace == one_micro_batch());
  CHECK_THROWS_AS(accumulate(trace, 0, Bytes(4)), InputError);
  accumulate(trace, 2, Bytes(4));
  CHECK_THROWS_AS(accumulate(trace, 2, Bytes(4)), InputError);
}

TEST_CASE(
    "an accumulated trace reads back equal, and forward after backward is an error without the comment") {
  Trace trace = one_micro_batch();
  accumulate(trace, 2, Bytes(4));
  const std::string text = write_trace(trace);
  CHECK(text.find("# accumulation: 2\n") != std::string::npos);
  CHECK(read_trace("t.csv", text) == trace);
  CHECK_THROWS_AS(read_trace("t.csv", "phase,layer,duration_s\nforward,a,1\nbackward,a,1\nforward,a,1\n"),
                  InputError);
}

TEST_CASE("where every micro-batch is reduced each completes its gradients, and they are still added up") {
  Trace trace = one_micro_batch();
  trace.ops[1].communications = {{.operation = Operation::all_reduce, .size = Bytes(4000)}};
  const Op backward = trace.ops[1];
  accumulate(trace, 3, Bytes(4), {.reduces_each = true});
  REQUIRE(trace.ops.size() == 9);
  for (const std::size_t i : {1U, 4U, 7U}) CHECK(trace.ops[i] == backward);
  CHECK(trace.ops[5].layer == "gradient_accumulation");
}
