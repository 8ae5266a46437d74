// The work that this thread has recorded since it last evaluated, where it is counted in other ways than by record().
#pragma once

#include <cstdint>

namespace tenon {

// So many more operations, with results of so many bytes. True if it is time to evaluate.
bool count_work(int64_t operations, int64_t bytes);

// What is recorded while one of these lives is not counted, and no cap evaluates it.
class UncountedWork {
 public:
  UncountedWork();
  ~UncountedWork();
  UncountedWork(const UncountedWork&) = delete;
  UncountedWork& operator=(const UncountedWork&) = delete;
  int64_t operations() const;  // recorded so far
  int64_t bytes() const;

 private:
  int64_t operations_, bytes_;  // before
};

}  // namespace tenon
