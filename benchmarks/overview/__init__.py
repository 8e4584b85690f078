"""One page that sets side by side what one would choose between, made of the tables of the other pages."""
