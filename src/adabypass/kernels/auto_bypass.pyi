from adabypass.kernels.step import Kernel

KERNEL: Kernel
