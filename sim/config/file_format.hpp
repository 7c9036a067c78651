#pragma once
// Recognises the format of a file by the first bytes of its content, never by its name: people feed one
// tool's files to another.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

enum class FileFormat {
  unknown,
  pytorch_profile,
  chrome_trace,
  memory_timeline,
  horovod_timeline,
  execution_trace,
  chakra_json,
  chakra,
  onnx,
  python_pickle,
  zip,
  sqlite,
  xplane,
  gzip,
  xz,
  zstd,
  bzip2,
  nccl_tests,
  nccl_tests_json,
  nccl_topology,
  nccl_graph,
  smi_overview,
  lstopo,
  simgrid_platform,
  web_page,
  drawing,
  astra_sim_workload,
  astra_sim_config,
  htsim_topology,
  simai_bandwidths,
  aicb_workload,
  rocm_smi,
  amd_smi,
  hugging_face_model,
  hugging_face_trainer,
  deepspeed,
  accelerate,
  nemo,
  megatron,
  torchtitan,
  torchtune,
  maxtext,
  nanotron,
  mlperf_log,
  slurm,
  script,
  trainyard_trace,
  trainyard_yaml,
  json,
};

/// The format of a file that begins with these bytes; 64 KiB are enough.
FileFormat format_of(std::string_view head);

/// The format of a binary file that begins with these bytes; unknown for any text.
FileFormat binary_format_of(std::string_view head);

/// "a profile of PyTorch (torch.profiler)".
std::string_view words_of(FileFormat format);

/// The command that reads a file of this format and name, or advice; empty if there is neither.
std::string command_for(FileFormat format, std::string_view file);

/// Throws InputError, with command_for() as its hint, if the file is of another tool, or of another kind than
/// those of `own`. `text`: all of it, or its beginning.
void refuse_foreign(const std::string& file, std::string_view text, std::initializer_list<FileFormat> own);

/// Throws the same if a YAML document, which has errors as one of ours, is a job of another framework.
void refuse_job(const std::string& file, const std::vector<std::string>& lines);

}  // namespace trainyard::config
