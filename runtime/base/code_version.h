// What this build of the library is called in cache keys.
#pragma once

#include <string>

namespace tenon::runtime {

// The build id that the linker derived from the contents of the library (or program) that this code is in: it
// changes with any change of any pass or emitter, so an object made by other code is never found. Without a
// build id, the time at which this file was compiled.
const std::string& code_version();

}  // namespace tenon::runtime
