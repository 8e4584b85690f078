"""How streams of many series were kept in a folder: on its way out, see `adabypass.streaming`."""
