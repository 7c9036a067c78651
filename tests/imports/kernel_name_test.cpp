#include "imports/op_names.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("a kernel's name ends before its arguments, which an anonymous namespace has not begun") {
  CHECK(short_kernel_name("void at::native::add_kernel<float, 4>(int, float*)") == "at::native::add_kernel");
  CHECK(short_kernel_name("void at::native::(anonymous namespace)::cat_batched_copy<float>(int)") ==
        "at::native::(anonymous namespace)::cat_batched_copy");
  CHECK(short_kernel_name("ampere_sgemm_128x64_nn") == "ampere_sgemm_128x64_nn");
  CHECK(short_kernel_name("<lambda>") == "<lambda>");
  CHECK(short_kernel_name(std::string(100, 'k')) == std::string(60, 'k'));
  CHECK(short_kernel_name("").empty());
}
