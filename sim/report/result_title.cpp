#include "report/result_title.hpp"

#include "report/text_layout.hpp"
#include "report/training_text.hpp"

#include <fmt/format.h>
#include <string>

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

void write_title(Page& out, const Result& result) {
  std::string what = "training step";
  if (result.training) {
    what = fmt::format("training, {} updates with {}", grouped(result.training->updates),
                       rule_in_words(result.training->settings));
  }
  out.paragraph(fmt::format("{}: {} {}", result.experiment, result.model, what), 0);
  out.paragraph(
      fmt::format("{} of {} x {}; {}{}, {}, {}, batch {}{} per GPU", count(result.ranks, "GPU"),
                  grouped(result.nodes), result.platform_title, result.resolved.stack,
                  kind_in_words(result.resolved), config::name_of(result.resolved.precision),
                  config::name_of(result.resolved.optimizer),
                  result.resolved.accumulation > 1 ? fmt::format("{} x ", result.resolved.accumulation) : "",
                  grouped(result.resolved.batch_per_gpu)),
      2);
}

}  // namespace trainyard
