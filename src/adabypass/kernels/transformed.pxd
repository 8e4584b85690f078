# AutoBypass: the bank of y itself and those of its log and its root.
