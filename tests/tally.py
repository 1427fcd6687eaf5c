"""tally.py - what a test script counts: result() for each check, finish() for the closing line and the exit status."""
passed = failed = 0


def result(ok, text):
    """One check; the text is shown when it failed."""
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print('FAILED ' + text)


def finish():
    """Prints "N passed, N failed"; the script's exit status."""
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0
