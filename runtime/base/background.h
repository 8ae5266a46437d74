// Threads that compute beside the program's own, like the workers of a data loader.
#pragma once

namespace tenon::runtime {

// True on a thread whose evaluations must not take the thread pool from others: they compute on that thread alone.
inline thread_local bool in_background = false;

}  // namespace tenon::runtime
