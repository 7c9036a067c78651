// Hostile input: mutated files and the corpus. For any bytes, the answer is a value or an InputError.
#include "config/samples.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace trainyard;
using namespace trainyard::config;

namespace {

constexpr std::string_view seed_text = R"(# a yard
title: "the \"yard\" of gr\u00fcn"
links:
  - {name: nvlink, bandwidth: 150 GB/s, latency: 1.2 us, lanes: 6}
  - name: nic
    bandwidth: &b {value: 100 Gbps, specified: 'it''s, 2018'}
  - {name: other, bandwidth: *b}
colour: blue
sizes: [64, 128, 256]
power: {idle: {value: 50 W, assumed: no figure}, max: 300 W}
notes: |
  text
  more
)";

/// Numerical Recipes' 64-bit generator: the same mutations everywhere.
class Random {
public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % limit;
  }

private:
  std::uint64_t state_ = 20180327;
};

void mutate(std::string& text, Random& random) {
  constexpr std::string_view alphabet = "\n\n  -:?[]{},&*!|>'\"%@`#~<=._0129eax\t\\\x04\x80\xc3\xff";
  const std::size_t at = random.below(text.size() + 1);
  const std::size_t length = std::min(random.below(20), text.size() - at);
  switch (random.below(5)) {
    case 0:
      text.insert(at, 1, alphabet[random.below(alphabet.size())]);
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(random.below(text.size() + 1), text.substr(at, length));
      break;
    case 3:
      if (at < text.size()) text[at] = alphabet[random.below(alphabet.size())];
      break;
    default:
      text.resize(at);
      break;
  }
}

/// True if `text` gives a value or an InputError with a message; any other exception fails the test.
bool is_answered(std::string_view text) {
  try {
    read<Yard>(parse("yard.yaml", text));
    return true;
  } catch (const InputError& error) {
    return !error.diagnostics().empty() && !std::string_view(error.what()).empty();
  }
}

}  // namespace

TEST_CASE("mutated files end in a value or an input error") {
  Random random;
  int bad = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text(seed_text);
    const std::size_t mutations = 1 + random.below(8);
    for (std::size_t k = 0; k < mutations; ++k) mutate(text, random);
    bad += is_answered(text) ? 0 : 1;
  }
  CHECK(bad == 0);
}

TEST_CASE("mutated overrides end in a value or an input error") {
  const Document original = parse("yard.yaml", seed_text.substr(0, seed_text.find("notes")));
  Random random;
  int bad = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string path = "links[0].bandwidth";
    std::string text = "{value: 3 GB/s, measured: \"x\"}";
    mutate(random.below(2) == 0 ? path : text, random);
    mutate(random.below(2) == 0 ? path : text, random);
    Document document = original;
    try {
      set(document, path, text);
      read<Yard>(document);
    } catch (const InputError& error) {
      bad += error.diagnostics().empty() ? 1 : 0;
    }
  }
  CHECK(bad == 0);
}

TEST_CASE("every file of the corpus is rejected with a message") {
  const std::filesystem::path corpus = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests/fuzz/corpus";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    CHECK(errors_of(text) != "no error");
    ++files;
  }
  CHECK(files >= 20);
}
