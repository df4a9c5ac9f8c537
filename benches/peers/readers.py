"""Times nemreader on a NEM12 file and holds its sums against ours: readers.py FILE OURS"""

import json
import sys
import time

from nemreader import read_nem_file

path, ours_path = sys.argv[1:]
with open(ours_path, encoding="utf-8") as file:
    ours = json.load(file)

best = float("inf")
for _ in range(3):
    begun = time.perf_counter()
    meter = read_nem_file(path)
    best = min(best, time.perf_counter() - begun)

sums = {}
for nmi, channels in meter.readings.items():
    for suffix, readings in channels.items():
        sums[f"{nmi}/{suffix}"] = sum(reading.read_value for reading in readings)
for name, milliwatt_hours in ours["milliwatt_hours"]:
    theirs = sums.pop(name)
    if abs(theirs - milliwatt_hours / 1e6) > 1e-6 * abs(theirs):
        sys.exit(f"{name}: nemreader adds up {theirs} kWh, Samebill {milliwatt_hours / 1e6}")
if sums:
    sys.exit(f"Samebill has no series {sorted(sums)}")

print("| a year of five minutes, import and export, NEM12 | seconds | times ours |")
print("| --- | --: | --: |")
print(f"| nemreader {__import__('importlib.metadata').metadata.version('nemreader')} | {best:.3f} | {best / ours['seconds']:.0f} |")
print(f"| Samebill | {ours['seconds']:.4f} | 1 |")
