"""Measure the translations of single nouns: 200 German nouns of everyday life, and the English words that are right.

A translation is right if it is one of the words, in any case, with or without an article and a period. It repeats
itself if a word occurs twice in a row, or if it has more than three words.

python benchmarks/nouns.py runs/multi30k-de-en
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import dragoman

NOUNS = """
Hund: dog | Katze: cat | Pferd: horse | Kuh: cow | Schaf: sheep | Ziege: goat | Vogel: bird | Fisch: fish
Affe: monkey | Elefant: elephant | Bär: bear | Huhn: chicken hen | Ente: duck | Taube: pigeon dove | Tier: animal
Mann: man | Frau: woman | Kind: child kid | Junge: boy | Mädchen: girl | Baby: baby | Person: person
Leute: people | Familie: family | Vater: father dad | Mutter: mother mom | Bruder: brother | Schwester: sister
Freund: friend boyfriend | Paar: couple pair | Gruppe: group | Menge: crowd amount | Team: team | Publikum: audience
Arzt: doctor | Lehrer: teacher | Koch: cook chef | Soldat: soldier | Polizist: policeman officer cop
Arbeiter: worker | Bauarbeiter: construction-worker builder | Feuerwehrmann: firefighter fireman | Musiker: musician
Sänger: singer | Tänzer: dancer | Künstler: artist | Spieler: player | Läufer: runner | Schwimmer: swimmer
Radfahrer: cyclist bicyclist biker | Reiter: rider horseman | Fahrer: driver | Verkäufer: seller vendor salesman
Kellner: waiter | Clown: clown | König: king | Braut: bride | Bräutigam: groom | Fotograf: photographer
Kopf: head | Gesicht: face | Auge: eye | Ohr: ear | Nase: nose | Mund: mouth | Haar: hair | Bart: beard
Hand: hand | Arm: arm | Bein: leg | Fuß: foot | Finger: finger | Rücken: back | Knie: knee | Schulter: shoulder
Hemd: shirt | Hose: pants trousers | Kleid: dress | Rock: skirt rock | Jacke: jacket | Mantel: coat | Schuh: shoe
Hut: hat | Mütze: hat cap beanie | Helm: helmet | Brille: glasses | Sonnenbrille: sunglasses | Handschuh: glove
Schal: scarf | Anzug: suit | Krawatte: tie | Uniform: uniform | Tasche: bag pocket purse | Rucksack: backpack
Regenschirm: umbrella | Badeanzug: swimsuit bathing-suit | Kostüm: costume | T-Shirt: t-shirt shirt | Socke: sock
Haus: house | Gebäude: building | Kirche: church | Schule: school | Küche: kitchen | Zimmer: room | Büro: office
Laden: store shop | Markt: market | Restaurant: restaurant | Krankenhaus: hospital | Turm: tower | Brücke: bridge
Tür: door | Fenster: window | Wand: wall | Dach: roof | Treppe: stairs staircase stairway | Zaun: fence
Straße: street road | Gehweg: sidewalk walkway | Weg: path way trail | Stadt: city town | Dorf: village | Park: park
Garten: garden yard | Spielplatz: playground | Bahnhof: station train-station | Parkplatz: parking-lot parking-space
Auto: car | Bus: bus | Zug: train | Lastwagen: truck | Motorrad: motorcycle | Fahrrad: bicycle bike | Boot: boat
Schiff: ship | Flugzeug: airplane plane | Traktor: tractor | Roller: scooter | Kinderwagen: stroller | Rad: wheel bike
Baum: tree | Blume: flower | Gras: grass | Blatt: leaf | Wald: forest woods | Wiese: meadow field | Feld: field
Berg: mountain | Hügel: hill | Felsen: rock cliff | Stein: stone rock | Sand: sand | Schnee: snow | Eis: ice ice-cream
Wasser: water | Meer: sea ocean | See: lake | Fluss: river | Strand: beach | Welle: wave | Regen: rain | Himmel: sky
Sonne: sun | Feuer: fire | Rauch: smoke | Nacht: night | Tag: day | Winter: winter | Sommer: summer
Ball: ball | Fußball: soccer football soccer-ball | Basketball: basketball | Tennis: tennis | Schläger: bat racket
Spiel: game play match | Tor: goal gate | Schaukel: swing | Rutsche: slide | Seil: rope | Leiter: ladder
Buch: book | Zeitung: newspaper | Bild: picture image painting | Foto: photo picture | Kamera: camera | Schild: sign
Telefon: phone telephone | Computer: computer | Tisch: table | Stuhl: chair | Bank: bench bank | Bett: bed
Sofa: couch sofa | Bühne: stage | Gitarre: guitar | Klavier: piano | Trommel: drum | Geige: violin
Mikrofon: microphone
"""


def read_nouns() -> dict[str, list[str]]:
    """The right translations of each noun."""
    entries = (entry.split(":") for line in NOUNS.strip().splitlines() for entry in line.split("|"))
    return {noun.strip(): [word.replace("-", " ") for word in words.split()] for noun, words in entries}


def normalize(translation: str) -> str:
    words = translation.lower().rstrip(".!").replace("-", " ").split()
    return " ".join(words[1:] if words[:1] in (["a"], ["an"], ["the"]) else words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="or a run directory; translates from German to English")
    arguments = parser.parse_args()
    nouns = read_nouns()
    translate = dragoman.TextTranslator(dragoman.load(arguments.bundle))
    right = repeated = 0
    for (noun, words), translation in zip(nouns.items(), translate.stream(nouns), strict=True):
        found = normalize(translation.text)
        loops = len(found.split()) > 3 or any(one == other for one, other in pairwise(found.split()))
        right += found in words
        repeated += loops
        if found not in words or loops:
            print(f"{noun}: {translation.text}")
    print(f"{right} of {len(nouns)} right ({right / len(nouns):.0%}), {repeated} with repetitions")


if __name__ == "__main__":
    main()
