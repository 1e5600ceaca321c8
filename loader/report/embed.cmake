# SPDX-License-Identifier: GPL-2.0
# cmake -D D3=FILE -D FROM=FOLDER -D TO=FILE.cc -P embed.cmake
cmake_minimum_required(VERSION 3.25)
foreach(part IN ITEMS html css js)
  file(READ ${FROM}/page.${part} ${part})
endforeach()
file(READ ${FROM}/charts.js charts)
file(READ ${FROM}/flame.js flame)
file(READ ${D3} d3)
# Nothing in a script may look like its end.
string(REPLACE "</script" "<\\/script" d3 "${d3}")
string(REPLACE "@STYLE@" "${css}" html "${html}")
string(REPLACE "@SCRIPT@" "${charts}${flame}${js}" html "${html}")
string(REPLACE "@D3@" "${d3}" html "${html}")
file(WRITE ${TO} "#include \"report/page.h\"\n\nnamespace djprobe::loader {\n\n"
     "extern const std::string_view kReportPage;\n"
     "const std::string_view kReportPage = R\"djprobe(${html})djprobe\";\n\n}\n")
