from adabypass.inference.kernel.step import Kernel

KERNEL: Kernel
