#include "learn/learn_settings.hpp"

#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

using config::join;
using config::name_of;
using config::Problems;

/// Reports a key that is given but belongs to other kinds, or is missing but needed.
class KeyCheck {
public:
  KeyCheck(std::string path, std::string kind_key, std::string kind, Problems& problems)
      : path_(std::move(path)), kind_key_(std::move(kind_key)), kind_(std::move(kind)), problems_(problems) {}

  void applies(std::string_view key, bool is_given, bool is_known, std::string_view kinds) const {
    if (!is_given || is_known) return;
    problems_.error(join(path_, key),
                    fmt::format("'{}' applies only to {}; '{}' is '{}'", key, kinds, kind_key_, kind_),
                    fmt::format("leave out '{}'", key));
  }
  void needs(std::string_view key, bool is_given, bool is_needed, std::string_view hint) const {
    if (is_given || !is_needed) return;
    problems_.error(path_, fmt::format("{} '{}' needs '{}'", kind_key_, kind_, key), std::string(hint));
  }

private:
  std::string path_, kind_key_, kind_;
  Problems& problems_;
};

void check_model(const LearnerSettings& model, const std::string& path, Problems& problems) {
  const KeyCheck given(path, "kind", std::string(name_of(model.kind)), problems);
  const bool is_quadratic = model.kind == LearnerKind::quadratic;
  const bool is_conv = model.kind == LearnerKind::conv1d;
  const bool has_hidden = is_conv || model.kind == LearnerKind::mlp;
  given.applies("curvature", model.curvature.has_value(), is_quadratic, "quadratic");
  given.applies("noise", model.noise.has_value(), is_quadratic, "quadratic");
  given.applies("start", model.start.has_value(), is_quadratic, "quadratic");
  given.applies("dimensions", model.dimensions.has_value(), is_quadratic, "quadratic");
  given.applies("hidden", model.hidden.has_value(), has_hidden, "mlp and conv1d");
  given.applies("activation", model.activation.has_value(), has_hidden, "mlp and conv1d");
  given.applies("initial_scale", model.initial_scale.has_value(), has_hidden, "mlp and conv1d");
  given.applies("filters", model.filters.has_value(), is_conv, "conv1d");
  given.applies("kernels", model.kernels.has_value(), is_conv, "conv1d");
  given.applies("pools", model.pools.has_value(), is_conv, "conv1d");
  given.needs("filters", model.filters.has_value(), is_conv, "add 'filters: [8]'");
  given.needs("kernels", model.kernels.has_value(), is_conv, "add 'kernels: [5]'");
  if (!is_conv || !model.filters || !model.kernels) return;
  const std::size_t layers = model.filters->size();
  if (layers == 0)
    problems.error(join(path, "filters"), "a conv1d model needs a convolution", "filters: [8]");
  const auto same_length = [&](const char* key, const std::vector<int>& values) {
    if (values.size() != layers)
      problems.error(join(path, key),
                     fmt::format("'{}' has {} values, but 'filters' has {}", key, values.size(), layers),
                     "one value for each convolution");
  };
  same_length("kernels", *model.kernels);
  if (model.pools) same_length("pools", *model.pools);
}

void check_data(const LearningData& data, const std::string& path, Problems& problems) {
  const int sources = int{data.name.has_value()} + int{data.file.has_value()} + int{data.idx.has_value()};
  if (sources != 1) {
    problems.error(path, "data is one of 'name', 'file' and 'idx'", "name: digits");
    return;
  }
  const bool is_gaussian = data.name == DataName::gaussian;
  const bool is_nt3 = data.name == DataName::nt3_like;
  const std::string kind = data.name ? std::string(name_of(*data.name)) : data.file ? "file" : "idx";
  const KeyCheck given(path, data.name ? "name" : "data", kind, problems);
  given.applies("samples", data.samples.has_value(), is_gaussian || is_nt3, "made sets");
  given.applies("features", data.features.has_value(), is_gaussian || is_nt3, "made sets");
  given.applies("separation", data.separation.has_value(), is_gaussian || is_nt3, "made sets");
  given.applies("classes", data.classes.has_value(), is_gaussian, "gaussian");
  given.applies("informative", data.informative.has_value(), is_nt3, "nt3_like");
  if (data.test && (data.idx || data.name == DataName::fashion_mnist))
    problems.error(join(path, "test"), "this data set has its own test samples", "leave out 'test'");
  if (is_gaussian && data.classes.value_or(10) > data.features.value_or(20))
    problems.error(join(path, "classes"), "the classes of a gaussian set lie on different axes",
                   fmt::format("at most as many as features ({})", data.features.value_or(20)));
  // 1 GB of values of 4 bytes.
  constexpr double most_made = 2.5e8;
  const double made = static_cast<double>(data.samples.value_or(0)) * data.features.value_or(0);
  if (made > most_made)
    problems.error(join(path, "samples"),
                   fmt::format("{} values are too many for a made set", digits12(made)),
                   fmt::format("at most {} samples x features", digits12(most_made)));
  if (is_nt3 && data.informative.value_or(20) > data.features.value_or(1000))
    problems.error(join(path, "informative"), "more informative features than features",
                   fmt::format("at most {}", data.features.value_or(1000)));
}

void check_rate(const LearningRate& rate, const std::string& path, Problems& problems) {
  const KeyCheck given(path, "rule", std::string(name_of(rate.rule)), problems);
  const bool is_scaled = rate.rule == RateRule::linear_scaling;
  const bool is_by_distance = rate.rule == RateRule::by_distance;
  given.applies("distance", rate.distance.has_value(), is_by_distance, "by_distance");
  given.applies("base_batch", rate.base_batch.has_value(), is_scaled, "linear_scaling");
  given.applies("warmup_epochs", rate.warmup_epochs.has_value(), is_scaled, "linear_scaling");
  given.needs("distance", rate.distance.has_value(), is_by_distance, "add 'distance: 0.01' to 'rate'");
  given.needs("base_batch", rate.base_batch.has_value(), is_scaled, "add 'base_batch: 32' to 'rate'");
}

}  // namespace

LearnTarget target_or_end(const LearnSettings& settings) {
  const LearnTarget& target = settings.target;
  const LearnUntil& until = settings.until;
  return {.loss = target.loss ? target.loss : until.loss,
          .test_error = target.test_error ? target.test_error : until.test_error};
}

int batch_of(const LearnSettings& settings) {
  constexpr int usual = 32;
  return settings.batch.value_or(settings.model.kind == LearnerKind::quadratic ? 1 : usual);
}

void check(const LearnSettings& settings, const std::string& path, Problems& problems) {
  check_model(settings.model, join(path, "model"), problems);
  check_rate(settings.rate, join(path, "rate"), problems);
  const bool is_quadratic = settings.model.kind == LearnerKind::quadratic;
  if (settings.data) check_data(*settings.data, join(path, "data"), problems);
  if (is_quadratic && settings.data)
    problems.error(join(path, "data"), "a quadratic model makes its own gradients", "leave out 'data'");
  if (!is_quadratic && !settings.data)
    problems.error(path, fmt::format("model '{}' needs 'data'", name_of(settings.model.kind)),
                   "add 'data: {name: digits}'");
  if (is_quadratic && settings.data_per_worker != DataPerWorker::sampled)
    problems.error(join(path, "data_per_worker"), "a quadratic model has no data to divide",
                   "leave out 'data_per_worker'");
  const bool starts_randomly =
      settings.model.kind == LearnerKind::mlp || settings.model.kind == LearnerKind::conv1d;
  if (settings.starts == WorkerStarts::different && !starts_randomly)
    problems.error(join(path, "starts"),
                   fmt::format("model '{}' always starts alike", name_of(settings.model.kind)),
                   "model: mlp or conv1d, or starts: same");
  const bool has_test = settings.data && settings.data->test.value_or(1) > 0;
  const auto needs_test = [&](const std::optional<double>& error, const char* key) {
    if (error && !has_test)
      problems.error(join(join(path, key), "test_error"), "there are no test samples",
                     is_quadratic ? "leave out 'test_error'" : "a 'test' above 0 in 'data'");
  };
  needs_test(settings.until.test_error, "until");
  needs_test(settings.target.test_error, "target");
  if (settings.accuracy_error && !(settings.until.job && has_test))
    problems.error(join(path, "accuracy_error"),
                   "only a learner with test samples has an accuracy at a job's end",
                   has_test ? "add 'job: true' to 'until'" : "leave out 'accuracy_error'");
  if (is_quadratic && settings.rate.rule == RateRule::linear_scaling &&
      settings.rate.warmup_epochs.value_or(0) > 0)
    problems.error(join(join(path, "rate"), "warmup_epochs"), "a quadratic model has no epochs",
                   "leave out 'warmup_epochs'");
}

std::string learner_title(const LearnSettings& settings) {
  std::string title(name_of(settings.model.kind));
  if (!settings.data) return title;
  const LearningData& data = *settings.data;
  if (data.name) title += fmt::format(" on {}", name_of(*data.name));
  if (data.file) title += fmt::format(" on {}", in_quotes(*data.file));
  if (data.idx) title += fmt::format(" on {}", in_quotes(*data.idx));
  if (data.label_noise > 0)
    title += fmt::format(" ({} % of the training labels random)", digits12(100 * data.label_noise));
  return title;
}

}  // namespace trainyard
