// doctest's main, and the place of the tests' data.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

#include "support/data_folder.h"

std::string data_folder() {
  const char* moved = std::getenv("TENON_TEST_DATA");
  return moved ? moved : TENON_TEST_DATA;
}
