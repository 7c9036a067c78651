# Writes a source with texts for page_files.hpp: cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake
# A string literal may hold 64 KiB by the standard and more with gcc and clang.
set(source "// Made by the build of what stands beside page_files.hpp.\n#include \"html/page_files.hpp\"\n\nnamespace trainyard {\n\n")
foreach(name report.css report.js known_errors.csv)
  file(READ ${FOLDER}/${name} text)
  string(REPLACE "." "_" variable ${name})
  string(APPEND source "const std::string_view ${variable} = R\"~~~~(${text})~~~~\";\n")
endforeach()
file(WRITE ${OUTPUT} "${source}\n}  // namespace trainyard\n")
