// What the control groups of this process leave it of the machine's CPUs: `docker run --cpus=2` on 64 cores shows 64
// in the affinity mask, and 64 threads would take turns in being stopped.
#pragma once

#include <string>

namespace tenon::runtime {

// The least quota among the process's control group and those around it, in CPUs; infinity where there is none. Version 1
// (cpu.cfs_quota_us over cpu.cfs_period_us) and version 2 (cpu.max). Everything is read below the folder `root`; what
// cannot be read or makes no sense sets no limit.
double cpu_quota(const std::string& root = "");

// Threads that a quota keeps busy: whole CPUs, since one thread that is stopped stops all that wait for it; at least 1.
int threads_of_quota(double quota, int cpus);

}  // namespace tenon::runtime
