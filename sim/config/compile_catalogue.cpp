// Writes the trees of the YAML files that are named on its command line: compile_catalogue OUTPUT FILE...
#include "config/compiled.hpp"
#include "config/document.hpp"
#include "config/read_file.hpp"

#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

int main(int count, char** words) {
  namespace config = trainyard::config;
  try {
    if (count < 2) throw std::invalid_argument("usage: compile_catalogue OUTPUT FILE...");
    const std::span arguments(words + 1, words + count);
    std::vector<config::ReadText> files;
    for (const char* name : arguments.subspan(1)) {
      std::string text = config::read_file(name, std::numeric_limits<std::uint32_t>::max());
      config::Document document = config::parse(name, text);
      if (!document.errors.empty()) throw trainyard::InputError(std::move(document.errors));
      files.push_back({std::move(text), std::move(document.root)});
    }
    std::ofstream output(arguments.front(), std::ios::binary);
    output << config::compile(std::move(files));
    output.close();
    if (!output) throw std::runtime_error(std::string("cannot write ") + arguments.front());
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
