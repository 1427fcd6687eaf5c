#!/usr/bin/env python3
"""selectors.py metal-selectors.json > table.c - the selectors' types, as a C table sorted by selector."""
import json
import sys

rows = [r for r in json.load(open(sys.argv[1], encoding='utf-8'))['rows'] if r['kind'] != 'function']
rows.sort(key=lambda r: (r['selector'].encode(), r['class']))
print('/* made by tools/selectors.py: do not edit */\n#include "hm.h"\nconst struct hm_row hm_rows[] = {')
for r in rows:
    stret = r.get('send', {}).get('x86_64') == 'objc_msgSend_stret'
    major, minor = (r.get('since', {}).get('macos', '0') + '.0').split('.')[:2]
    print(f'    {{"{r["class"]}", "{r["selector"]}", "{r["encoding"]}", {int(r["kind"] == "class")}, {int(stret)}, '
          f'{int(major) * 100 + int(minor)}}},')
print('};\nconst int hm_nrows = sizeof hm_rows / sizeof *hm_rows;')
