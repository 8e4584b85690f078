from adabypass.kernels.step import Kernel

BYPASS: Kernel
ADA_BYPASS: Kernel
CORRECTED_BYPASS: Kernel
CORRECTED_ADA_BYPASS: Kernel
EXACT_ADA_BYPASS: Kernel
