# cmake --install: libtenon, the public headers, what find_package and pkg-config need, the documentation and the examples.
set(tenon_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)

install(TARGETS tenon EXPORT tenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY frontend/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION ${tenon_cmake_dir})

# Files of these lower-case names answer to find_package(tenon), find_package(Tenon) and every other spelling.
write_basic_package_version_file(tenon-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/tenon-config.cmake.in tenon-config.cmake INSTALL_DESTINATION ${tenon_cmake_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake
        DESTINATION ${tenon_cmake_dir})

# For programs that say find_package(Torch), in a folder that must be named: -DTorch_DIR=.../tenon/libtorch.
configure_package_config_file(cmake/TorchConfig.cmake.in TorchConfig.cmake INSTALL_DESTINATION ${tenon_cmake_dir}/libtorch
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TorchConfig.cmake DESTINATION ${tenon_cmake_dir}/libtorch)

file(RELATIVE_PATH tenon_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/tenon.pc.in tenon.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET tenon-opt)
  set_target_properties(tenon-opt PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tenon-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
