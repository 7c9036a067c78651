#pragma once
// Results on their way from a child process to its parent, as JSON.

#include "accuracy/published_errors.hpp"
#include "published/fit.hpp"
#include "units/quantity.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace nlohmann {

template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& to, const std::optional<T>& value) { to = value ? json(*value) : json(); }
  static void from_json(const json& from, std::optional<T>& value) {
    if (!from.is_null()) value = from.get<T>();
  }
};

template <>
struct adl_serializer<trainyard::Bytes> {
  static void to_json(json& to, const trainyard::Bytes& size) { to = size.si(); }
  static void from_json(const json& from, trainyard::Bytes& size) {
    size = trainyard::Bytes{from.get<double>()};
  }
};

}  // namespace nlohmann

namespace trainyard {

inline void to_json(nlohmann::json& to, const Circumstances& of) { to = circumstances_text(of); }
inline void from_json(const nlohmann::json& from, Circumstances& of) { of = read_circumstances(from); }

template <class T>
void to_json(nlohmann::json& to, const ByFit<T>& by_fit) {
  to = by_fit.values;
}
template <class T>
void from_json(const nlohmann::json& from, ByFit<T>& by_fit) {
  from.get_to(by_fit.values);
}

}  // namespace trainyard
