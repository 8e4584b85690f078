from adabypass.inference.kernel.step import Kernel

BYPASS: Kernel
ADA_BYPASS: Kernel
