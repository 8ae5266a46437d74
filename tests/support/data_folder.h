// Where the tests' data lie: the environment's TENON_TEST_DATA where the tests run elsewhere than they were built, else tests/data.
// Defined in main.cpp, the one file whose object knows a path of the machine: the others are the same in every folder.
#pragma once

#include <string>

std::string data_folder();
