# Mixtures of Student's t distributions, of the values or of their logs.
