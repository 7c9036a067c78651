#include "schedule/experiment.hpp"

#include "config/read.hpp"

namespace trainyard {

Experiment load_experiment(const config::Document& document) {
  return config::read<Experiment>(document, [](const Experiment& experiment, config::Problems& problems) {
    if (experiment.model && experiment.trace) {
      problems.error("trace", "\"model\" and \"trace\" exclude each other",
                     "a trace is a model's step: keep one of them");
    }
    if (!experiment.model && !experiment.trace) {
      problems.error("model", "nothing to train", "add \"model: resnet50\" or \"trace: my_trace.csv\"");
    }
    for (const auto& [path, value] : experiment.set) {
      const std::string_view first = std::string_view(path).substr(0, path.find('.'));
      if (first.size() == path.size() ||
          (first != "platform" && first != "gpu" && first != "model" && first != "stack")) {
        problems.error("set." + path, "\"" + path + "\" names no file of this experiment",
                       "paths start with \"platform.\", \"gpu.\", \"model.\" or \"stack.\"");
      }
    }
  });
}

}  // namespace trainyard
