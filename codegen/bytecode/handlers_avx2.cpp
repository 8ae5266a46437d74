// The handlers of bytecode for machines with AVX2, FMA and F16C.
#ifdef __AVX2__
#define TENON_BYTECODE_ISA avx2
#include "codegen/bytecode/handlers.inc"
#endif
