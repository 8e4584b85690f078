class RowCell:
    n_inputs: int
    n_record: int
    n_components: int
    row_size: int
