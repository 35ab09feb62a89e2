"""Compare the steps that `dragoman init` expects of an epoch with those that training takes.

python benchmarks/expected_steps.py multi30k:train europarl-20k-de-en:train --languages de-en
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.dataset.prepare import prepare
from dragoman.planning.budget import MachineSpeed
from dragoman.planning.plan import Texts, measure_subwords, plan_with
from dragoman.planning.text_facts import collect_facts
from dragoman.settings import WeightedCorpus
from dragoman.system.progress import no_log
from dragoman.training.loop.batches import BatchStream
from dragoman.training.loop.progress import Progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", help="as recipes name them, each measured alone")
    parser.add_argument("--languages", default="de-en")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--plain", action="store_true", help="without training.augmentation")
    parser.add_argument("--data-dir", type=Path, help="mirror of the dataset catalog")
    arguments = parser.parse_args()
    source, target = arguments.languages.split("-")
    print("expected / real  batch tokens  corpus")
    for corpus in arguments.corpora:
        facts, sample = collect_facts([WeightedCorpus(corpus=corpus)], (source, target), arguments.data_dir)
        facts = measure_subwords(facts, sample, (source, target))
        planned = plan_with(Texts((source, target), [corpus], clean=False), facts, None, MachineSpeed(1e12))
        kinds = planned.recipe().training.augmentation.model_dump()
        changes = [f"training.augmentation.{kind}=0" for kind in kinds if arguments.plain]
        dataset = prepare(planned.recipe(changes), arguments.data_dir, None, no_log)
        for size in arguments.batch_tokens:
            recipe = planned.recipe([*changes, f"training.batch_tokens={size}"])
            stream = BatchStream(recipe, dataset, Progress())
            real = stream.groups_per_epoch / stream.groups_per_step * facts.pairs / len(dataset.train)
            print(f"{facts.steps_per_epoch(size) / real:15.3f}  {size:12}  {corpus}")


if __name__ == "__main__":
    main()
