#include "learn/learn_settings.hpp"

#include "config/read.hpp"
#include "config/schema.hpp"
#include "config/write.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

LearnSettings read(const std::string& yaml) {
  return config::read<LearnSettings>(
      config::parse("learn.yaml", yaml),
      [](const LearnSettings& settings, config::Problems& problems) { check(settings, "", problems); });
}

/// "3:5: message" of every error.
std::string errors(const std::string& yaml) {
  try {
    read(yaml);
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& found : error.diagnostics())
      all += std::to_string(found.line) + ":" + std::to_string(found.column) + ": " + found.message + "\n";
    return all;
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("settings of learning are read with their defaults and short forms") {
  const LearnSettings settings = read("model: softmax\ndata: {name: digits, label_noise: 0.1}\nrate: 0.5\n");
  CHECK(settings.model.kind == LearnerKind::softmax);
  CHECK(settings.data->name == DataName::digits);
  CHECK(settings.rate.base == 0.5);
  CHECK(settings.rate.rule == RateRule::fixed);
  CHECK(settings.data_per_worker == DataPerWorker::sampled);
  CHECK(batch_of(settings) == 32);
  CHECK(settings.momentum == 0);
  CHECK(learner_title(settings) == "softmax on digits (10 % of the training labels random)");
  const LearnSettings quadratic = read(
      "model: {kind: quadratic, noise: 0.5}\nrate: {base: 0.1, rule: by_staleness}\nuntil: {time: 80 s, "
      "loss: 0.75}\n");
  CHECK(batch_of(quadratic) == 1);
  CHECK(quadratic.until.time == Seconds(80));
}

TEST_CASE("keys of other kinds are errors at their place") {
  const std::string rest = "data: {name: digits}\nrate: 0.5\n";
  CHECK(errors("model: {kind: softmax, hidden: [3]}\n" + rest).starts_with("1:"));
  CHECK(mentions(errors("model: {kind: softmax, hidden: [3]}\n" + rest),
                 "'hidden' applies only to mlp and conv1d"));
  CHECK(mentions(errors("model: {kind: mlp, noise: 1}\n" + rest), "'noise' applies only to quadratic"));
  CHECK(mentions(errors("model: conv1d\n" + rest), "needs 'filters'"));
  CHECK(mentions(errors("model: {kind: conv1d, filters: [1, 2], kernels: [3]}\n" + rest),
                 "'kernels' has 1 values"));
  CHECK(mentions(errors("model: softmax\nrate: 0.5\n"), "needs 'data'"));
  CHECK(mentions(errors("model: quadratic\n" + rest), "makes its own gradients"));
  CHECK(errors("model: softmax\ndata: {name: digits, samples: 100}\nrate: 1\n").starts_with("2:"));
  CHECK(mentions(errors("model: softmax\ndata: {}\nrate: 1\n"), "one of 'name', 'file' and 'idx'"));
  CHECK(mentions(errors("model: softmax\ndata: {name: digits, file: x.csv}\nrate: 1\n"), "one of"));
  CHECK(mentions(errors("model: softmax\ndata: {name: fashion_mnist, test: 0.1}\nrate: 1\n"),
                 "its own test samples"));
  CHECK(mentions(errors("model: softmax\ndata: {name: gaussian, classes: 30}\nrate: 1\n"), "different axes"));
  CHECK(mentions(errors("model: softmax\ndata: {name: nt3_like, features: 10}\nrate: 1\n"),
                 "more informative"));
  CHECK(mentions(errors("model: softmax\ndata: {name: digits}\nrate: {base: 1, rule: by_distance}\n"),
                 "needs 'distance'"));
  CHECK(mentions(errors("model: softmax\ndata: {name: digits}\nrate: {base: 1, base_batch: 8}\n"),
                 "only to linear_scaling"));
  CHECK(mentions(errors("model: quadratic\nrate: 1\nuntil: {test_error: 0.1}\n"), "no test samples"));
  CHECK(
      mentions(errors("model: softmax\ndata: {name: digits, test: 0}\nrate: 1\ntarget: {test_error: 0.1}\n"),
               "no test samples"));
  const std::string at_end = "accuracy at a job's end";
  CHECK(mentions(errors("model: softmax\ndata: {name: digits}\nrate: 1\naccuracy_error: 0.1\n"), at_end));
  CHECK(mentions(errors("model: softmax\ndata: {name: digits, test: 0}\nrate: 1\nuntil: {job: "
                        "true}\naccuracy_error: 0.1\n"),
                 at_end));
  CHECK(errors("model: softmax\ndata: {name: digits}\nrate: 1\nuntil: {job: true}\naccuracy_error: 0.1\n")
            .empty());
  CHECK(mentions(errors("model: softmax\ndata: {name: digits}\nrate: 0\n"), "3:7:"));
  CHECK(mentions(errors("model: softmax\ndata: {name: digits}\nrate: 1\nmomentum: 1\n"), "4:11:"));
}
