#include "config/diagnostic.hpp"
#include "learn/samples.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace trainyard {

namespace {

[[noreturn]] void refuse_idx(const std::string& name, const std::string& reason, const std::string& hint) {
  throw InputError(in_quotes(name) + ": " + reason, hint);
}

/// The array of an IDX file: two zero bytes, the type of its values (8: unsigned bytes), the number of
/// dimensions, and each dimension as 4 bytes, the highest first. Source: Y. LeCun's page of MNIST.
struct Idx {
  std::vector<std::uint32_t> dimensions;
  std::string_view values;
};

std::uint32_t byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

Idx parse_idx(const std::string& name, std::string_view bytes, std::size_t least_dimensions) {
  constexpr std::uint32_t unsigned_bytes = 8;
  if (bytes.size() < 4 || byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0)
    refuse_idx(name, "not an IDX file: it does not start with two zero bytes", "the format of MNIST's files");
  if (byte_at(bytes, 2) != unsigned_bytes)
    refuse_idx(name, fmt::format("values of type 0x{:02x} at byte 2 are not supported", byte_at(bytes, 2)),
               "0x08, unsigned bytes");
  Idx idx;
  const std::size_t count = byte_at(bytes, 3);
  if (count < least_dimensions)
    refuse_idx(name, fmt::format("it has {} dimensions (byte 3), not at least {}", count, least_dimensions),
               "images have 3, labels 1");
  const std::size_t header = 4 + 4 * count;
  if (bytes.size() < header) refuse_idx(name, "the file ends in its header", "copy it again");
  std::uint64_t size = 1;
  constexpr std::uint64_t most = std::uint64_t{1} << 40U;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t value = 0;
    for (std::size_t j = 0; j < 4; ++j) value = value << 8U | byte_at(bytes, 4 + 4 * i + j);
    idx.dimensions.push_back(value);
    size = std::min(most, size * std::min<std::uint64_t>(value, most));
    if (size >= most) refuse_idx(name, fmt::format("dimension {} is absurd: {}", i, value), {});
  }
  if (bytes.size() - header != size)
    refuse_idx(
        name, fmt::format("the header announces {} values, but {} bytes follow", size, bytes.size() - header),
        "copy it again");
  idx.values = bytes.substr(header);
  return idx;
}

}  // namespace

Samples read_idx(const std::string& images_name, std::string_view images, const std::string& labels_name,
                 std::string_view labels) {
  const Idx pictures = parse_idx(images_name, images, 2);
  const Idx classes = parse_idx(labels_name, labels, 1);
  if (classes.dimensions.size() != 1) refuse_idx(labels_name, "labels have one dimension", {});
  const std::uint32_t count = pictures.dimensions[0];
  if (count != classes.dimensions[0])
    refuse_idx(labels_name, fmt::format("{} labels for {} images", classes.dimensions[0], count), {});
  if (count < 2 || pictures.values.empty())
    refuse_idx(images_name, "a set of samples needs at least two", {});
  Samples samples;
  samples.features = static_cast<int>(pictures.values.size() / count);
  constexpr float largest = 255;
  samples.values.reserve(pictures.values.size());
  for (const char value : pictures.values)
    samples.values.push_back(static_cast<float>(static_cast<unsigned char>(value)) / largest);
  samples.labels.reserve(count);
  for (const char label : classes.values) samples.labels.push_back(static_cast<unsigned char>(label));
  samples.classes = *std::ranges::max_element(samples.labels) + 1;
  return samples;
}

}  // namespace trainyard
