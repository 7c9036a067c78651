#include "workload/shape_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>

using namespace trainyard;

TEST_CASE("shapes are written in the letters of the documentation") {
  const ConvShape conv{.batch = 128,
                       .in_channels = 3,
                       .height = 224,
                       .width = 200,
                       .out_channels = 64,
                       .kernel_h = 7,
                       .kernel_w = 5,
                       .stride = 2,
                       .pad_h = 3,
                       .pad_w = 0};
  CHECK(to_string(Shape(conv)) == "n128 c3 h224 w200 k64 r7x5 s2 p3x0");
  CHECK(to_string(Shape(GemmShape{1, 128, 1000, 2048, false, true})) == "m128 n1000 k2048 nt");
  CHECK(to_string(Shape(GemmShape{16, 2, 3, 4, true, false})) == "b16 m2 n3 k4 tn");
  CHECK(to_string(Shape(VectorShape{802816})) == "e802816");
  CHECK(to_string(Shape(VectorShape{802816, 1024})) == "e802816 w1024");
  CHECK(to_string(Shape()).empty());
}

TEST_CASE("a shape reads back as it was written") {
  CHECK(rc::check([] {
    const auto size = [] { return *rc::gen::inRange(1, 100'000); };
    const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
    const Shape shapes[] = {Shape(ConvShape{size(), size(), size(), size(), size(), size(), size(), size(),
                                            size() - 1, size() - 1, flag() ? 1 : size()}),
                            Shape(GemmShape{flag() ? 1 : size(), size(), size(), size(), flag(), flag()}),
                            Shape(VectorShape{size() / 7.0, flag() ? 0 : size()})};
    for (const Shape& shape : shapes) RC_ASSERT(parse_shape(to_string(shape)) == shape);
  }));
}

TEST_CASE("what is not exactly a shape is none") {
  for (const char* text : {"n128",
                           "n128 c3 h224 w224 k64 r7x7 s2",
                           "n128 c3 h224 w224 k64 r7x7 s2 p3x3 ",
                           "n0 c3 h9 w9 k4 r1x1 s1 p0x0",
                           "n-1 c3 h9 w9 k4 r1x1 s1 p0x0",
                           "n01 c3 h9 w9 k4 r1x1 s1 p0x0",
                           "n99999999999 c3 h9 w9 k4 r1x1 s1 p0x0",
                           "n1 c3 h9 w9 k4 r1x1 s1 p0x0 g1",
                           "m1 n2 k3",
                           "m1 n2 k3 nx",
                           "m1 n2 k3 ntt",
                           "b1 m1 n2 k3 nn",
                           "e",
                           "e0",
                           "e5 w0",
                           "e5 w",
                           "e5 w1 ",
                           "e5  w1",
                           "e w1",
                           "e-5",
                           "enan",
                           "x",
                           " e5",
                           "128x64"}) {
    INFO(text);
    CHECK_FALSE(parse_shape(text).has_value());
  }
}
