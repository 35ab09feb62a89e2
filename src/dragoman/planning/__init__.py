"""From text, machine and time to a recipe.

`plan` is the way in. `text_facts`, `subwords` and `neighbors` describe the text, `speed` the machine, and `budget` what
the time amounts to. `choose` chooses settings for random weights, `adaptation` (with `old_text`) for a training that
starts from a bundle, and `student` those of a student. `expect` says how long it takes, `least_time` what is too short,
and `write` makes the recipe, with a reason for each choice.
"""
