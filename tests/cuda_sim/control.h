// What the simulated driver exports beside the real one's functions, for tests; found with dlsym in the library that
// TENON_CUDA_DRIVER names.
//
// Settings in the environment, read once: TENON_SIM_DEVICES (1), TENON_SIM_MEMORY_MB of a device (4096), TENON_SIM_ARCH
// (75, 80 or 90), TENON_SIM_SEED of the order of work (1), TENON_SIM_EAGER=1 does work when it is called for,
// TENON_SIM_STRICT=1 ends blocks of memory at their guard page, TENON_SIM_REAL_NVRTC names a real libnvrtc that compiles
// every text too.
#pragma once

extern "C" {
// The nth call from now (1: the next) of a driver, NVRTC or cuBLAS function, by its exported name, fails with the code; of
// "kernel", the nth kernel that runs, which ends the device's work as an error of a kernel does.
void tenon_sim_fault(const char* function, long nth, int code);
long tenon_sim_calls(const char* function);
// How many live: allocations, pinned (ranges), streams, events, modules, graphs, graph_execs, contexts (retained), bytes
// (of device memory); -1 for other words.
long tenon_sim_live(const char* what);
void tenon_sim_seed(unsigned long long seed);
long tenon_sim_launches();  // kernels that have run
// The text of the last error that ended a device's work ("" if none); returns its length.
int tenon_sim_finding(char* text, unsigned long capacity);
// Ends such errors, queued work of their devices and faults asked for: the process can go on, as hardware's cannot.
void tenon_sim_heal();
}
