// The handlers of bytecode for machines with AVX-512.
#ifdef __AVX512F__
#define TENON_BYTECODE_ISA avx512
#include "codegen/bytecode/handlers.inc"
#endif
