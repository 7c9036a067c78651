#include "io/gzip.hpp"

#include "config/diagnostic.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("compressed files are read, and damaged or endless ones refused") {
  // printf 'abc' | gzip -n
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00", 23);
  CHECK(uncompressed("x", packed, 100) == "abc");
  CHECK(uncompressed("x", packed + packed, 100) == "abcabc");
  CHECK(uncompressed("x", "abc", 100) == "abc");
  CHECK_THROWS_AS(uncompressed("x", packed, 2), InputError);
  for (std::size_t length = 2; length < packed.size(); ++length)
    CHECK_THROWS_AS(uncompressed("x", packed.substr(0, length), 100), InputError);
  std::string damaged = packed;
  damaged[19] = 'x';  // of the length
  CHECK_THROWS_AS(uncompressed("x", damaged, 100), InputError);
}

TEST_CASE("what is compressed is read back, the same bytes each time") {
  const std::string text = std::string(3'000'000, 'a') + "b";
  const std::string packed = compressed_by_gzip(text);
  CHECK(packed.size() < 10'000);
  CHECK(packed == compressed_by_gzip(text));
  CHECK(uncompressed("x", packed, text.size()) == text);
}
