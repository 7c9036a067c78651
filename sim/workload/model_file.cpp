#include "workload/model_file.hpp"

#include "config/read.hpp"

#include <utility>

namespace trainyard {
namespace {

// Memory and traffic are counted in doubles; below this they are exact whatever multiplies them.
constexpr double most_parameters = 1e13;

void validate_resnet(const ResnetHyperparameters& resnet, config::Problems& problems) {
  if (!problems.readable("resnet.blocks")) return;
  if (resnet.blocks.size() != 4) {
    problems.error("resnet.blocks", std::to_string(resnet.blocks.size()) + " stages",
                   "a ResNet has four: [3, 4, 6, 3] is ResNet-50");
    return;
  }
  if (!problems.readable("resnet")) return;
  const double parameters = totals(resnet_layers(resnet)).parameters;
  if (parameters > most_parameters) {
    problems.error("resnet", "the model has more than 1e13 parameters", "reduce blocks, width or classes");
  }
}

void validate(const ModelFile& file, config::Problems& problems) {
  problems.check_name(file.name);
  if (problems.readable("family") && !file.resnet) {
    problems.error("family", "the hyper-parameters of the family are missing",
                   "add 'resnet: {blocks: [3, 4, 6, 3]}'");
  }
  if (file.resnet) validate_resnet(*file.resnet, problems);
}

}  // namespace

Model make_model(const ModelFile& file) {
  if (!file.resnet) throw InputError("model '" + file.name + "' has no hyper-parameters");
  return {file.name, file.title.empty() ? file.name : file.title, resnet_layers(*file.resnet),
          file.samples_per_epoch};
}

Model load_model(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return make_model(config::read<ModelFile>(document, validate, warnings));
}

}  // namespace trainyard
