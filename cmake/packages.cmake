# Third-party packages that libtenon itself links, beside LLVM.
add_library(tenon_packages INTERFACE)

# minizip, for .npz archives: the static library where there is one, so that libtenon needs zlib alone for it.
find_package(ZLIB REQUIRED)
find_path(TENON_MINIZIP_INCLUDE minizip/unzip.h)
find_library(TENON_MINIZIP NAMES libminizip.a minizip)
if(NOT TENON_MINIZIP_INCLUDE OR NOT TENON_MINIZIP)
  message(FATAL_ERROR "minizip was not found. Install it (Debian: libminizip-dev).")
endif()
target_include_directories(tenon_frontend SYSTEM PRIVATE ${TENON_MINIZIP_INCLUDE})
target_link_libraries(tenon_packages INTERFACE ${TENON_MINIZIP} ZLIB::ZLIB)
