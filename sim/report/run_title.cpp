#include "report/run_title.hpp"

#include "report/text_layout.hpp"
#include "report/training_text.hpp"
#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// ", peer_to_peer with 1 % of the values": nothing of the usual kind, or of one that the stack is named
/// after.
std::string kind_in_words(const Experiment& experiment) {
  const Sync& sync = experiment.sync;
  if (sync.kind == SyncKind::all_reduce || config::name_of(sync.kind) == experiment.stack) return {};
  std::string text = fmt::format(", {}", config::name_of(sync.kind));
  const Compression compression = sync.compression.value_or(Compression::none);
  if (compression == Compression::top_k)
    text += fmt::format(" with {} of the values", percent(*sync.keep));
  else if (compression != Compression::none)
    text += fmt::format(" in {}", config::name_of(compression));
  return text;
}

}  // namespace

std::string run_title(const Result& result) {
  std::string what = "training step";
  if (result.training) {
    what = fmt::format("training, {} updates with {}", grouped(result.training->updates),
                       rule_in_words(result.training->settings));
  }
  return fmt::format("{}: {} {}", result.experiment, result.model, what);
}

std::string run_setting(const Result& result) {
  return fmt::format(
      "{} of {} x {}; {}{}, {}, {}, batch {}{} per GPU", count(result.ranks, "GPU"), grouped(result.nodes),
      result.platform_title, result.resolved.stack, kind_in_words(result.resolved),
      config::name_of(result.resolved.precision), config::name_of(result.resolved.optimizer),
      result.resolved.accumulation > 1 ? fmt::format("{} x ", result.resolved.accumulation) : "",
      grouped(result.resolved.batch_per_gpu));
}

void write_title(Page& out, const Result& result) {
  out.paragraph(run_title(result), 0);
  out.paragraph(run_setting(result), 2);
}

std::string update_in_words(const Result& result) {
  return fmt::format("one optimizer update with {}{}", count(result.global_batch, "sample"),
                     result.training ? spread_in_words(*result.training) : "");
}

}  // namespace trainyard
