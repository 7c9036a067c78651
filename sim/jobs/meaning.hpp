#pragma once
// Completes a draft: the settings whose meaning depends on others, or on the tool.

#include "config/catalogue.hpp"
#include "jobs/draft.hpp"

#include <filesystem>

namespace trainyard::jobs {

enum class Tool {
  megatron,
  nemo,
  torchtitan,
  deepspeed,
  trainer,
  accelerate,
  torchtune,
  maxtext,
  nanotron,
  llmc
};

/// Numbers of nodes, GPUs, ranks of each axis and samples; shards of the state; pipelines; recomputation.
void complete_layout(JobDraft& draft, Tool tool);

/// The model: a shipped one by its name or by its sizes, a model file, or gpt_by_sizes with the job's sizes.
/// `folder` is that of the job.
void complete_model(JobDraft& draft, Tool tool, const config::Catalogue& catalogue,
                    const std::filesystem::path& folder);

/// Software, number formats, optimizer, offload, compilers. The catalogue says which stacks have products in
/// 8 bits.
void complete_software(JobDraft& draft, Tool tool, const config::Catalogue& catalogue);

}  // namespace trainyard::jobs
