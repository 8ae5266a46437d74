# Third-party packages that libtenon itself links (Debian packages; all optional pieces are listed here).
add_library(tenon_packages INTERFACE)
