"""`python -m adabypass`: the command `adabypass`."""

from adabypass.cli import main

main()
