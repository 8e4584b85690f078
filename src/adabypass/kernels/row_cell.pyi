from adabypass.kernels.running import Running

class RowCell(Running):
    n_inputs: int
    n_record: int
    n_components: int
    row_size: int
