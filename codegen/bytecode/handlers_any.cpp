// The handlers of bytecode for every machine.
#define TENON_BYTECODE_ISA any
#include "codegen/bytecode/handlers.inc"
