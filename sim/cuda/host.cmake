# trainyard_kernels_host: plan, recording, the work loop, statistics. No CUDA in it: it is built and tested
# everywhere.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  set(TRAINYARD_SANITIZE OFF)
  set(host_options -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow
                   $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
else()
  get_directory_property(host_options COMPILE_OPTIONS)
endif()

# nvcc knows few of gcc's options, so none may reach it as it stands.
set_directory_properties(PROPERTIES COMPILE_OPTIONS "")
foreach(option IN LISTS host_options)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
endforeach()

add_library(trainyard_kernels_host STATIC
  command_line.cpp csv_line.cpp dtype.cpp input_error.cpp ops.cpp plan.cpp progress.cpp recording.cpp
  recording_text.cpp reference.cpp shapes.cpp statistics.cpp work.cpp)
target_include_directories(trainyard_kernels_host PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/..)
# Of the simulator: the text of shapes, which needs no library (tests/cuda/alone.cpp).
set(TRAINYARD_KERNELS_SHARED ../compute/work.cpp ../workload/shape_text.cpp)
if(PROJECT_IS_TOP_LEVEL)
  target_sources(trainyard_kernels_host PRIVATE ${TRAINYARD_KERNELS_SHARED})
else()
  list(TRANSFORM TRAINYARD_KERNELS_SHARED PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
  set(TRAINYARD_KERNELS_SHARED ${TRAINYARD_KERNELS_SHARED} PARENT_SCOPE)
  target_link_libraries(trainyard_kernels_host PUBLIC trainyard_compute)
endif()
add_library(trainyard_cuda ALIAS trainyard_kernels_host)  # as tests/CMakeLists.txt names the library of a folder
