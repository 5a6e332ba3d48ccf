"""tmp"""
def print_report(diagnosis, stream, *, verbose):
    for j in diagnosis.judged: stream.write(repr(j.check)+" "+repr(j.verdict)+"\n\n")
