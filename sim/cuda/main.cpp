// trainyard_gpu_kernels: works through a plan of measurements on one GPU. See README.md.

#include "check_cuda.cuh"
#include "command_line.hpp"
#include "device_facts.hpp"
#include "device_memory.cuh"
#include "exit_code.hpp"
#include "input_error.hpp"
#include "measure.hpp"
#include "plan.hpp"
#include "work.hpp"

#include <chrono>
#include <csignal>
#include <iostream>
#include <unistd.h>

namespace trainyard::cuda {
namespace {

/// No usable GPU: exit code 4.
struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

volatile std::sig_atomic_t interrupts = 0;

/// The first Ctrl-C lets the current row finish; the second ends the program at once and loses only that row.
extern "C" void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1) ::_exit(exit_interrupted);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

/// Selects the GPU and runs a kernel there, which fails if the program was built for other GPUs.
void select_gpu(int device) {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status == cudaErrorInsufficientDriver) {
    throw NoGpu("no usable GPU: no NVIDIA driver is loaded, or it is too old for this CUDA");
  }
  if (status != cudaSuccess) throw NoGpu(std::string("no usable GPU: ") + cudaGetErrorString(status));
  if (device >= count) {
    throw NoGpu("there is no GPU " + std::to_string(device) + ": CUDA sees " + std::to_string(count) +
                ", counted from 0");
  }
  try {
    CHECK_CUDA(cudaSetDevice(device));
    fill_random(DeviceBuffer(sizeof(float)), Dtype::fp32, 0);
  } catch (const CudaError& error) {
    const bool other_architecture =
        error.status == cudaErrorNoKernelImageForDevice || error.status == cudaErrorUnsupportedPtxVersion;
    throw NoGpu(
        std::string("GPU ") + std::to_string(device) + " is not usable: " + error.what() +
        (other_architecture ? " (build with -DCMAKE_CUDA_ARCHITECTURES=native on this machine)" : ""));
  } catch (const OutOfMemory& error) {
    throw NoGpu(std::string("GPU ") + std::to_string(device) + " is not usable: " + error.what());
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int run(const std::vector<std::string>& arguments) {
  const double start = seconds_now();
  const CommandLine line = parse_command_line(arguments);
  if (line.help) {
    std::cout << help_text();
    return exit_done;
  }
  const std::vector<PlanRow> plan = read_plan(line.plan);
  select_gpu(line.device);
  Recording recording(line.recording, device_facts());

  catch_interrupts();
  Progress progress(std::cerr, ::isatty(STDERR_FILENO) != 0);
  for (const std::string& note : recording.notes()) progress.message(note);
  const WorkOptions options{.measure = measure,
                            .now = [start] { return seconds_now() - start; },
                            .interrupted = [] { return interrupts > 0; },
                            .seconds = line.seconds,
                            .left_out = line.left_out};
  const WorkResult result = work_through(plan, recording, options, progress);
  progress.message("trainyard_gpu_kernels: " + summary(result));
  return exit_code(result);
}

/// Prints an error on one line; a file's problems, which are already lines, unchanged.
int report(int code, const std::string& text) {
  std::cerr << (code == exit_wrong_input ? "" : "trainyard_gpu_kernels: ") << text << std::endl;
  return code;
}

}  // namespace
}  // namespace trainyard::cuda

int main(int argc, char** argv) {
  using namespace trainyard::cuda;  // NOLINT(google-build-using-namespace)
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const UsageError& error) {
    return report(exit_wrong_command_line, std::string(error.what()) + " (see --help)");
  } catch (const InputError& error) {
    return report(exit_wrong_input, error.what());
  } catch (const NoGpu& error) {
    return report(exit_no_gpu, error.what());
  } catch (const FileError& error) {
    return report(exit_file, error.what());
  } catch (const std::exception& error) {
    return report(exit_wrong_result, error.what());
  }
}
