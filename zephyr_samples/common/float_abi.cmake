# Included after find_package(Zephyr), by any application: the float ABI of the link.
#
# Zephyr 3.1 tries each linker option alone, and the compiler refuses this one without a core that
# has a floating point unit. So the link goes without it and takes soft-float libraries, if the
# compiler has both kinds. The ABI belongs to the image, not to the workspace.
if(CONFIG_FPU AND CONFIG_FP_HARDABI)
  zephyr_link_libraries(-mfloat-abi=hard)
endif()
