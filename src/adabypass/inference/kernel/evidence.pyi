from adabypass.inference.kernel.step import Kernel

KERNEL: Kernel

def insensitive_evidence(d: float, v: float, epsilon: float) -> tuple[float, float, float, float, float]: ...
