#pragma once
// Samples to learn from, and where they come from: a shipped set, files, or made from the seed.

#include "config/catalogue.hpp"
#include "learn/learn_settings.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// Single precision halves the memory of large sets; all arithmetic is in double.
struct Samples {
  int features = 0;
  int classes = 0;
  std::vector<float> values;  ///< one sample after the other
  std::vector<int> labels;    ///< by sample, from 0

  [[nodiscard]] int count() const { return static_cast<int>(labels.size()); }
};

struct LearningSets {
  Samples train;
  Samples test;  ///< may be empty
  /// The least error that any classifier can have on test samples of a made set.
  std::optional<double> least_error = {};
  std::string source;  ///< "digits.csv.gz: UCI ..." for reports
};

/// Gives the files of `data` names that are the same in any folder and adds them to `paths`. Throws
/// InputError for a missing one.
void find_samples(LearningData& data, const std::filesystem::path& named_in, std::set<std::string>& paths);

/// The samples of `data`, divided and with noisy training labels by `seed`; the same for all repeats. Paths
/// are relative to the file `named_in`, or to the current folder. Throws InputError with positions for wrong
/// content, and InputError or FileError for what is missing.
LearningSets load_samples(const LearningData& data, const config::Catalogue& catalogue,
                          const std::filesystem::path& named_in, std::uint64_t seed);

/// Samples in CSV: a header, a column 'label' with whole numbers from 0, numbers in all others. Throws
/// InputError with every problem found. `name`: for messages.
Samples read_samples_csv(const std::string& name, std::string_view text);

/// Samples in the IDX format of MNIST (images as unsigned bytes, 0 to 255, become 0 to 1). Throws InputError.
Samples read_idx(const std::string& images_name, std::string_view images, const std::string& labels_name,
                 std::string_view labels);

/// `count` samples of normally distributed classes with covariance 1: class c has the mean `separation` on
/// axis c. All classes are equally frequent.
Samples gaussian_samples(int count, int features, int classes, double separation, std::uint64_t seed);
/// The error of the best classifier on them: 1 - integral of phi(z) Phi(z + separation)^(classes - 1) dz.
double gaussian_least_error(int classes, double separation);

/// `count` samples of two equally frequent classes: features are normal with deviation 1, and `informative`
/// of them, at random places, are shifted by `separation` between the classes. The shape of CANDLE's NT3
/// (RNA-seq of normal and tumour tissue), not its data.
Samples nt3_like_samples(int count, int features, int informative, double separation, std::uint64_t seed);
/// Phi(-separation sqrt(informative) / 2).
double nt3_like_least_error(int informative, double separation);

}  // namespace trainyard
