# A file as an array of bytes in C: cmake -DINPUT=file -DOUTPUT=file.c -DNAME=symbol -P cmake/embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
get_filename_component(file ${INPUT} NAME)
file(WRITE ${OUTPUT}
     "// ${file}\n#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_size;\n"
     "const unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
if(HASH) # what a content security policy allows the script by: INPUT.sha256 holds its code
  file(READ ${INPUT}.sha256 code)
  file(APPEND ${OUTPUT} "extern const char ${NAME}_hash[];\nconst char ${NAME}_hash[] = \"'sha256-${code}'\";\n")
endif()
