#pragma once
// The block `learn:` of an experiment: which model learns from which data while the job's updates are
// replayed (replay.hpp). The simulated times do not depend on it, except with sync.adaptive_k.

#include "config/keys.hpp"
#include "config/problems.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class LearnerKind { quadratic, softmax, mlp, conv1d };
enum class LearnerActivation { relu, tanh };

/// The most values of 8 bytes that a learner keeps, 2 GB: parameters and gradients of all workers, and the
/// layers' values of a batch.
inline constexpr double most_learner_values = 2.5e8;

/// The learner. Keys that do not apply to a kind are errors, not ignored.
struct LearnerSettings {
  LearnerKind kind = LearnerKind::softmax;
  std::optional<double> curvature = {};              ///< for quadratic; default: 1
  std::optional<double> noise = {};                  ///< for quadratic; default: 1
  std::optional<double> start = {};                  ///< for quadratic; default: 1
  std::optional<int> dimensions = {};                ///< for quadratic; default: 1
  std::optional<std::vector<int>> hidden{};          ///< for mlp and conv1d; default: 64
  std::optional<LearnerActivation> activation = {};  ///< for mlp and conv1d; default: relu
  std::optional<double> initial_scale = {};          ///< for mlp and conv1d; default: 1
  std::optional<std::vector<int>> filters{};         ///< for conv1d, by layer
  std::optional<std::vector<int>> kernels{};         ///< for conv1d, by layer
  std::optional<std::vector<int>> pools{};           ///< for conv1d, by layer; default: 1
};

enum class DataName { digits, fashion_mnist, gaussian, nt3_like };

/// What is learnt from: a named set, or files.
struct LearningData {
  std::optional<DataName> name = {};
  std::optional<std::string> file = {};   ///< CSV
  std::optional<std::string> idx = {};    ///< folder with IDX files
  double label_noise = 0;                 ///< part of the training labels that is replaced by random ones
  std::optional<double> test = {};        ///< part of the samples held out; default: 0.2
  std::optional<int> samples = {};        ///< for made sets
  std::optional<int> features = {};       ///< for made sets
  std::optional<int> classes = {};        ///< for gaussian; default: 10
  std::optional<double> separation = {};  ///< for made sets
  std::optional<int> informative = {};    ///< for nt3_like
};

/// Whether an experiment's block `learn` is in force.
enum class LearnWhen { always, asked };

enum class DataPerWorker { sampled, sharded, replicated };

enum class RateRule { fixed, by_staleness, by_distance, adagrad, linear_scaling };

struct LearningRate {
  double base = 0.1;
  RateRule rule = RateRule::fixed;
  std::optional<double> distance = {};       ///< for by_distance: C
  std::optional<int> base_batch = {};        ///< for linear_scaling
  std::optional<double> warmup_epochs = {};  ///< for linear_scaling; default: 0
};

/// Where the replay ends, by the first that is reached; without any of these, at the end of the run.
struct LearnUntil {
  std::optional<Seconds> time = {};
  std::optional<long long> updates = {};
  bool job = false;                       ///< after the updates of the job's steps, which then are `updates`
  std::optional<double> loss = {};        ///< training loss
  std::optional<double> test_error = {};  ///< fraction of test samples
};

/// The target of learning. The replay goes on afterwards.
struct LearnTarget {
  std::optional<double> loss = {};        ///< training loss
  std::optional<double> test_error = {};  ///< fraction of test samples
};

/// Whether workers that average parameters begin with the same ones.
enum class WorkerStarts { same, different };

struct LearnSettings {
  LearnWhen when = LearnWhen::always;
  LearnerSettings model;
  std::optional<LearningData> data = {};  ///< for all models but quadratic
  DataPerWorker data_per_worker = DataPerWorker::sampled;
  WorkerStarts starts = WorkerStarts::same;
  std::optional<int> batch = {};  ///< of one worker's step; default: 1 for quadratic, otherwise 32
  LearningRate rate;
  double momentum = 0;
  double l2 = 0;
  LearnUntil until = {};
  LearnTarget target = {};
  /// Standard deviation of the modelled network's accuracy at the end, around the learner's. The interval has
  /// it besides the deviation of one more run.
  std::optional<double> accuracy_error = {};
  int points = 100;  ///< evaluations along the replay
  /// Part of a gradient's values that a worker sends (sync.keep); not a key here. Empty: all.
  std::optional<double> sent = {};
};

/// The target; its parts that are not given are those of `until`.
LearnTarget target_or_end(const LearnSettings& settings);

/// Samples of a worker's step.
int batch_of(const LearnSettings& settings);

/// Reports errors at the keys of the settings at `path` ("learn").
void check(const LearnSettings& settings, const std::string& path, config::Problems& problems);

/// One line for reports: "softmax on digits (10 % of the training labels random)".
std::string learner_title(const LearnSettings& settings);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<LearnerKind> {
  static constexpr std::string_view what = "model to learn";
  static constexpr std::array table{
      Name{"quadratic", LearnerKind::quadratic,
           "curvature/2 times the squared distance from the minimum, with noisy gradients; needs no data"},
      Name{"softmax", LearnerKind::softmax, "softmax regression: one dense layer"},
      Name{"mlp", LearnerKind::mlp, "multilayer perceptron: hidden dense layers, then softmax"},
      Name{"conv1d", LearnerKind::conv1d, "one-dimensional convolutions, hidden dense layers, then softmax"}};
};

template <>
struct Names<LearnerActivation> {
  static constexpr std::string_view what = "activation";
  static constexpr std::array table{Name{"relu", LearnerActivation::relu, "max(0, x)"},
                                    Name{"tanh", LearnerActivation::tanh, "hyperbolic tangent"}};
};

template <>
struct Names<DataName> {
  static constexpr std::string_view what = "data set";
  static constexpr std::array table{
      Name{"digits", DataName::digits, "1,797 handwritten digits of 8 x 8 pixels (UCI), shipped"},
      Name{"fashion_mnist", DataName::fashion_mnist,
           "70,000 pictures of clothes, 28 x 28 pixels, from Debian's package dataset-fashion-mnist"},
      Name{"gaussian", DataName::gaussian,
           "made: normally distributed classes, whose least possible error is known"},
      Name{"nt3_like", DataName::nt3_like,
           "made: two classes, many features, few of them informative, as in CANDLE's NT3"}};
};

template <>
struct Names<DataPerWorker> {
  static constexpr std::string_view what = "division of the data";
  static constexpr std::array table{
      Name{"sampled", DataPerWorker::sampled, "every batch is drawn from all samples, with replacement"},
      Name{"sharded", DataPerWorker::sharded,
           "every worker has its own part of the samples and passes over it, shuffled"},
      Name{"replicated", DataPerWorker::replicated,
           "every worker passes over all samples, each in its own order"}};
};

template <>
struct Names<WorkerStarts> {
  static constexpr std::string_view what = "parameters of workers at the start";
  static constexpr std::array table{
      Name{"same", WorkerStarts::same, "all workers begin with the same parameters"},
      Name{"different", WorkerStarts::different,
           "each worker draws its own; the curve is that of their mean, as after every average"}};
};

template <>
struct Names<LearnWhen> {
  static constexpr std::string_view what = "time of learning";
  static constexpr std::array table{
      Name{"always", LearnWhen::always, "in every run"},
      Name{"asked", LearnWhen::asked,
           "only if a key of learn is set on the command line or by a sweep, and by 'trainyard learn'"}};
};

template <>
struct Names<RateRule> {
  static constexpr std::string_view what = "learning-rate rule";
  static constexpr std::array table{
      Name{"fixed", RateRule::fixed, "always the base rate"},
      Name{"by_staleness", RateRule::by_staleness,
           "the base rate divided by the gradient's staleness (1 if fresh)"},
      Name{"by_distance", RateRule::by_distance,
           "'distance' over the squared distance that the parameters moved since the gradient's; at most the "
           "base rate"},
      Name{"adagrad", RateRule::adagrad,
           "the base rate over the root of the parameter's sum of squared gradients"},
      Name{"linear_scaling", RateRule::linear_scaling,
           "proportional to the samples averaged in an update (gradients x batch), so that every sample has "
           "the weight that it has at base_batch with the base rate; steps that are summed before a push do "
           "not change it"}};
};

template <>
struct Keys<LearnerSettings> {
  static constexpr std::array<std::string_view, 1> short_form{"kind"};
  static auto table() {
    using L = LearnerSettings;
    return keys(
        required("kind", &L::kind, "kind of model"),
        optional("curvature", &L::curvature, "for quadratic: second derivative of the loss; default: 1")
            .positive(1e9),
        optional("noise", &L::noise,
                 "for quadratic: standard deviation of the gradient of one sample, per dimension; default: 1")
            .between(0, 1e9),
        optional("start", &L::start,
                 "for quadratic: distance from the minimum at the start, per dimension; "
                 "default: 1")
            .between(-1e9, 1e9),
        optional("dimensions", &L::dimensions, "for quadratic: number of parameters; default: 1")
            .between(1, 1e6),
        optional("hidden", &L::hidden, "for mlp and conv1d: units of each hidden layer; default: [64]")
            .between(1, 65536),
        optional("activation", &L::activation, "for mlp and conv1d: of hidden layers; default: relu"),
        optional(
            "initial_scale", &L::initial_scale,
            "for mlp and conv1d: factor of the deviation of all weights at the start; default: 1, weights "
            "with variance 2/inputs before a relu and 1/inputs elsewhere")
            .between(1e-6, 1e3),
        optional("filters", &L::filters, "for conv1d: filters of each convolution").between(1, 4096),
        optional("kernels", &L::kernels, "for conv1d: width of each convolution").between(1, 65536),
        optional("pools", &L::pools,
                 "for conv1d: after each convolution, the maximum of this many values is kept; default: 1")
            .between(1, 65536));
  }
};

template <>
struct Keys<LearningData> {
  static constexpr std::array<std::string_view, 1> short_form{"name"};
  static auto table() {
    using D = LearningData;
    return keys(
        optional("name", &D::name, "a shipped, installed or made data set"),
        optional("file", &D::file,
                 "CSV with a column 'label'; all other columns are numbers; may be compressed (.gz)"),
        optional("idx", &D::idx, "folder with the four files of MNIST and sets like it (IDX, also .gz)"),
        optional("label_noise", &D::label_noise,
                 "fraction of the training labels that is replaced by random ones, seeded")
            .between(0, 1),
        optional("test", &D::test,
                 "fraction of the samples that is held out as test set; default: 0.2; sets in IDX files have "
                 "their own")
            .between(0, 0.9),
        optional("samples", &D::samples, "for made sets: samples; default: 2500 (gaussian), 1400 (nt3_like)")
            .between(10, 1e6),
        optional("features", &D::features, "for made sets: features; default: 20 (gaussian), 1000 (nt3_like)")
            .between(1, 100000),
        optional("classes", &D::classes, "for gaussian: classes, at most as many as features; default: 10")
            .between(2, 1000),
        optional("separation", &D::separation,
                 "for made sets: distance of each class from the origin (gaussian) or shift of an "
                 "informative feature between the classes (nt3_like), in standard deviations; default: 3, "
                 "1.5")
            .between(0, 1000),
        optional("informative", &D::informative, "for nt3_like: features that differ by class; default: 20")
            .between(0, 100000));
  }
};

template <>
struct Keys<LearningRate> {
  static constexpr std::array<std::string_view, 1> short_form{"base"};
  static auto table() {
    using R = LearningRate;
    return keys(
        required("base", &R::base, "base learning rate").positive(1e6),
        optional("rule", &R::rule, "how the rate of a gradient follows from the base rate"),
        optional("distance", &R::distance,
                 "for by_distance: the constant C of C / squared distance (Dutta et al.)")
            .positive(1e9),
        optional("base_batch", &R::base_batch,
                 "for linear_scaling: samples averaged in an update at the base rate")
            .between(1, 1e9),
        optional("warmup_epochs", &R::warmup_epochs,
                 "for linear_scaling: epochs in which the rate rises linearly from the base rate; default: 0")
            .between(0, 1e6));
  }
};

template <>
struct Keys<LearnUntil> {
  static auto table() {
    using U = LearnUntil;
    return keys(
        optional("time", &U::time, "simulated time").positive(1e12),
        optional("updates", &U::updates, "updates of the whole model").between(1, 1e12),
        optional("job", &U::job, "whether it ends with the job, after as many updates as that has steps"),
        optional("loss", &U::loss, "training loss, at an evaluation").positive(1e9),
        optional("test_error", &U::test_error, "fraction of wrong test samples, at an evaluation")
            .between(0, 1));
  }
};

template <>
struct Keys<LearnTarget> {
  static auto table() {
    using T = LearnTarget;
    return keys(
        optional("loss", &T::loss, "training loss whose time, updates and samples are reported")
            .positive(1e9),
        optional("test_error", &T::test_error, "fraction of wrong test samples, likewise").between(0, 1));
  }
};

template <>
struct Keys<LearnSettings> {
  static auto table() {
    using L = LearnSettings;
    return keys(
        optional("when", &L::when, "whether the block is always in force"),
        required("model", &L::model, "what learns"),
        optional("data", &L::data, "what it learns from; for all models but quadratic"),
        optional("data_per_worker", &L::data_per_worker, "which samples a worker sees"),
        optional("starts", &L::starts,
                 "for update rules that average parameters, and models with random starts (mlp, conv1d)"),
        optional("batch", &L::batch,
                 "samples of one worker's step; default: 32, for quadratic 1. Independent of batch_per_gpu, "
                 "which sets the simulated times")
            .between(1, 1e6),
        required("rate", &L::rate, "learning rate"),
        optional("momentum", &L::momentum, "part of the previous change of the parameters that is repeated")
            .within({0, 0.9999}),
        optional("l2", &L::l2, "L2 penalty: l2/2 times the sum of squared parameters is added to the loss")
            .between(0, 1e6),
        optional("until", &L::until, "where the replay ends; default: at the end of the run"),
        optional("target", &L::target, "what counts as learnt; the replay goes on"),
        optional(
            "accuracy_error", &L::accuracy_error,
            "with until.job: standard deviation of the accuracy at the end of the job that the learner "
            "stands for, around the learner's: part of its expected interval, which is otherwise that of "
            "one more run of the learner")
            .between(0, 1),
        optional("points", &L::points, "evaluations at equal distances of simulated time")
            .between(4, 100000));
  }
};

}  // namespace trainyard::config
