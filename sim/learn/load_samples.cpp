#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "config/read_file.hpp"
#include "io/gzip.hpp"
#include "learn/samples.hpp"
#include "learn/streams.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <cmath>
#include <fmt/format.h>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_idx = std::uintmax_t{1} << 30U;
constexpr const char* fashion_mnist_folder = "/usr/share/datasets/fashion-mnist";
constexpr const char* digits_file = "workloads/data/digits.csv.gz";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string content(const fs::path& file, std::uintmax_t largest) {
  return uncompressed(file.string(), config::read_file(file, largest), largest);
}

Samples load_digits(const config::Catalogue& catalogue) {
  const fs::path file = config::shipped_file(catalogue, digits_file);
  if (file.empty())
    throw InputError(fmt::format("{} is not part of this installation", in_quotes(digits_file)),
                     "install trainyard with its folder workloads/");
  Samples samples = read_samples_csv(file.string(), content(file, largest_csv));
  constexpr float largest_pixel = 16;
  for (float& value : samples.values) value /= largest_pixel;
  return samples;
}

/// The file of that name, as it is or compressed.
fs::path idx_file(const fs::path& folder, const std::string& name) {
  const fs::path plain = folder / name;
  fs::path packed = folder / (name + ".gz");
  if (is_there(plain)) return plain;
  if (is_there(packed)) return packed;
  throw InputError(
      fmt::format("{} has neither {} nor {}.gz", in_quotes(folder.string()), name, name),
      "a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
      "t10k-labels-idx1-ubyte");
}

Samples load_idx(const fs::path& folder, const std::string& part) {
  const fs::path images = idx_file(folder, part + "-images-idx3-ubyte");
  const fs::path labels = idx_file(folder, part + "-labels-idx1-ubyte");
  return read_idx(images.string(), content(images, largest_idx), labels.string(),
                  content(labels, largest_idx));
}

LearningSets load_idx_sets(const fs::path& folder) {
  LearningSets sets{.train = load_idx(folder, "train"), .test = load_idx(folder, "t10k"), .source = {}};
  if (sets.train.features != sets.test.features)
    throw InputError(fmt::format("training images in {} have {} pixels, test images {}",
                                 in_quotes(folder.string()), sets.train.features, sets.test.features));
  sets.train.classes = sets.test.classes = std::max(sets.train.classes, sets.test.classes);
  sets.source = folder.string();
  return sets;
}

Samples chosen(const Samples& all, const std::vector<int>& order, std::size_t from, std::size_t to) {
  Samples part{.features = all.features, .classes = all.classes, .values = {}, .labels = {}};
  part.values.reserve((to - from) * static_cast<std::size_t>(all.features));
  for (std::size_t i = from; i < to; ++i) {
    const auto sample = static_cast<std::size_t>(order[i]);
    const auto begin = all.values.begin() + static_cast<long>(sample) * all.features;
    part.values.insert(part.values.end(), begin, begin + all.features);
    part.labels.push_back(all.labels[sample]);
  }
  return part;
}

LearningSets divided(const Samples& all, double test_part, std::uint64_t seed) {
  const std::vector<int> order = learning::shuffled(all.count(), random::Generator(seed, {learning::split}));
  const auto test = static_cast<std::size_t>(std::floor(test_part * all.count() + 0.5));
  return {.train = chosen(all, order, test, order.size()), .test = chosen(all, order, 0, test), .source = {}};
}

void add_noise(Samples& train, double part, std::uint64_t seed) {
  if (part <= 0) return;
  random::Generator generator(seed, {learning::noise});
  const std::vector<int> order = learning::shuffled(train.count(), generator.of(0));
  random::Generator labels = generator.of(1);
  const auto noisy = static_cast<std::size_t>(std::floor(part * train.count() + 0.5));
  for (std::size_t i = 0; i < noisy; ++i)
    train.labels[static_cast<std::size_t>(order[i])] = learning::below(train.classes, labels);
}

LearningSets load_named(const LearningData& data, const config::Catalogue& catalogue, double test,
                        std::uint64_t seed) {
  switch (*data.name) {
    case DataName::digits: {
      LearningSets sets = divided(load_digits(catalogue), test, seed);
      sets.source = "1,797 handwritten digits, UCI (E. Alpaydin, C. Kaynak, 1998), CC BY 4.0";
      return sets;
    }
    case DataName::fashion_mnist: {
      if (!is_there(fashion_mnist_folder))
        throw InputError(fmt::format("Fashion-MNIST is not installed: there is no {}", fashion_mnist_folder),
                         "install Debian's package dataset-fashion-mnist, or give the folder of its files as "
                         "'idx: PATH' in place of 'name'");
      LearningSets sets = load_idx_sets(fashion_mnist_folder);
      sets.source = "Fashion-MNIST, Zalando Research, MIT";
      return sets;
    }
    case DataName::gaussian: {
      const int classes = data.classes.value_or(10);
      const double separation = data.separation.value_or(3);
      LearningSets sets = divided(gaussian_samples(data.samples.value_or(2500), data.features.value_or(20),
                                                   classes, separation, seed),
                                  test, seed);
      sets.least_error = gaussian_least_error(classes, separation);
      sets.source = "made: normally distributed classes";
      return sets;
    }
    case DataName::nt3_like: {
      const int informative = data.informative.value_or(20);
      const double separation = data.separation.value_or(1.5);
      LearningSets sets = divided(nt3_like_samples(data.samples.value_or(1400), data.features.value_or(1000),
                                                   informative, separation, seed),
                                  test, seed);
      sets.least_error = nt3_like_least_error(informative, separation);
      sets.source = "made: the shape of CANDLE's NT3, not its data";
      return sets;
    }
  }
  return {};
}

}  // namespace

void find_samples(LearningData& data, const fs::path& named_in, std::set<std::string>& paths) {
  for (std::optional<std::string>* const name : {&data.file, &data.idx}) {
    if (!*name) continue;
    const fs::path path = config::beside(named_in, **name);
    paths.insert(path.string());
    std::error_code error;  // reading says why a path cannot be looked at
    if (fs::exists(path, error))
      *name = config::real_path(path).string();
    else if (!error)
      throw InputError(fmt::format("there is no {}", in_quotes(path.string())),
                       "paths are relative to the experiment's file");
  }
}

LearningSets load_samples(const LearningData& data, const config::Catalogue& catalogue,
                          const fs::path& named_in, std::uint64_t seed) {
  constexpr double usual_test = 0.2;
  const double test = data.test.value_or(usual_test);
  LearningSets sets;
  if (data.name) {
    sets = load_named(data, catalogue, test, seed);
  } else if (data.file) {
    const fs::path file = config::beside(named_in, *data.file);
    sets = divided(read_samples_csv(file.string(), content(file, largest_csv)), test, seed);
    sets.source = file.string();
  } else {
    sets = load_idx_sets(config::beside(named_in, *data.idx));
  }
  if (sets.train.count() == 0) throw InputError("no training samples are left", "a smaller 'test'");
  add_noise(sets.train, data.label_noise, seed);
  return sets;
}

}  // namespace trainyard
