"""Measure what image-blind attackers learn: python tests/stress/prompt_attacks.py [DATASET] [--samples 2].

The page of a rehearsal shows the same table, and `segarena challenge rehearse` prints it at its end.
"""

from __future__ import annotations

import argparse

from segarena.terminal.sheet_output import show_sheet
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.prompt_attacks import measure_prompt_attacks
from segarena_server.commands.organiser_sheets import attack_sheet


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="demo")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    challenge = ChallengeDescription(
        slug="attacked",
        title="Attacked",
        benchmark=f"clicks(rounds={options.rounds})",
        dataset=options.dataset,
        phases=(Phase(name="test", seed=1),),
    )
    samples = Evaluator(challenge).samples("test")[: options.samples]
    show_sheet(attack_sheet(measure_prompt_attacks(challenge, "test", samples)))


if __name__ == "__main__":
    main()
