#include "cuda/shapes.hpp"

#include "compute/work.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::cuda;

TEST_CASE("a matrix product's shape says which operands are stored transposed") {
  CHECK(parse_gemm_shape("m128 n1000 k2048 nt") == GemmShape{1, 128, 1000, 2048, false, true});
  CHECK(parse_gemm_shape("b16 m2 n3 k4 tn") == GemmShape{16, 2, 3, 4, true, false});
}

TEST_CASE("a convolution's shape has groups only where there are some") {
  const ConvShape plain{.batch = 128,
                        .in_channels = 3,
                        .height = 224,
                        .width = 200,
                        .out_channels = 64,
                        .kernel_h = 7,
                        .kernel_w = 5,
                        .stride = 2,
                        .pad_h = 3,
                        .pad_w = 0};
  CHECK(parse_conv_shape("n128 c3 h224 w200 k64 r7x5 s2 p3x0") == plain);
  CHECK(output_size(plain).height == 112);
  CHECK(output_size(plain).width == 98);
  CHECK(parse_conv_shape("n1 c64 h8 w8 k64 r3x3 s1 p1x1 g32")->groups == 32);
}

TEST_CASE("what is not exactly a shape, or no possible one, is none") {
  for (const char* text : {"", "-", "m1 n1 k1", "m1 n1 k1 nx", "m0 n1 k1 nn", "m01 n1 k1 nn", "m1 n1 k1 nn ",
                           "b1 m1 n1 k1 nn", "m99999999999 n1 k1 nn"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_gemm_shape(text));
  }
  for (const char* text :
       {"", "n1 c1 h1 w1 k1 r1x1 s1", "n1 c1 h1 w1 k1 r1x1 s0 p0x0", "n1 c1 h2 w2 k1 r3x3 s1 p0x0",
        "n1 c6 h8 w8 k8 r3x3 s1 p1x1 g4", "n1 c8 h8 w8 k8 r3x3 s1 p1x1 g1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_conv_shape(text));
  }
  for (const char* text : {"", "e", "e0", "e-4", "e1.5", "1024", "e4 ", "e1e99"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_elements(text));
  }
}

TEST_CASE("a number of values may be written as the simulator writes doubles") {
  CHECK(parse_elements("e1048576") == 1048576);
  CHECK(parse_elements("e1e+09") == 1'000'000'000);
  CHECK_FALSE(parse_elements("e1024 w32"));  // rows are the variant's to name
}

TEST_CASE("a variant may be a word and a size") {
  const auto found = parse_word_and_size("forward w1024", 'w');
  REQUIRE(found);
  CHECK(found->word == "forward");
  CHECK(found->size == 1024);
  for (const char* text : {"forward", "forward ", "forward c64", "forward w0", " w4", "forward w4 w4"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_word_and_size(text, 'w'));
  }
}
