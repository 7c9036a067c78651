#pragma once
// Runs the program with the CUDA kernels (sim/cuda), which is built only if nvcc is found.

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// The program, in the folder of this one. Throws JobImpossible if it was not built.
std::filesystem::path find_kernel_program();

/// Works through `plan` and appends to `recording`, in chunks until the plan is done, or for one chunk of
/// `seconds`. The program's messages go to stderr. Returns true if the plan is done. Throws JobImpossible if
/// the program finds no usable GPU, FileError and InputError according to its exit code. Ends this process,
/// with exit code 130, if the user stopped it.
bool run_kernel_program(const std::filesystem::path& program, const std::filesystem::path& plan,
                        const std::filesystem::path& recording, std::optional<int> seconds);

}  // namespace trainyard
