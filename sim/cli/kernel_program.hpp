#pragma once
// Runs the program with the CUDA kernels (sim/cuda), which is built only where nvcc is found.

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// The program, beside this one. Throws JobImpossible where it was not built.
std::filesystem::path find_kernel_program();

/// Works through `plan` and appends to `recording`, in chunks until the plan is done, or for one chunk of
/// `seconds`. What it says goes to stderr. Returns true when the plan is done. Throws JobImpossible where the
/// program finds no GPU it can use, FileError and InputError as it says. Ends this process, with exit code
/// 130, when the user stopped it.
bool run_kernel_program(const std::filesystem::path& program, const std::filesystem::path& plan,
                        const std::filesystem::path& recording, std::optional<int> seconds);

}  // namespace trainyard
