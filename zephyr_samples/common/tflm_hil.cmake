# Adds to the target `app` what all samples share: the generated configuration, the model, and the
# code in common/. Included after find_package(Zephyr).

set(TFLM_HIL_COMMON ${CMAKE_CURRENT_LIST_DIR})

if(NOT ZEPHYR_TFLITE_MICRO_MODULE_DIR)
  message(FATAL_ERROR "this workspace lacks the module tflite-micro (group optional): take it into its manifest, and west update")
endif()

# Not Kconfig options, on which every file of the image depends: only generated files differ.
get_filename_component(tflm_hil_application ${APPLICATION_SOURCE_DIR} NAME)
set(TFLM_HIL_SAMPLE ${tflm_hil_application} CACHE STRING "A sample of resolvers.toml, or @ and a file with its name")
set(TFLM_HIL_RESOLVER exact CACHE STRING "A configuration of resolvers.toml, or @ and a file with its name")
foreach(choice ${TFLM_HIL_SAMPLE} ${TFLM_HIL_RESOLVER})
  if(choice MATCHES "^@(.+)")
    list(APPEND tflm_hil_choices ${CMAKE_MATCH_1})
  endif()
endforeach()

# The generator is part of the Python package, which lies beside the samples in a checkout and around
# them in an installed package. It needs the standard library only.
find_file(TFLM_HIL_GENERATOR generated.py REQUIRED NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH PATHS
          ${TFLM_HIL_COMMON}/../../harness/build ${TFLM_HIL_COMMON}/../../../build)

function(tflm_hil_generate out)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${PYTHON_EXECUTABLE} ${TFLM_HIL_GENERATOR} --samples ${TFLM_HIL_COMMON}/..
            --sample ${TFLM_HIL_SAMPLE} ${ARGN} ${out}
    DEPENDS ${TFLM_HIL_GENERATOR} ${TFLM_HIL_COMMON}/../resolvers.toml ${TFLM_HIL_MODEL_FILE}
            ${tflm_hil_revision} ${tflm_hil_choices}
    COMMENT "Generating ${out}"
    VERBATIM)
endfunction()

if(CONFIG_TFLM_HIL_MODEL)
  get_filename_component(TFLM_HIL_MODEL_FILE ${CONFIG_TFLM_HIL_MODEL} ABSOLUTE BASE_DIR
                         ${APPLICATION_SOURCE_DIR})
  set(tflm_hil_model --model ${TFLM_HIL_MODEL_FILE})
endif()

set(tflm_hil_generated ${CMAKE_CURRENT_BINARY_DIR}/tflm_hil)
# The smallest arena depends on the revision of tflite-micro, which west changes under a build tree.
set(tflm_hil_module ${ZEPHYR_TFLITE_MICRO_MODULE_DIR})
if(EXISTS ${tflm_hil_module}/.git/HEAD)
  set(tflm_hil_revision ${tflm_hil_module}/.git/HEAD)
endif()
tflm_hil_generate(${tflm_hil_generated}/tflm_hil_config.h
                  --configuration ${TFLM_HIL_RESOLVER} --runtime tflm ${tflm_hil_model}
                  --tflite-micro ${tflm_hil_module} --header)
tflm_hil_generate(${tflm_hil_generated}/tflm_hil_data.cc ${tflm_hil_model} --data)

file(GLOB tflm_hil_sources CONFIGURE_DEPENDS ${TFLM_HIL_COMMON}/src/*.cc)
target_sources(app PRIVATE ${tflm_hil_sources} ${tflm_hil_generated}/tflm_hil_config.h
                           ${tflm_hil_generated}/tflm_hil_data.cc)
target_include_directories(app PRIVATE ${TFLM_HIL_COMMON}/include ${tflm_hil_generated})
foreach(option ARENA_BYTES INFERENCES)
  if(CONFIG_TFLM_HIL_${option})
    target_compile_definitions(app PRIVATE TFLM_HIL_${option}=${CONFIG_TFLM_HIL_${option}})
  endif()
endforeach()

include(${TFLM_HIL_COMMON}/kernels.cmake)
include(${TFLM_HIL_COMMON}/float_abi.cmake)
