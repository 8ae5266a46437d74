// What the simulated driver exports beside the real one's functions, for tests; found with dlsym in the library that
// TENON_CUDA_DRIVER names.
//
// Settings in the environment, read once:
//   TENON_SIM_DEVICES=n       how many there are (1; 0 too)
//   TENON_SIM_MEMORY_MB=n     memory of each (4096)
//   TENON_SIM_ARCH=n          what they pretend to be: 75, 80 or 90 (90)
//   TENON_SIM_CARD=H200       whose memory the newest has, as far as schedules ask: H100 or H200 (H100)
//   TENON_SIM_IDLE=1          kernels and products are compiled, checked and counted, and compute nothing
//   TENON_SIM_CUBINS=folder   the texts of real cubins, which can then be loaded (scripts/gpu/gpu_cubins.py writes both)
//   TENON_SIM_SEED=n          draws the order of work, blocks and threads (1)
//   TENON_SIM_EAGER=1         does work when it is called for, not as late as is allowed
//   TENON_SIM_STRICT=1        ends blocks of memory at their guard page, at an address that 16 divides
//   TENON_SIM_RACES=1         accesses of one block that nothing orders are an error, in whatever order they happened. For
//                             an allocator that asks the driver for each block; cuMemFree's waiting orders nothing here
//   TENON_SIM_LIBRARY=n       draws in which order products of cuBLAS sum over k, and how many nodes of a graph they are (0: k in the
//                             CPU's order; how operands are aligned matters in any case)
//   TENON_SIM_COMPILER=cc     compiles kernels with cc also where tcc is
//   TENON_SIM_REAL_NVRTC=file a real libnvrtc compiles every text first; spills are an error then, and functions have the registers
//                             that it gave them (else an estimate: program.cpp)
#pragma once

extern "C" {
// The nth call from now (1: the next) of a driver, NVRTC or cuBLAS function, by its exported name, fails with the code; of
// "kernel", the nth kernel that runs, which ends the device's work as an error of a kernel does.
void tenon_sim_fault(const char* function, long nth, int code);
void tenon_sim_fault_from(const char* function, long nth, int code);  // and each one after that, until tenon_sim_heal
long tenon_sim_calls(const char* function);  // "root" and "edge": nodes of such graphs that wait for none, and edges
// How many live: allocations, pinned (ranges), streams, events, modules, graphs, graph_execs, contexts (retained), bytes
// (of device memory); -1 for other words.
long tenon_sim_live(const char* what);
// A setting from here on: eager, strict (of blocks allocated from here on), races, memory_mb, arch, library; lost_edge: the nth edge
// from now of graphs that are built node by node is left out; spills: texts spill registers, as NVRTC says, but for those compiled with
// -DTENON_ALL_REGISTERS. 0 for other words.
int tenon_sim_set(const char* setting, long value);
void tenon_sim_seed(unsigned long long seed);
long tenon_sim_launches();  // kernels that have run
// The text of the last error that ended a device's work ("" if none); returns its length.
int tenon_sim_finding(char* text, unsigned long capacity);
// Ends such errors, queued work of their devices and faults asked for: the process can go on, as hardware's cannot.
void tenon_sim_heal();
}
