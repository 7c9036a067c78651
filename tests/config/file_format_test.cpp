// What a file is that was given in place of another.

#include "config/file_format.hpp"

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "config/read.hpp"

#include <array>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct SmallJob {
  std::string platform, model, source;
  int batch_per_gpu = 1;
};

template <>
struct config::Keys<SmallJob> {
  static constexpr std::array other_words{OtherWord{"per_device_train_batch_size", "batch_per_gpu", true},
                                          OtherWord{"train_micro_batch_size_per_gpu", "batch_per_gpu", true}};
  static auto table() {
    return keys(optional("platform", &SmallJob::platform, ""), optional("model", &SmallJob::model, ""),
                optional("source", &SmallJob::source, ""),
                optional("batch_per_gpu", &SmallJob::batch_per_gpu, ""));
  }
};

}  // namespace trainyard

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
      {"topology: [ Ring ]\nnpus_count: [ 8 ]\n", FileFormat::astra_sim_config},
      {"{\"dimensions-count\": 1, \"topologies-per-dim\": [\"Ring\"]}", FileFormat::astra_sim_config},
      {"  {\n  \"scheduling-policy\": \"LIFO\"}", FileFormat::astra_sim_config},
      {"endpoint-delay: 10\nall-reduce-implementation: ring_ring\n", FileFormat::astra_sim_config},
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
      {"\xfd"
       "7zXZ\0\0\4"s,
       FileFormat::xz},
      {"\x28\xb5\x2f\xfd\x24"s, FileFormat::zstd},
      {"BZh91AY&SY\1\2"s, FileFormat::bzip2},
      {"BZh"s, FileFormat::unknown},
      {"PK\x03\x04\x14"s, FileFormat::zip},
      {"\x0a\x91\x05\x08\x01\x12\x0d/device:GPU:0"s, FileFormat::xplane},
      {"\n# /device:GPU:0 of a text\n", FileFormat::unknown},
      {"{\"version\": 1, \"results\": [{\"out_of_place\": {\"bus_bw\": 1}}]}", FileFormat::nccl_tests_json},
      {"{\"#wrong\":\"0\",\"algBw\":0.05,\"busBw\":0.08}\n", FileFormat::nccl_tests_json},
      {"==== ROCm System Management Interface ====\n     GPU0 GPU1\nGPU0 0 15\n", FileFormat::rocm_smi},
      {"=== Link Type between two GPUs ====\n   GPU0   GPU1\n", FileFormat::rocm_smi},
      {"{\"system\": {\"(Topology) Weight between DRM devices 0 and 1\": \"15\"}}", FileFormat::rocm_smi},
      {"ACCESS TABLE:\n   0000:05:00.0\n", FileFormat::amd_smi},
      {"[{\"gpu\": 0, \"links\": [{\"link_type\": \"XGMI\", \"num_hops\": 1}]}]", FileFormat::amd_smi},
      {"", FileFormat::unknown}};
  for (const auto& [text, format] : files) {
    CAPTURE(text);
    CHECK(config::format_of(text) == format);
  }
}

TEST_CASE("jobs of other frameworks are told by their keys, whatever their line ends, and not by comments") {
  const std::pair<std::string, FileFormat> files[] = {
      {"{\n  \"architectures\": [\"LlamaForCausalLM\"],\n  \"hidden_size\": 2048\n}",
       FileFormat::hugging_face_model},
      {"{\"model_type\": \"gpt2\", \"n_embd\": 768}", FileFormat::hugging_face_model},
      {"{\"model_type\": \"opt\"}", FileFormat::hugging_face_model},
      {"{\"model_type\": \"convnext\", \"depths\": [3, 3, 9, 3]}", FileFormat::hugging_face_model},
      {"{\"per_device_train_batch_size\": 4}", FileFormat::hugging_face_trainer},
      {"model_name_or_path: x/y\nfinetuning_type: lora\n", FileFormat::hugging_face_trainer},
      {"base_model: x/y\nsequence_len: 4096\n", FileFormat::hugging_face_trainer},
      {"{\"zero_optimization\": {\"stage\": 3}}", FileFormat::deepspeed},
      {"{\"train_batch_size\": 8, \"fp16\": {\"enabled\": true}}", FileFormat::deepspeed},
      {"compute_environment: LOCAL_MACHINE\nnum_machines: 2\n", FileFormat::accelerate},
      {"trainer:\n  devices: 8\nmodel:\n  mcore_gpt: true\n", FileFormat::nemo},
      {"name: x\nexp_manager:\n  explicit_log_dir: y\n", FileFormat::nemo},
      {"#!/bin/bash\ntorchrun pretrain_gpt.py --bf16\n", FileFormat::megatron},
      {"--num-layers 32\n--hidden-size 4096\n", FileFormat::megatron},
      {"#!/bin/sh\n# --num-layers 32 --hidden-size 8\ntrue\n", FileFormat::script},
      {"[job]\ndump_folder = \"a\"\n[training]\nseq_len = 8192\n", FileFormat::torchtitan},
      {"# torchtitan\n[model]\nname = \"llama3\"\n[training]\nsteps = 1\n", FileFormat::torchtitan},
      {"base_config: \"base.yml\"\nmodel_name: \"llama3-8b\"\n", FileFormat::maxtext},
      {"run_name: x\nici_fsdp_parallelism: 16\n", FileFormat::maxtext},
      {":::MLLOG {\"namespace\": \"\"}\n", FileFormat::mlperf_log},
      {"0: :::MLLOG {\"namespace\": \"\"}\n", FileFormat::mlperf_log},
      {"# switches\nSwitchName=leaf1 Nodes=node[1-16]\n", FileFormat::slurm},
      {"BlockName=b1 Nodes=node[1-18]\n", FileFormat::slurm},
      {"platform: dgx2\n# as --tensor-model-parallel-size 2 of pretrain_gpt.py\nnodes: 1\n",
       FileFormat::unknown}};
  for (const auto& [text, format] : files) {
    CAPTURE(text);
    CHECK(config::format_of(text) == format);
    std::string windows;
    for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    CHECK(config::format_of(windows) == format);
    if (format != FileFormat::unknown) CHECK_FALSE(config::command_for(format, "x").empty());
  }
}

namespace {

std::vector<Diagnostic> job_errors(const std::string& text) {
  try {
    (void)config::read<SmallJob>(config::parse("job.yaml", text));
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace

TEST_CASE("a job of another framework is one error, and not its unknown keys") {
  const std::pair<std::string, std::string> jobs[] = {
      {"trainer:\n  devices: 8\nmodel: {mcore_gpt: true}\n", "this is a job of NeMo"},
      {"train_micro_batch_size_per_gpu: 4\nzero_optimization: {stage: 3}\n",
       "this is a configuration of DeepSpeed"},
      {"train_micro_batch_size_per_gpu: 4\n", "this is a configuration of DeepSpeed"},
      {"model_name_or_path: x/y\nlr: 1\nsource: z\n",
       "this is a training job of Hugging Face's Trainer or a tool on top of it"},
      {"args: --num-layers 2 --hidden-size 64\n", "this is arguments of Megatron-LM"}};
  for (const auto& [text, message] : jobs) {
    CAPTURE(text);
    const auto errors = job_errors(text);
    REQUIRE(errors.size() == 1);
    CHECK(errors.front().message == message);
  }
}

TEST_CASE("a file of ours with one mistake is no job of another framework") {
  const std::pair<std::string, std::string> files[] = {
      {"platform: dgx2\ntrain_micro_batch_size_per_gpu: 8\n", "unknown key 'train_micro_batch_size_per_gpu'"},
      {"platform: dgx2\nmodel: gpt2\nper_device_train_batch_size: 8\n",
       "unknown key 'per_device_train_batch_size'"},
      {"model: gpt2\nper_device_train_batch_size: 8\ntrain_micro_batch_size_per_gpu: 8\n",
       "unknown key 'per_device_train_batch_size'"},
      {"{\"platform\": \"dgx2\", \"train_micro_batch_size_per_gpu\": 8}",
       "unknown key 'train_micro_batch_size_per_gpu'"},
      {"{source: \"x, pretrain_gpt.py\", modle: gpt2}", "unknown key 'modle'"},
      {"source: \"NVIDIA/Megatron-LM, pretrain_gpt.py\"\nmodle: gpt2\n", "unknown key 'modle'"},
      {"modle: gpt2\nmodels: 'as --tensor-model-parallel-size 2'  # of pretrain_gpt.py\n",
       "unknown key 'modle'"},
      {"platform: dgx2\nmodel: gpt2\nmodel: bert\nper_device_train_batch_size: 8\n",
       "key 'model' is repeated"},
      {"platform: dgx2\nmodel: 'gpt2\ntrain_micro_batch_size_per_gpu: 8\n", "this quote is never closed"}};
  for (const auto& [text, message] : files) {
    CAPTURE(text);
    const auto errors = job_errors(text);
    REQUIRE_FALSE(errors.empty());
    CAPTURE(errors.front().message);
    CHECK(errors.front().message.find(message) != std::string::npos);
  }
  const auto errors = job_errors("platform: dgx2\nper_device_train_batch_size: 8\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().hint == "did you mean 'batch_per_gpu'?");
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
