// Which mutant is on, and which places the rules came by.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mutants {
inline int place = 0, kind = 0;
extern const std::vector<std::string>
    names;                                 // of the places, from 1: the function or row, and which of its places; #0 of a row is all of it
inline std::set<std::pair<int, int>> met;  // every mutant that was asked for
inline bool is_on(int number, int k) {
  met.emplace(number, k);
  return place == number && kind == k;
}
}  // namespace mutants
