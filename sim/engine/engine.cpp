#include "engine/engine.hpp"

#include "engine/executors.hpp"

namespace trainyard {

Timeline run(const TaskGraph& graph, const EngineOptions& options) {
  const std::vector<Seconds>& given = options.variant.collectives;
  if (!given.empty() && given.size() != graph.collectives.size())
    throw EngineError("not every collective has a time");
  if (options.fidelity != Fidelity::closed && (!given.empty() || options.variant.slowed_by != SlowedBy::all))
    throw EngineError("variants of a step need fidelity closed");
  switch (options.fidelity) {
    case Fidelity::closed:
      return engine::run_closed(graph, options);
    case Fidelity::flow:
      if (options.formulas) {
        if (std::optional<Timeline> timeline = engine::run_undisturbed(graph, options))
          return *std::move(timeline);
      }
      [[fallthrough]];
    case Fidelity::rounds:
      return engine::run_macro(graph, options);
    case Fidelity::messages:
      return engine::run_messages(graph, options);
  }
  throw EngineError("unknown fidelity");
}

}  // namespace trainyard
