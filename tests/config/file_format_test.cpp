// What a file is that was given in place of another.

#include "config/file_format.hpp"

#include "config/diagnostic.hpp"
#include "config/document.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>

using namespace trainyard;
using config::FileFormat;

TEST_CASE("formats are told by the first bytes") {
  using namespace std::string_literals;
  const std::pair<std::string, FileFormat> files[] = {
      {"{\"schemaVersion\": 1, \"traceEvents\": []}", FileFormat::pytorch_profile},
      {"{\"traceEvents\": [{\"cat\": \"cpu_op\"}]}", FileFormat::pytorch_profile},
      {"{\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[]}", FileFormat::chrome_trace},
      {"[\n{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\"},", FileFormat::horovod_timeline},
      {"[[-1, 1, 37888, 7], [-1, 1, 512, 7]]", FileFormat::memory_timeline},
      {"[{\"ph\": \"X\"}]", FileFormat::chrome_trace},
      {"{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": []}", FileFormat::execution_trace},
      {"{\"workload_graph\": []}", FileFormat::chakra_json},
      {"{platform: dgx2}", FileFormat::unknown},
      {"[1,0]<stdout>:# nThread 1 nGpus 8\n", FileFormat::nccl_tests},
      {"[node1:12345] a warning of mpirun\n", FileFormat::unknown},
      {"{\"platform\": \"dgx2\"}", FileFormat::json},
      {"\x07\x0a\x05"s + "0.0.4H\x12\x14", FileFormat::chakra},
      {"\xa7\x04\x12\x1d\x0a\x06schema\xea\x01\x12"s + "1.0.2-chakra.0.0.4", FileFormat::chakra},
      {"\x08\x03\x12\x0bonnx-caffe2", FileFormat::onnx},
      {"SQLite format 3\0"s, FileFormat::sqlite},
      {"\x1f\x8b\x08", FileFormat::gzip},
      {"\x80\x04\x95", FileFormat::python_pickle},
      {"0: # nThread 1 nGpus 8 minBytes 8\n", FileFormat::nccl_tests},
      {"<system version=\"1\">\n <cpu numaid=\"0\"/></system>", FileFormat::nccl_topology},
      {"<graphs version=\"1\"/>", FileFormat::nccl_graph},
      {"<?xml version=\"1.0\"?>\n<topology version=\"2.0\">", FileFormat::lstopo},
      {"<?xml version='1.0'?>\n<platform version=\"4.1\"/>", FileFormat::simgrid_platform},
      {"<!DOCTYPE html>\n<html lang=\"en\">", FileFormat::web_page},
      {"DATA\n2\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 4 5\n", FileFormat::astra_sim_workload},
      {"HYBRID_TRANSFORMER\tmodel_parallel_NPU_group: 8\n1 \n", FileFormat::astra_sim_workload},
      {"topology: [ Ring ]\nnpus_count: [ 8 ]\n", FileFormat::astra_sim_network},
      {"{\"dimensions-count\": 1, \"topologies-per-dim\": [\"Ring\"]}", FileFormat::astra_sim_network},
      {"  {\n  \"scheduling-policy\": \"LIFO\"}", FileFormat::astra_sim_system},
      {"endpoint-delay: 10\nall-reduce-implementation: ring_ring\n", FileFormat::astra_sim_system},
      {"Nodes 8\nTiers 3\nPodsize 4\n", FileFormat::htsim_topology},
      {"test\nTP:\nallreduce,: 300\nPP:\nbusbw: 47.5\n", FileFormat::simai_bandwidths},
      {"[rank0 ~ rank127]\ncomm_type,comm_group,comm_group_size\n", FileFormat::aicb_workload},
      {"# trainyard trace: 1\nphase,layer\n", FileFormat::trainyard_trace},
      {"name: x\nnode:\n  gpus: 1\n", FileFormat::trainyard_yaml},
      {"op,variant,dtype,shape,bytes\n", FileFormat::unknown},
      {"DATA is what we need\n2\n", FileFormat::unknown},
      {"#\n# node 10.0.0.1 measured\n", FileFormat::unknown},
      {"# measured beside rocm-smi; out-of-place times; see npus_count\nplatform: x\n", FileFormat::unknown},
      {"# trainyard trace: 1\n# nThread 1 times, out-of-place and in-place\n", FileFormat::trainyard_trace},
      {"{\"title\": \"Trace\", \"cpu_op\": 1}", FileFormat::json},
      {"", FileFormat::unknown}};
  for (const auto& [text, format] : files) {
    CAPTURE(text);
    CHECK(config::format_of(text) == format);
  }
}

TEST_CASE("only the beginning of a file is looked at") {
  CHECK(config::format_of(std::string(100'000, ' ') + "{\"workload_graph\": []}") == FileFormat::unknown);
}

TEST_CASE("a file of another tool is one error, with the command that reads it") {
  const auto message = [](const char* text) -> std::string {
    try {
      config::parse("my file", text);
    } catch (const InputError& error) {
      CHECK(error.diagnostics().size() == 1);
      return error.what();
    }
    return {};
  };
  CHECK(message("{\"schemaVersion\": 1}") ==
        "my file: error: this is a profile of PyTorch (torch.profiler)\n"
        "  trainyard import kineto \"my file\" -o step.csv");
  CHECK(message("# nThread 1\n#\n#  out-of-place\n a: b: c\n").find("import nccl-tests") !=
        std::string::npos);
  CHECK(message("<svg></svg>") == "my file: error: this is a drawing");
  CHECK(message("{platform: dgx2}").empty());
}
