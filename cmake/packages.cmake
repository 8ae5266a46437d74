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

# Image files, where the headers are there (Debian: libpng-dev, libturbojpeg0-dev). The libraries are loaded by the first call that
# needs them, so that libtenon itself does not.
find_path(TENON_PNG_INCLUDE png.h)
find_path(TENON_TURBOJPEG_INCLUDE turbojpeg.h)
foreach(package PNG TURBOJPEG)
  if(TENON_${package}_INCLUDE)
    target_include_directories(tenon_frontend SYSTEM PRIVATE ${TENON_${package}_INCLUDE})
    set_property(SOURCE frontend/src/io/image.cpp APPEND PROPERTY COMPILE_DEFINITIONS TENON_WITH_${package})
  else()
    message(STATUS "no headers of ${package}: images of that kind are not read")
  endif()
endforeach()
