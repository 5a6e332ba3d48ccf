"""Both ends of a directory's connections, judged: ldapdiag as a library."""

import sys

from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.sources.gathering import gather

bundle = gather(sys.argv[1:] or ["examples/incident"])
diagnosis = diagnose(bundle, installed_checks())

for finding in diagnosis.findings:
    print(f"{finding.severity}, {finding.confidence}: {finding.title}")
    for remedy in finding.remedies:
        print(f"    {remedy.title}")
