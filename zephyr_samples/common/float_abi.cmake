# Included after find_package(Zephyr), by any application: the float ABI of the link.
#
# Zephyr 3.1 tries each option of the linker alone, and without a core that has a floating point unit
# the compiler refuses this one: the link goes without it and takes soft-float libraries where a
# compiler has both. The ABI is the image's own, so it is not a matter of the workspace.
if(CONFIG_FPU AND CONFIG_FP_HARDABI)
  zephyr_link_libraries(-mfloat-abi=hard)
endif()
