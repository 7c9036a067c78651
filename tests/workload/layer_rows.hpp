#pragma once
// Layers compared with the reference tables layers_*.csv, cell by cell.

#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/layer.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

/// The file's header and rows as text, without its comments.
inline std::vector<std::vector<std::string>> reference_table(const std::string& name) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/workload/" + name);
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  trainyard::CsvProblems problems(name, text);
  const trainyard::CsvFile csv = trainyard::parse_csv(text, problems);
  REQUIRE(problems.empty());
  std::vector<std::vector<std::string>> table;
  const auto append = [&](const auto& row) {
    table.emplace_back();
    for (const auto& cell : row.cells) table.back().emplace_back(cell.text);
  };
  append(csv.header);
  for (const auto& row : csv.rows) append(row);
  return table;
}

inline std::string joined(const std::vector<int>& shape) {
  std::string text;
  for (const int size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// A layer as a row of the tables.
inline std::vector<std::string> row_of(std::size_t index, const trainyard::Layer& layer) {
  using trainyard::shortest;
  const bool is_window = layer.window.kernel_h > 0;
  const bool is_matrix = layer.forward_macs > 0;
  const auto whole = [&](int value) { return is_matrix ? std::to_string(value) : ""; };
  return {
      std::to_string(index),
      layer.name,
      std::string(trainyard::config::name_of(layer.kind)),
      joined(layer.in_shape),
      joined(layer.out_shape),
      is_window ? std::to_string(layer.window.kernel_h) + "x" + std::to_string(layer.window.kernel_w) : "",
      is_window ? std::to_string(layer.window.stride) : "",
      shortest(trainyard::parameter_elements(layer)),
      std::to_string(layer.parameters.size()),
      shortest(layer.forward_macs),
      shortest(layer.forward_flops.si()),
      shortest(layer.backward_flops.si()),
      shortest(layer.in_elements),
      shortest(layer.out_elements),
      shortest(layer.saved_elements),
      shortest(layer.saved_fixed.si()),
      shortest(layer.forward_rw_elements),
      shortest(layer.backward_rw_elements),
      whole(layer.gemm.batch),
      whole(layer.gemm.m),
      whole(layer.gemm.n),
      whole(layer.gemm.k)};
}

/// Checks every column of every layer.
inline void check_layers(const std::vector<trainyard::Layer>& layers, const std::string& file) {
  const auto table = reference_table(file);
  REQUIRE(table.size() == layers.size() + 1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::vector<std::string> row = row_of(i, layers[i]);
    REQUIRE(row.size() == table[0].size());
    for (std::size_t c = 0; c < row.size(); ++c) {
      INFO(layers[i].name, ", column ", table[0][c]);
      CHECK(row[c] == table[i + 1][c]);
    }
  }
}
