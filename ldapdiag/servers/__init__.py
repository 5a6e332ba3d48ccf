"""Knowledge of the directory products: defaults, remedies, index lookup and close codes, a package per product."""
