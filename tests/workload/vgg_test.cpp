#include "workload/vgg.hpp"

#include "config/diagnostic.hpp"
#include "workload/layer_rows.hpp"
#include "workload/model.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("every column of every layer of VGG-16 equals the reference table") {
  check_layers(vgg_layers({.convs = {2, 2, 3, 3, 3}}), "layers_vgg16.csv");
}

TEST_CASE("VGG-11 and VGG-19 have the published parameters") {
  CHECK(totals(vgg_layers({.convs = {1, 1, 2, 2, 2}})).parameters == 132'863'336);
  CHECK(totals(vgg_layers({.convs = {2, 2, 4, 4, 4}})).parameters == 143'667'240);
}

TEST_CASE("an image too small for VGG's poolings is an input error") {
  CHECK_THROWS_AS(vgg_layers({.convs = {2, 2, 3, 3, 3}, .image_size = 16}), InputError);
  CHECK_THROWS_AS(vgg_layers({.convs = {1}, .width = 1024, .image_size = 8192}), InputError);
}
