# Writes a C++ source that holds text files as strings, behind a function that a header declares:
#   cmake -D root=… -D files=a|b -D header=samite/… -D function=… -D output=… -P embed.cmake
#
# Raw strings keep the generated source readable. They are cut into pieces, which the compiler joins again,
# because the standard lets a compiler refuse long literals.
cmake_minimum_required(VERSION 3.25)
set(piece_length 8000)

string(REPLACE "|" ";" files "${files}")
set(entries "")
foreach(path IN LISTS files)
  file(READ "${root}/${path}" text)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${path} contains )embedded\", which ends the raw string that it would be put in")
  endif()
  string(LENGTH "${text}" length)
  set(literal "")
  set(position 0)
  while(position LESS length)
    string(SUBSTRING "${text}" ${position} ${piece_length} piece)
    string(APPEND literal "\nR\"embedded(${piece})embedded\"")
    math(EXPR position "${position} + ${piece_length}")
  endwhile()
  if(literal STREQUAL "")
    set(literal "\"\"")
  endif()
  string(SHA256 hash "${text}")
  string(APPEND entries "    EmbeddedFile{\"${path}\", \"${hash}\"sv, ${literal}sv},\n")
endforeach()

list(LENGTH files count)
file(WRITE "${output}" "#include \"${header}\"

#include <array>
#include <string_view>

namespace samite {

// With their lengths, which a compiler would otherwise count at each of the many characters.
using namespace std::string_view_literals;

std::span<const EmbeddedFile> ${function}() {
  static constexpr std::array<EmbeddedFile, ${count}> files{{
${entries}  }};
  return files;
}

}  // namespace samite
")
