#pragma once
// The keys that families of image models share.

#include "config/keys.hpp"

namespace trainyard::config {

template <class T>
constexpr auto depths_key() {
  return required("depths", &T::depths, "blocks of each stage: a number for each").at_least(1).at_most(1'000);
}
template <class T>
constexpr auto widths_key() {
  return required("widths", &T::widths, "channels of each stage: a number for each")
      .at_least(1)
      .at_most(100'000);
}
template <class T>
constexpr auto image_size_key() {
  return optional("image_size", &T::image_size, "height and width of an image in pixels")
      .at_least(1)
      .at_most(100'000);
}
template <class T>
constexpr auto classes_key() {
  return optional("classes", &T::classes, "classes").at_least(1).at_most(100'000'000);
}
template <class T>
constexpr auto drop_path_key() {
  return optional("drop_path", &T::drop_path, "true: stochastic depth before the residual sums");
}

}  // namespace trainyard::config
