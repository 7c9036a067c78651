// Data: readers with positions, made sets with known errors, division and noise.
#include "learn/samples.hpp"

#include "config/diagnostic.hpp"
#include "learn/batches.hpp"
#include "learn/streams.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <set>

using namespace trainyard;

namespace {

const config::Catalogue installed{{TRAINYARD_SOURCE_DIR}};

LearningData named(DataName name) {
  LearningData data;
  data.name = name;
  return data;
}

std::string error_of(const std::string& csv) {
  try {
    read_samples_csv("x.csv", csv);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string idx_header(int type, const std::vector<int>& dimensions) {
  std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const int d : dimensions)
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(d >> shift & 255);
  return bytes;
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The error of argmax over the first `classes` features: the best classifier of gaussian samples.
double error_of_best(const Samples& samples) {
  int wrong = 0;
  for (int i = 0; i < samples.count(); ++i) {
    const float* values = samples.values.data() + static_cast<long>(i) * samples.features;
    wrong += std::max_element(values, values + samples.classes) - values !=
             samples.labels[static_cast<std::size_t>(i)];
  }
  return static_cast<double>(wrong) / samples.count();
}

}  // namespace

TEST_CASE("the shipped digits are the 1,797 of UCI, divided by the seed") {
  const LearningSets sets = load_samples(named(DataName::digits), installed, {}, 1);
  CHECK(sets.train.count() == 1438);
  CHECK(sets.test.count() == 359);
  CHECK(sets.train.features == 64);
  CHECK(sets.train.classes == 10);
  CHECK(*std::ranges::max_element(sets.train.values) == 1);
  CHECK(*std::ranges::min_element(sets.train.values) == 0);
  std::map<int, int> classes;
  for (const int label : sets.train.labels) ++classes[label];
  for (const int label : sets.test.labels) ++classes[label];
  CHECK(classes == std::map<int, int>{{0, 178},
                                      {1, 182},
                                      {2, 177},
                                      {3, 183},
                                      {4, 181},
                                      {5, 182},
                                      {6, 181},
                                      {7, 179},
                                      {8, 174},
                                      {9, 180}});
  const LearningSets again = load_samples(named(DataName::digits), installed, {}, 1);
  CHECK(again.train.values == sets.train.values);
  const LearningSets other = load_samples(named(DataName::digits), installed, {}, 2);
  CHECK(other.train.labels != sets.train.labels);
}

TEST_CASE("label noise replaces the given part of the training labels and no test label") {
  LearningData data = named(DataName::digits);
  const LearningSets clean = load_samples(data, installed, {}, 1);
  data.label_noise = 0.1;
  const LearningSets noisy = load_samples(data, installed, {}, 1);
  CHECK(noisy.test.labels == clean.test.labels);
  int changed = 0;
  for (std::size_t i = 0; i < clean.train.labels.size(); ++i)
    changed += clean.train.labels[i] != noisy.train.labels[i];
  CHECK(changed <= 144);  // a random label is the true one in a tenth of the cases
  CHECK(changed > 110);
}

TEST_CASE("samples in CSV are read with the label in any column") {
  const Samples samples = read_samples_csv("x.csv", "# note\na,label,b\n1,0,2\n-3,2,4e1\n");
  CHECK(samples.features == 2);
  CHECK(samples.classes == 3);
  CHECK(samples.labels == std::vector{0, 2});
  CHECK(samples.values == std::vector<float>{1, 2, -3, 40});
}

TEST_CASE("wrong samples in CSV are errors with line and column") {
  CHECK(has_text(error_of("a,b\n1,2\n3,4\n"), "no column 'label'"));
  CHECK(has_text(error_of("label,a\n0,1\n1,x\n"), "x.csv:3:3:"));
  CHECK(has_text(error_of("label,a\n0,1\n1.5,2\n"), "x.csv:3:1:"));
  CHECK(has_text(error_of("label,a\n0,1\n-1,2\n"), "x.csv:3:1:"));
  CHECK(has_text(error_of("label,a\n0,1\n1,nan\n"), "x.csv:3:3:"));
  CHECK(has_text(error_of("label,a\n0,1\n1,1e38\n"), "x.csv:3:3:"));
  CHECK(has_text(error_of("label,a\n0,1\n1\n"), "x.csv:3:"));
  CHECK(has_text(error_of("label,label,a\n0,1,2\n1,1,1\n"), "x.csv:1:7:"));
  CHECK(has_text(error_of("label\n0\n1\n"), "no column with a feature"));
  CHECK(has_text(error_of("label,a\n0,1\n0,2\n"), "two classes"));
  CHECK(has_text(error_of("label,a\n0,1\n"), "at least two"));
  // both at once
  CHECK(has_text(error_of("label,a\nx,1\n1,y\n"), "x.csv:2:1:"));
  CHECK(has_text(error_of("label,a\nx,1\n1,y\n"), "x.csv:3:3:"));
}

TEST_CASE("IDX files are read as MNIST defines them, and damaged ones refused") {
  const std::string images = idx_header(8, {2, 1, 3}) + std::string("\x00\xff\x33\x01\x02\x03", 6);
  const std::string labels = idx_header(8, {2}) + std::string("\x04\x01", 2);
  const Samples samples = read_idx("i", images, "l", labels);
  CHECK(samples.features == 3);
  CHECK(samples.classes == 5);
  CHECK(samples.labels == std::vector{4, 1});
  CHECK(samples.values[1] == 1);
  CHECK(samples.values[2] == doctest::Approx(0.2));
  const auto refused = [&](const std::string& i, const std::string& l) {
    CHECK_THROWS_AS(read_idx("i", i, "l", l), InputError);
  };
  refused(images.substr(0, images.size() - 1), labels);
  refused(images + "x", labels);
  refused(images.substr(0, 10), labels);
  refused("", labels);
  refused("PK" + images.substr(2), labels);
  refused(idx_header(13, {2, 1, 3}) + std::string(24, 'x'), labels);
  refused(images, idx_header(8, {3}) + "abc");
  refused(idx_header(8, {-1, -1, -1}), labels);
  refused(idx_header(8, {0, 3, 3}), idx_header(8, {0}));
}

TEST_CASE("missing data says how to get it") {
  LearningData data;
  data.file = "/no/such.csv";
  CHECK_THROWS_AS(load_samples(data, installed, {}, 1), FileError);
  data = {};
  data.idx = "/no/such";
  CHECK_THROWS_WITH_AS(load_samples(data, installed, {}, 1), doctest::Contains("train-images-idx3-ubyte"),
                       InputError);
  std::error_code ignored;
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist", ignored))
    CHECK_THROWS_WITH_AS(load_samples(named(DataName::fashion_mnist), installed, {}, 1),
                         doctest::Contains("dataset-fashion-mnist"), InputError);
  CHECK_THROWS_AS(load_samples(named(DataName::digits), config::Catalogue{{"/no/such"}}, {}, 1), InputError);
}

TEST_CASE("the best classifier of a gaussian set has the error that is stated") {
  // two classes at a distance of separation * sqrt(2): Phi(-separation / sqrt(2))
  CHECK(gaussian_least_error(2, 2) == doctest::Approx(0.5 * std::erfc(1.0)).epsilon(1e-9));
  CHECK(gaussian_least_error(7, 0) == doctest::Approx(6.0 / 7).epsilon(1e-9));
  CHECK(gaussian_least_error(10, 30) < 1e-12);
  CHECK(gaussian_least_error(10, 1000) < 1e-12);
  constexpr int count = 40'000;
  for (const double separation : {1.0, 3.0}) {
    const double expected = gaussian_least_error(10, separation);
    const double error = error_of_best(gaussian_samples(count, 10, 10, separation, 3));
    CHECK(std::abs(error - expected) < 3 * std::sqrt(expected * (1 - expected) / count));
  }
}

TEST_CASE("the informative features of an nt3_like set tell the classes apart with the stated error") {
  CHECK(nt3_like_least_error(4, 2) == doctest::Approx(0.5 * std::erfc(std::sqrt(2.0))).epsilon(1e-9));
  CHECK(nt3_like_least_error(10000, 10) == 0);
  CHECK(nt3_like_least_error(0, 2) == doctest::Approx(0.5).epsilon(1e-9));
  constexpr int count = 4000;
  constexpr int features = 30;
  const Samples samples = nt3_like_samples(count, features, 4, 2, 7);
  std::array<double, features> difference{};
  for (int i = 0; i < count; ++i)
    for (std::size_t j = 0; j < features; ++j)
      difference[j] +=
          (i % 2 == 0 ? -1 : 1) * samples.values[static_cast<std::size_t>(i) * features + j] / (count / 2.0);
  const auto moved = [&](double from, double to) {
    return std::ranges::count_if(difference, [&](double d) { return d > from && d < to; });
  };
  CHECK(moved(1.9, 2.1) == 2);
  CHECK(moved(-2.1, -1.9) == 2);
  CHECK(moved(-0.15, 0.15) == features - 4);
  CHECK(load_samples(named(DataName::nt3_like), installed, {}, 1).train.count() == 1120);
}

TEST_CASE("batches follow from worker and step alone") {
  for (const DataPerWorker division :
       {DataPerWorker::sampled, DataPerWorker::sharded, DataPerWorker::replicated}) {
    Batches one(division, 50, 3, 8, random::Generator(1, {}));
    Batches other(division, 50, 3, 8, random::Generator(1, {}));
    const std::vector<int> late = other.at(1, 9);
    for (int step = 0; step < 9; ++step) one.at(1, step);
    CHECK(one.at(1, 9) == late);
    CHECK(one.at(2, 9) != late);
  }
}

TEST_CASE("sharded workers pass over parts that share no sample, replicated ones over all") {
  Batches sharded(DataPerWorker::sharded, 10, 3, 2, random::Generator(1, {}));
  std::multiset<int> seen;
  for (const auto& [worker, steps] : {std::pair(0, 3), std::pair(1, 3), std::pair(2, 4)}) {
    std::multiset<int> own;
    for (int step = 0; step < steps; ++step)
      for (const int sample : sharded.at(worker, step)) own.insert(sample);
    CHECK(*own.rbegin() - *own.begin() <= 3);
    seen.insert(own.begin(), own.end());
  }
  const std::set<int> distinct(seen.begin(), seen.end());
  CHECK(distinct.size() == 10);
  Batches replicated(DataPerWorker::replicated, 10, 3, 2, random::Generator(1, {}));
  for (int worker = 0; worker < 3; ++worker) {
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::set<int> all;
      for (int step = 0; step < 5; ++step)
        for (const int sample : replicated.at(worker, epoch * 5 + step)) all.insert(sample);
      CHECK(all.size() == 10);
    }
  }
  CHECK_THROWS_AS(Batches(DataPerWorker::sharded, 2, 3, 1, random::Generator(1, {})), InputError);
}
