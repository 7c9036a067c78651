#pragma once
// What a file is that was given in place of another: people feed one tool's files to another. Told by the
// first bytes of its content, never by its name.

#include <initializer_list>
#include <string>
#include <string_view>

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
  sqlite,
  gzip,
  nccl_tests,
  nccl_topology,
  nccl_graph,
  smi_overview,
  lstopo,
  simgrid_platform,
  web_page,
  drawing,
  astra_sim_workload,
  astra_sim_network,
  astra_sim_system,
  htsim_topology,
  simai_bandwidths,
  aicb_workload,
  rocm_smi,
  trainyard_trace,
  trainyard_yaml,
  json,
};

/// The format of a file that begins with these bytes; 64 KiB are enough.
FileFormat format_of(std::string_view head);

/// The same of binary files alone; unknown for any text.
FileFormat binary_format_of(std::string_view head);

/// "a profile of PyTorch (torch.profiler)".
std::string_view words_of(FileFormat format);

/// The command that reads it, for a file of this name; empty if there is none.
std::string command_for(FileFormat format, std::string_view file);

/// Throws InputError, with the command that reads it, if the file is of another tool, or of another kind than
/// those of `own`. `text`: all of it, or its beginning.
void refuse_foreign(const std::string& file, std::string_view text, std::initializer_list<FileFormat> own);

}  // namespace trainyard::config
