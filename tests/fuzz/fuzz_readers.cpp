// The readers under libFuzzer:
//
//     fuzz_readers TARGET [options and inputs of libFuzzer]
//     fuzz_readers --list             targets with their seeds and kinds of file, for fuzz.py
//     fuzz_readers TARGET --made FILE the target's made seed
//
// One program: linking each target alone would take longer than a short run of all.

#include "cli/commands.hpp"
#include "config/diagnostic.hpp"
#include "config/diagnostic_lines.hpp"
#include "fuzz/targets.hpp"
#include "input_error.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <typeinfo>
#include <unistd.h>

namespace trainyard::fuzz {
namespace {

const Target* target = nullptr;
int message_file = STDERR_FILENO;

template <class Use>
void for_all_targets(const Use& use) {
  for (const auto& targets : {text_targets(), yaml_targets(), file_targets()})
    for (const Target& one : targets) use(one);
}

/// What a terminal would obey: a reader quotes what a stranger wrote.
void require_printable(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      broken(fmt::format("byte {:#04x} in a message: {}", int{byte}, text));
  }
}

void check_messages(const InputError& error) {
  if (error.diagnostics().empty()) broken("an InputError without a message");
  for (const Diagnostic& diagnostic : error.diagnostics()) require_printable(to_lines(diagnostic, 100));
}

void read(const std::string& input) {
  try {
    target->read(input);
  } catch (const InputError& error) {
    check_messages(error);
  } catch (const FileError&) {         // exit code 5
  } catch (const JobImpossible&) {     // 4
  } catch (const LimitMissed&) {       // 1
  } catch (const cuda::InputError&) {  // 3, of the program that measures GPUs
  } catch (const CLI::ParseError&) {   // 2: --batch is missing, for example
  } catch (const std::exception& error) {
    broken(fmt::format("{}: {}", typeid(error).name(), error.what()));
  }
}

[[noreturn]] void list_targets() {
  for_all_targets([](const Target& one) {
    fmt::print("{}\t{}\t{}\t{}\n", one.name, one.kind, one.made == nullptr ? "" : "made", one.seeds);
  });
  std::exit(0);
}

[[noreturn]] void refuse(std::string_view problem) {
  fmt::print(stderr, "fuzz_readers: {}\n", problem);
  std::exit(2);
}

}  // namespace

void broken(std::string_view what) {
  (void)!::write(message_file, what.data(), what.size());
  (void)!::write(message_file, "\n", 1);
  std::abort();
}

void require_equal(std::string_view what, std::string_view first, std::string_view second) {
  if (first != second) broken(fmt::format("{} differs:\n{}\n--- and\n{}", what, first, second));
}

}  // namespace trainyard::fuzz

using namespace trainyard::fuzz;

/// Takes the target out of the arguments before libFuzzer reads them.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc < 2) refuse("which target? --list prints them");
  const std::string_view word = (*argv)[1];
  if (word == "--list") list_targets();
  for_all_targets([&](const Target& one) {
    if (one.name == word) target = &one;
  });
  if (target == nullptr) refuse(fmt::format("unknown target '{}'", word));
  if (*argc == 4 && std::string_view((*argv)[2]) == "--made") {
    std::ofstream((*argv)[3], std::ios::binary) << target->made();
    std::exit(0);
  }
  for (int i = 1; i + 1 < *argc; ++i) (*argv)[i] = (*argv)[i + 1];
  --*argc;
  message_file = ::dup(STDERR_FILENO);  // libFuzzer's -close_fd_mask closes stderr
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  trainyard::fuzz::read(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
