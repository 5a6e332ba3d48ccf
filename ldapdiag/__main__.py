"""python -m ldapdiag."""

from ldapdiag.cli import main

main()
