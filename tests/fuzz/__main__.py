"""``python tests/fuzz --count 100000``: inputs that nobody should write, across all kinds.

Prints a table of exit codes and times; ends with 1 where something came that must not, with the
number that makes the input again (``--kind KIND --only NUMBER``).
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

import runner  # noqa: E402 - it lies beside this file

_MEMORY = 8 << 30
#: Of 100 inputs, so many of each kind: the quick ones more often.
_SHARES = {"arguments": 20, "case files": 25, "ELFs": 10, "map files": 5, "consoles": 40}


def main() -> int:
    """Run the inputs."""
    options = _options()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    bad = 0
    with runner.surroundings() as folder:
        fuzzer = runner.Fuzzer(folder, options.seed)
        runner.alone(folder)
        if options.only is not None:
            answer = fuzzer.run(options.kind, options.only)
            print(answer.said, f"exit code {answer.code}, {answer.seconds:.2f} s", sep="\n")
            return bool(answer.problem)
        for kind in [options.kind] if options.kind else runner.KINDS:
            count = options.count * (100 if options.kind else _SHARES[kind]) // 100
            bad += _row(fuzzer, kind, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory {peak:.0f} MiB; {bad} of {options.count} inputs gave what must not be")
    return bool(bad)


def _row(fuzzer: runner.Fuzzer, kind: str, count: int) -> int:
    codes: Counter[int] = Counter()
    longest, bad = 0.0, 0
    for number in range(count):
        try:
            answer = fuzzer.run(kind, number)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problem = f"{type(error).__name__}: {error}"
        else:
            codes[answer.code] += 1
            longest, problem = max(longest, answer.seconds), answer.problem
        if problem:
            bad += 1
            print(f"{kind} {number}: {problem}", flush=True)
    told = ", ".join(f"{code}: {times:,}" for code, times in sorted(codes.items()))
    print(f"{kind}: {count:,} inputs; exit codes {told}; longest {longest:.1f} s", flush=True)
    return bad


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="inputs of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=runner.KINDS)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one input of --kind")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
