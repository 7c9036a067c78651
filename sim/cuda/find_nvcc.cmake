# TRAINYARD_NVCC: whether CUDA code can be compiled. Looks where CUDA usually lies beside PATH. A sanitized build
# has no use for it: the host's sanitizers cannot see the GPU, which compute-sanitizer can.
set(TRAINYARD_NVCC OFF)
if(NOT TRAINYARD_SANITIZE)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(TRAINYARD_NVCC_PROGRAM nvcc
                 HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
    mark_as_advanced(TRAINYARD_NVCC_PROGRAM)
    if(TRAINYARD_NVCC_PROGRAM)
      set(CMAKE_CUDA_COMPILER ${TRAINYARD_NVCC_PROGRAM})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(TRAINYARD_NVCC ON)
  endif()
endif()
