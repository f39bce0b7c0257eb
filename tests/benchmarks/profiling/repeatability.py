"""Do two profiles of a model in a row agree within the spread they state?

    python tests/benchmarks/profiling/repeatability.py [MODEL …] [--pairs N]

Prints, for each pair, both end-to-end medians with their stated half-widths, the difference as a share of the sum
of the half-widths (up to 1 agrees), and the share of operators whose medians agree in the same sense.
"""

from __future__ import annotations

import argparse

from workbench.profiling import profile_model, resolve_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["bert_mini", "resnet_small"])
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'model':24} {'first ms':>14} {'second ms':>14} {'difference':>11} {'operators agree':>16}")
    for name in arguments.models:
        path = resolve_model(name)
        for _ in range(arguments.pairs):
            first, second = profile_model(path), profile_model(path)
            a, b = first.end_to_end_ms or 0.0, second.end_to_end_ms or 0.0
            width = first.end_to_end_spread * a + second.end_to_end_spread * b
            pairs = list(zip(first.operators, second.operators, strict=True))
            agree = sum(
                abs(x.latency_ms - y.latency_ms) <= x.latency_spread * x.latency_ms + y.latency_spread * y.latency_ms
                for x, y in pairs
            )
            print(
                f"{path.name:24} {a:8.3f} ±{first.end_to_end_spread:4.1%} {b:8.3f} ±{second.end_to_end_spread:4.1%} "
                f"{abs(a - b) / width:10.2f}x {agree / len(pairs):15.0%}"
            )
            for made in (first, second):
                for warning in made.warnings:
                    print(f"    {warning}")


if __name__ == "__main__":
    main()
