# Writes a source with the texts of files: cmake -DFILES="...;..." -DHEADER=... -DOUTPUT=... -P embed.cmake
# A string literal may hold 64 KiB by the standard and more with gcc and clang.
set(source "// Made by the build.\n#include \"${HEADER}\"\n\nnamespace trainyard {\n\n")
foreach(file ${FILES})
  file(READ ${file} text)
  cmake_path(GET file FILENAME name)
  string(REPLACE "." "_" variable ${name})
  string(APPEND source "const std::string_view ${variable} = R\"~~~~(${text})~~~~\";\n")
endforeach()
file(WRITE ${OUTPUT} "${source}\n}  // namespace trainyard\n")
