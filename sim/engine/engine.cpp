#include "engine/engine.hpp"

#include "engine/carriers.hpp"

namespace trainyard {

Timeline run(const TaskGraph& graph, const EngineOptions& options) {
  switch (options.fidelity) {
    case Fidelity::closed:
      return engine::run_closed(graph, options);
    case Fidelity::flow:
    case Fidelity::rounds:
      return engine::run_macro(graph, options);
    case Fidelity::steps:
      return engine::run_steps(graph, options);
  }
  throw EngineError("unknown fidelity");
}

}  // namespace trainyard
