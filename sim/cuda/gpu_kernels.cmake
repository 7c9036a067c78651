# trainyard_gpu_kernels: the program. Included where nvcc was found.

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES all-major)  # one binary for every GPU that this CUDA knows
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old: 12 or newer is needed")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know that nvcc 12 takes it
endif()
find_package(CUDAToolkit REQUIRED)
find_package(Threads REQUIRED)

# NAME_INCLUDE and NAME_LIBRARY of an optional library. Python's packages of them hold no plain .so, only one
# with its version at the end.
set(CUDNN_ROOT "" CACHE PATH "folder with include/cudnn.h and lib/, if not in the usual places")
set(NCCL_ROOT "" CACHE PATH "folder with include/nccl.h and lib/, if not in the usual places")
function(find_optional name header library file)
  find_path(${name}_INCLUDE ${header} HINTS ${${name}_ROOT} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(${name}_LIBRARY NAMES ${library} ${file} NAMES_PER_DIR
               HINTS ${${name}_ROOT} ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
  mark_as_advanced(${name}_INCLUDE ${name}_LIBRARY)
endfunction()
find_optional(CUDNN cudnn.h cudnn libcudnn.so.9)
find_optional(NCCL nccl.h nccl libnccl.so.2)

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
get_target_property(host_sources trainyard_kernels_host SOURCES)
list(TRANSFORM host_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
list(REMOVE_ITEM sources ${host_sources})

# with_optional(NAME WORD FILES): the sources whose names match FILES need the library; without_WORD.cpp stands in
# for them where it is absent.
set(libraries CUDA::cublasLt CUDA::cudart_static Threads::Threads ${CMAKE_DL_LIBS})
macro(with_optional name word files)
  if(${name}_INCLUDE AND ${name}_LIBRARY)
    list(FILTER sources EXCLUDE REGEX "/without_${word}\\.cpp$")
    list(APPEND libraries ${${name}_LIBRARY})
    list(APPEND include_folders ${${name}_INCLUDE})
  else()
    list(FILTER sources EXCLUDE REGEX "/(${files})[^/]*$")
    list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/without_${word}.cpp)
    message(STATUS "no ${word}: trainyard_gpu_kernels skips the rows that need it (-D${name}_ROOT=... names its folder)")
  endif()
endmacro()
with_optional(CUDNN cudnn "[^/]*cudnn|[^/]*conv")
with_optional(NCCL nccl "[^/]*nccl")

add_executable(trainyard_gpu_kernels ${sources})
target_link_libraries(trainyard_gpu_kernels PRIVATE trainyard_kernels_host ${libraries})
target_include_directories(trainyard_gpu_kernels SYSTEM PRIVATE ${include_folders} ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(trainyard_gpu_kernels PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror --threads 2>")
set_target_properties(trainyard_gpu_kernels PROPERTIES
  UNITY_BUILD OFF
  EXPORT_COMPILE_COMMANDS OFF  # clang-tidy 16 cannot read CUDA 13's headers
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}"
  INSTALL_RPATH_USE_LINK_PATH ON)

# cuDNN compiles some of its kernels when they are needed and then looks for NVRTC, which it finds wherever it lies
# if it is loaded already. Nothing here calls it, and some systems' linkers drop what is not called.
if(TARGET CUDA::nvrtc AND CUDNN_LIBRARY)
  # by its file, not its target: that one brings the driver's library, without which the program could not even start
  target_link_libraries(trainyard_gpu_kernels PRIVATE
                        -Wl,--push-state,--no-as-needed $<TARGET_FILE:CUDA::nvrtc> -Wl,--pop-state)
endif()

include(GNUInstallDirs)
# Where only the program was built, as ./dev run does, it alone is installed.
install(TARGETS trainyard_gpu_kernels RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
