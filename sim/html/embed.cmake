# Writes a source with texts for page_files.hpp: cmake -DFILES="...;..." -DOUTPUT=... -P embed.cmake
# A string literal may hold 64 KiB by the standard and more with gcc and clang.
set(source "// Made by the build of what stands beside page_files.hpp.\n#include \"html/page_files.hpp\"\n\nnamespace trainyard {\n\n")
foreach(file ${FILES})
  file(READ ${file} text)
  cmake_path(GET file FILENAME name)
  string(REPLACE "." "_" variable ${name})
  string(APPEND source "const std::string_view ${variable} = R\"~~~~(${text})~~~~\";\n")
endforeach()
file(WRITE ${OUTPUT} "${source}\n}  // namespace trainyard\n")
