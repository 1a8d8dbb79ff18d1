# Included after find_package(Zephyr): adds the kernels that Zephyr's list of sources leaves out.
#
# The list is Zephyr's own (modules/tflite-micro/CMakeLists.txt) and of another time than the module:
# 3.7 lacks batch_matmul.cc and strided_slice_common.cc, 4.3 batch_matmul_common.cc. A kernel of which
# an optimized version is listed counts as listed. The library takes them; an image that does not
# register them is not changed.
get_property(tflm_hil_libraries GLOBAL PROPERTY ZEPHYR_LIBS)
foreach(library IN LISTS tflm_hil_libraries)
  get_target_property(sources ${library} SOURCES)
  if(sources MATCHES "tensorflow/lite/micro/micro_interpreter[.]cc")
    file(GLOB kernels ${ZEPHYR_TFLITE_MICRO_MODULE_DIR}/tensorflow/lite/micro/kernels/*.cc)
    list(FILTER kernels EXCLUDE REGEX "_test(_common)?[.]cc$")
    foreach(kernel IN LISTS kernels)
      get_filename_component(name ${kernel} NAME)
      string(REPLACE "." "[.]" name ${name})
      if(NOT sources MATCHES "/${name}(;|$)")
        target_sources(${library} PRIVATE ${kernel})
      endif()
    endforeach()
  endif()
endforeach()
