"""Tables of statisticians: files whose columns and codes have labels, and whose missing values have reasons."""
