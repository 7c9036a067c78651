#include "report/memory_table.hpp"

#include "has_all.hpp"
#include "sample.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;

TEST_CASE("the memory table has a line per term, their sum, the capacity and the verdict") {
  CHECK(memory_table("tiny", *sample_result().memory) == R"(tiny: memory of one rank, batch_per_gpu 64

term                        bytes    share
------------------------------------------
parameters                 400 MB    2.5 %  weights, and their 16-bit copy under autocast
gradients                  400 MB    2.5 %  one per parameter
optimizer_state            800 MB    5.0 %  moments, and fp32 master weights
activations                  3 GB   18.8 %  kept for backward, and the largest transient
workspace                   10 MB    0.1 %  scratch space of cuDNN and cuBLAS
context                    300 MB    1.9 %  CUDA context and libraries
gradient_buckets           400 MB    2.5 %  copies of gradients to be reduced
communication_buffers       50 MB    0.3 %  NCCL's channels
------------------------------------------
peak                      5.36 GB   33.5 %  at the start of the backward pass
capacity                    16 GB  100.0 %  toy_gpu

batch_per_gpu 64 fits; the largest batch_per_gpu that fits is 290
note: memory: 10 MB of workspace are assumed
)");
}

TEST_CASE("a step that does not fit has the same table and another verdict") {
  MemoryReport report = *sample_result().memory;
  report.fits = false;
  report.capacity = Bytes(4e9);
  report.largest_batch = 0;
  const std::string table = memory_table("tiny", report);
  CHECK(table.find("peak                      5.36 GB  134.0 %") != std::string::npos);
  const std::string verdict = table.substr(table.find("\n\nbatch_per_gpu") + 2);
  CAPTURE(verdict);
  CHECK(has_all(verdict, "batch_per_gpu 64 ", "toy_gpu", "5.36 GB", "1.36 GB", "4 GB", "activations, 3 GB",
                "2.41 GB", "optimizer_state, 800 MB"));
}

TEST_CASE("memory as JSON has the names of the summary") {
  const auto json = memory_json("tiny", *sample_result().memory);
  CHECK(json["experiment"] == "tiny");
  CHECK(json["memory"]["optimizer_state"] == 8e8);
  CHECK(json["memory_peak_bytes"] == 5.36e9);
  CHECK(json["memory_capacity_bytes"] == 16e9);
  CHECK(json["fits"] == true);
  CHECK(json["largest_term"] == "activations");
  CHECK(json["largest_batch_per_gpu"] == 290);
}
