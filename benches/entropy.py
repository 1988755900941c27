#!/usr/bin/env python3
"""The bytes a signal of each section of an index, and its entropy bound, as docs/format.md defines it.

usage: benches/entropy.py DIR

DIR is the directory of an index, whose segments are read as docs/format.md describes them, all but records decoded.
Sections of a kind are added up over fields and segments. A million signals take about a minute.
"""

import math
import struct
import sys
from collections import Counter
from pathlib import Path

KINDS = """FrameOfReference Postings PostingRows Containers Arrays Bitsets KeyEnds Keys LabelEnds Labels Codes BlockZones
Days Amounts ExceptionBlocks Tokens CompanyStarts CompanyRows LinearFrames Records Pairs HashIndexStarts
HashIndexEntries Permutations FineZones PermutationEnds PermutationStarts SymbolStarts Symbols PackedFrames PackedWords
Tombstones Checkpoints WordOrder Integers RowsByCode""".split()
OPTIONAL = {65536: "ValueCounts"}
# Formats of the elements of sections whose neighbours' differences are symbols, and of those that are symbols.
DIFFERENCES = dict.fromkeys("KeyEnds LabelEnds CompanyStarts HashIndexStarts SymbolStarts Days".split(), "I")
DIFFERENCES |= {"PermutationStarts": "H", "Integers": "i"}
SYMBOLS = dict.fromkeys("Pairs HashIndexEntries Checkpoints WordOrder".split(), "I")
SYMBOLS |= dict.fromkeys("BlockZones Amounts FineZones PermutationEnds Tombstones".split(), "Q")
SYMBOLS |= {"Keys": "B", "Labels": "B", "Records": "B", "Symbols": "B", "ValueCounts": "B", "Permutations": "H"}
SECTION = struct.Struct("<IHQQI")
NAMES, SIGNAL_RECORDS = 12, 20
DATE, COMPANY = 15, 17
# Columns with a code of each company: city, year, number of employees.
COMPANY_COLUMNS = range(24, 27)
# The index of the first posting of companies among those of fields.
COMPANY_POSTINGS = 14
FIELDS = 17
FLAG, BLOCK_ROWS, FRAME = 1 << 31, 1 << 16, 64


def choice(n, k):
    """log2 of n over k."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def of_counts(counts):
    total = sum(counts.values())
    return sum(count * math.log2(total / count) for count in counts.values())


def of_symbols(symbols):
    return of_counts(Counter(symbols))


def of_differences(numbers):
    numbers = list(numbers)
    return of_symbols((number - before) % (1 << 64) for before, number in zip([0, *numbers], numbers))


def unpacked(words, first, bits, count):
    """Numbers of some bits each, from the lowest bit of a word up."""
    span = int.from_bytes(words[8 * first:8 * (first + bits)], "little")
    return [span >> bits * index & (1 << bits) - 1 for index in range(count)]


class Segment:
    def __init__(self, path):
        file = memoryview(path.read_bytes())
        offset, length = struct.unpack("<QI", file[-32:-20])
        table = file[offset:offset + length]
        self.rows, self.companies = struct.unpack_from("<II", table, 4)
        self.first_postings = struct.unpack_from(f"<{FIELDS + 1}I", table, 20)
        (number,), at = struct.unpack_from("<Q", table, 20 + 4 * (FIELDS + 1)), 28 + 4 * (FIELDS + 1)
        self.sections = {}
        for kind, field, start, size, _ in SECTION.iter_unpack(table[at:at + number * SECTION.size]):
            name = KINDS[kind] if kind < len(KINDS) else OPTIONAL[kind]
            self.sections[name, field] = file[start:start + size]

    def get(self, kind, field=0xFFFF):
        return self.sections.get((kind, field), memoryview(b""))

    def bounds(self):
        """Bits by kind."""
        bits = self.of_postings()
        for (kind, field), data in self.sections.items():
            if kind not in ("Postings", "PostingRows", "Containers", "Arrays", "Bitsets"):
                bits[kind] += self.of_section(kind, field, data)
        return bits

    def of_section(self, kind, field, data):
        match kind:
            case "FrameOfReference":
                return of_differences(self.frames_of_reference(field, data))
            case "LinearFrames":
                return of_differences(self.linear_frames(field, data))
            case "PackedWords":
                return of_symbols(self.packed_numbers(field, data))
            case "PackedFrames" | "ExceptionBlocks":
                return 0.0  # Counted with the words and frames.
            case "Codes":
                return self.of_codes(field, data)
            case "Tokens":
                return of_symbols(terms(data))
            case "CompanyRows":
                starts = self.get("CompanyStarts", COMPANY).cast("I")
                return sum(choice(self.rows, end - start) for start, end in zip(starts, starts[1:]))
            case "RowsByCode":
                starts = data.cast("I")[:len(self.get("Amounts", field)) // 8 + 1]
                rows = sum(choice(self.rows, end - start) for start, end in zip(starts, starts[1:]))
                return rows + of_differences(starts)
        if kind in DIFFERENCES:
            return of_differences(data.cast(DIFFERENCES[kind]))
        return of_symbols(data.cast(SYMBOLS[kind]))

    def frames_of_reference(self, field, data):
        exceptions = self.get("ExceptionBlocks", field).cast("Q")
        left = self.companies if field == NAMES else self.rows
        for base, block, *deltas in struct.iter_unpack("<QQ64H", data):
            if block:
                numbers = exceptions[FRAME * (block - 1):FRAME * block]
            else:
                numbers = [base + delta for delta in deltas]
            yield from numbers[:left]
            left = max(left - FRAME, 0)

    def linear_frames(self, field, data):
        left = self.rows if field == SIGNAL_RECORDS else self.companies
        frames = -(-left // FRAME)
        words = data[16 * frames:]
        for base, first, slope in struct.iter_unpack("<QII", data[:16 * frames]):
            distances = unpacked(words, first, slope & 0xFF, min(left, FRAME))
            for index, distance in enumerate(distances):
                yield (base + (index * (slope >> 8) >> 8) + distance) % (1 << 64)
            left -= FRAME

    def packed_numbers(self, field, words):
        frames = list(struct.iter_unpack("<QII", self.get("PackedFrames", field)))
        if len(frames) == 1 and self.rows > FRAME:
            frames *= -(-self.rows // FRAME)
        left = self.rows
        for greatest, first, bits in frames:
            yield from (greatest - distance for distance in unpacked(words, first, bits, min(left, FRAME)))
            left -= FRAME

    def of_codes(self, field, data):
        values = len(self.get("LabelEnds", field)) // 4
        if not data:
            return 0.0
        rows = self.companies if field in COMPANY_COLUMNS else self.rows
        if field >= DATE or values > 15:
            return of_symbols(data.cast({1: "B", 2: "H", 4: "I"}[len(data) // rows]))
        codes = Counter()
        for byte, count in Counter(data[:self.rows // 2]).items():
            codes[byte & 15] += count
            codes[byte >> 4] += count
        if self.rows % 2:
            codes[data[-1] & 15] += 1
        return of_counts(codes)

    def of_postings(self):
        """The bits that identify each list and container among all others with as many rows, and of these numbers."""
        entries = list(struct.iter_unpack("<II", self.get("Postings")))
        containers = list(struct.iter_unpack("<HHI", self.get("Containers")))
        bits = Counter({"Postings": of_symbols(cardinality for _, cardinality in entries),
                        "Containers": of_symbols(less_one for _, less_one, _ in containers),
                        "PostingRows": 0.0, "Arrays": 0.0, "Bitsets": 0.0})
        # Postings of the same rows share them, and so do containers.
        seen, seen_containers = set(), set()
        for number, (start, cardinality) in enumerate(entries):
            is_of_rows = number < self.first_postings[COMPANY_POSTINGS]
            count = self.rows if is_of_rows else self.companies
            if cardinality == 1:
                bits["Postings"] += math.log2(count)
            elif start not in seen:
                seen.add(start)
                if start < FLAG:
                    bits["PostingRows"] += choice(count, cardinality)
                    continue
                head = start - FLAG
                for block, less_one, at in containers[head + 1:head + 1 + containers[head][2]]:
                    if at not in seen_containers:
                        seen_containers.add(at)
                        rows = min(max(count - block * BLOCK_ROWS, 0), BLOCK_ROWS)
                        bits["Arrays" if at < FLAG else "Bitsets"] += choice(rows, less_one + 1)
        return bits


def terms(stream):
    """Numbers in LEB128."""
    number = shift = 0
    for byte in stream:
        if byte < 0x80:
            yield number | byte << shift
            number = shift = 0
        else:
            number |= (byte & 0x7F) << shift
            shift += 7


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    taken, bound, signals = Counter(), Counter(), 0
    for path in sorted(Path(sys.argv[1]).glob("segment-*")):
        segment = Segment(path)
        signals += segment.rows
        for (kind, _), data in segment.sections.items():
            taken[kind] += len(data)
        for kind, bits in segment.bounds().items():
            bound[kind] += bits / 8
    if not signals:
        sys.exit(f"{sys.argv[1]}: no segment with signals; give the directory of an index")
    print("| section | bytes a signal | bound |\n|---|--:|--:|")
    for kind, size in taken.most_common():
        if size:
            print(f"| {kind} | {size / signals:.3f} | {bound[kind] / signals:.3f} |")
    total = [sum(of.values()) / signals for of in (taken, bound)]
    print(f"| **all** | {total[0]:.3f} | {total[1]:.3f} |")


if __name__ == "__main__":
    main()
