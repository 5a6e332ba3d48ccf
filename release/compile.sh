#!/bin/sh
# After installation: without bytecode each command would compile what it imports.
for python in python3.14 python3.13 python3.12 python3.11 python3; do
    [ -x "/usr/bin/$python" ] || continue
    "/usr/bin/$python" -m compileall -q -j 0 /usr/lib/ldapdiag || true
    break
done
