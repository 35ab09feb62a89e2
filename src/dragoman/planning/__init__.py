"""From text, machine and time to a recipe.

`plan` is the way in. `text_facts` describes the text, and `budget` what a time amounts to on this machine. `choose`
chooses settings for random weights, `adaptation` for training that starts from a bundle, and `student` those of a
student: a dict of values with reasons, from which a recipe is built. `machine_text` weighs machine-translated text.
`write` renders the recipe as TOML, for `dragoman init`.
"""
