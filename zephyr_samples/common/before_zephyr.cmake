# Included before find_package(Zephyr): adds the options of C++ under the names that this Zephyr
# knows. Zephyr 3.3 renamed them, and an unknown name in a configuration file is an error. Zephyr 3.4
# renamed the variable that lists configuration fragments.

if(DEFINED ENV{ZEPHYR_BASE} AND EXISTS $ENV{ZEPHYR_BASE}/VERSION)
  file(STRINGS $ENV{ZEPHYR_BASE}/VERSION tflm_hil_version REGEX "^VERSION_(MAJOR|MINOR)")
  string(REGEX REPLACE "[^0-9;]" "" tflm_hil_version "${tflm_hil_version}")
  list(JOIN tflm_hil_version "." tflm_hil_version)
else()
  set(tflm_hil_version 99)
endif()

if(tflm_hil_version VERSION_LESS 3.3)
  list(APPEND OVERLAY_CONFIG ${CMAKE_CURRENT_LIST_DIR}/cpp-before-3.3.conf)
elseif(tflm_hil_version VERSION_LESS 3.4)
  list(APPEND OVERLAY_CONFIG ${CMAKE_CURRENT_LIST_DIR}/cpp.conf)
else()
  list(APPEND EXTRA_CONF_FILE ${CMAKE_CURRENT_LIST_DIR}/cpp.conf)
endif()
