# cmake --install: libtenon, the public headers, and what find_package(tenon) and pkg-config need.
set(tenon_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)

install(TARGETS tenon EXPORT tenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY frontend/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION ${tenon_cmake_dir})

write_basic_package_version_file(tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/tenonConfig.cmake.in tenonConfig.cmake INSTALL_DESTINATION ${tenon_cmake_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake
        DESTINATION ${tenon_cmake_dir})

file(RELATIVE_PATH tenon_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/tenon.pc.in tenon.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET tenon-opt)
  set_target_properties(tenon-opt PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tenon-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
