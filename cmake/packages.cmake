# Third-party packages that libtenon itself links, beside LLVM.
add_library(tenon_packages INTERFACE)

# libzip, for .npz archives. Its own CMake package, as Debian has it, wants the command line tools too.
find_path(TENON_LIBZIP_INCLUDE zip.h)
find_library(TENON_LIBZIP zip)
if(NOT TENON_LIBZIP_INCLUDE OR NOT TENON_LIBZIP)
  message(FATAL_ERROR "libzip was not found. Install it (Debian: libzip-dev).")
endif()
target_include_directories(tenon_frontend PRIVATE ${TENON_LIBZIP_INCLUDE})
target_link_libraries(tenon_packages INTERFACE ${TENON_LIBZIP})
