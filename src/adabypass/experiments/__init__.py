"""The paper's studies, written as a user of the library would write them."""
