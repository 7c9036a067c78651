#include "report/memory_page.hpp"

#include "document/writers.hpp"
#include "has_all.hpp"
#include "sample.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;

TEST_CASE("the memory table has a line per term, their sum, the capacity and the verdict") {
  CHECK(doc::text(memory_document("tiny", {sample_result().memory->front()})) ==
        R"(tiny: memory of one rank, batch_per_gpu 64 (1 GB = 2^30 bytes)

term                       memory    share
------------------------------------------
parameters                0.37 GB    2.5 %  weights, and their 16-bit copy under autocast
gradients                 0.37 GB    2.5 %  one value per parameter
optimizer_state           0.75 GB    5.0 %  momentum or moments, and fp32 master weights
activations               2.79 GB   18.8 %  values kept for backward, and the largest temporary ones
workspace                 0.01 GB    0.1 %  scratch space of cuDNN and cuBLAS
context                   0.28 GB    1.9 %  CUDA context and libraries
gradient_buckets          0.37 GB    2.5 %  copies of the gradients to reduce
communication_buffers     0.05 GB    0.3 %  buffers of NCCL's channels
fragmentation             0.00 GB    0.0 %  held by the allocator, but not used by tensors
------------------------------------------
peak                      4.99 GB   33.5 %  at the fullest moment of a step
capacity                 14.90 GB  100.0 %  toy_gpu

batch_per_gpu 64 fits; the largest batch_per_gpu that fits is 290
note: memory: 10 MB of workspace are assumed
)");
}

TEST_CASE("a step that does not fit has the same table, and its verdict is the error") {
  MemoryReport report = sample_result().memory->front();
  report.fits = false;
  report.capacity = report.available = Bytes(4e9);
  report.largest_batch = 0;
  const std::string table = doc::text(memory_document("tiny", {report}));
  CHECK(table.find("peak                      4.99 GB  134.0 %") != std::string::npos);
  CHECK(table.find("\nbatch_per_gpu") == std::string::npos);  // the program's error says it
  CHECK(has_all(verdict(report), "toy_gpu", "4.99 GB", "1.27 GB", "3.73 GB", "activations, 2.79 GB",
                "2.24 GB", "optimizer_state, 0.75 GB"));
}

TEST_CASE("the table shows what the driver and the allocator leave") {
  MemoryReport report = sample_result().memory->front();
  report.available = Bytes(15e9);
  const std::string table = doc::text(memory_document("tiny", {report}));
  CHECK(table.find("available                13.97 GB   93.8 %") != std::string::npos);
  CHECK(memory_json("tiny", report)["memory_available_bytes"] == 15e9);
}

TEST_CASE("the table shows the servers' memory, on a GPU as a term of the rank's") {
  MemoryReport report = sample_result().memory->front();
  CHECK(doc::text(memory_document("tiny", {report})).find("server") == std::string::npos);
  CHECK_FALSE(memory_json("tiny", report).contains("server_memory"));
  report.server = ServerMemory{.place = "node 0",
                               .places = 2,
                               .parameters = Bytes(4e8),
                               .optimizer_state = Bytes(8e8),
                               .gradient_sums = Bytes(4e8),
                               .receive_buffers = Bytes(1e8)};
  const std::string on_host = doc::text(memory_document("tiny", {report}));
  CHECK(has_all(on_host, "servers on node 0, the fullest of 2:", "optimizer_state           0.75 GB",
                "server                    1.58 GB"));
  report.server->is_on_gpu = true;
  report.terms.server = total(*report.server);
  CHECK(has_all(doc::text(memory_document("tiny", {report})), "server                    1.58 GB   10.6 %"));
  const auto json = memory_json("tiny", report);
  CHECK(json["memory"]["server"] == 17e8);
  CHECK(json["server_memory"]["total"] == 17e8);
  CHECK(json["server_memory"]["gradient_sums"] == 4e8);
  CHECK(json["server_memory"]["place"] == "node 0");
  CHECK(json["server_memory"]["places"] == 2);
  CHECK(json["server_memory"]["on_gpu"] == true);
}

TEST_CASE("memory as JSON has the names of the summary") {
  const auto json = memory_json("tiny", sample_result().memory->front());
  CHECK(json["experiment"] == "tiny");
  CHECK(json["memory"]["optimizer_state"] == 8e8);
  CHECK(json["memory_peak_bytes"] == 5.36e9);
  CHECK(json["memory_capacity_bytes"] == 16e9);
  CHECK(json["fits"] == true);
  CHECK(json["largest_term"] == "activations");
  CHECK(json["largest_batch_per_gpu"] == 290);
}
