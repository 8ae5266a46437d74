// Devices that a program may ask for and that are not there.
#pragma once

namespace tenon {

[[noreturn]] void no_cuda();  // Error that says what was looked for

}  // namespace tenon
