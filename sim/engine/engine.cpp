#include "engine/engine.hpp"

#include "engine/executors.hpp"

namespace trainyard {

Timeline run(const TaskGraph& graph, const EngineOptions& options) {
  switch (options.fidelity) {
    case Fidelity::closed:
      return engine::run_closed(graph, options);
    case Fidelity::flow:
    case Fidelity::rounds:
      return engine::run_macro(graph, options);
    case Fidelity::messages:
      return engine::run_messages(graph, options);
  }
  throw EngineError("unknown fidelity");
}

}  // namespace trainyard
