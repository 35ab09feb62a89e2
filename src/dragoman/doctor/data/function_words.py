"""Frequent words of languages, most of them function words, that show in which language a single text is."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.languages import LANGUAGES_WITH_STOPWORDS, stopwords
from dragoman.doctor.data.words import hash_word
from dragoman.text.world_languages import primary_language

# In addition to the stopwords, which are so frequent that they show the language of a whole corpus.
_MORE_WORDS = {
    "cs": "jsme jste jsi být bude budou mohu může mohou musí toto této tento tato tyto těch těchto všechny všichni "
    "vše kolik proč kdo co kteří kterou kterých než pak ještě jen velmi však proto protože mezi bez přes podle "
    "kolem své svou svůj jeho její jejich mi mě můj moje nás vás nám vám mu jí ji jim bych bychom něco někdo "
    "nic tam tady teď každý ty já ona oni",
    "da": "være været bliver havde skal skulle ville kunne må man dette denne disse hans hendes deres vores min din "
    "sin hvad hvem hvor hvornår hvordan hvorfor eller men så når hvis fordi efter før under over mellem uden "
    "mod meget mere kun alle noget nogen ingen intet ind ud op ned nu her der også",
    "de": "in an so man sind war waren wird werden wurde wurden hat haben hatte hatten kann können muss müssen soll "
    "sollte will wollen dass daß wenn weil aber oder als wie was wer wo warum noch schon nur sehr mehr nach "
    "vor über unter durch gegen ohne um am zum zur vom beim diese dieser dieses dich dir mich mir uns euch ihr "
    "ihm ihn sein seine ihre kein damit jede jeden jeder könnte müsste dann doch hier dort alle alles etwas "
    "nichts",
    "en": "were been being has had do does did will would can could should may might must there their they them we "
    "us our your my me him who what when where why how which these those some any all no if or but because as "
    "than then so very more only just into over under about after before between without up out down one two "
    "while",
    "es": "ser es son era fue han hay tiene tener hacer puede pueden este esta estos estas ese esa eso aquel mi tu "
    "nos les le me te yo él ella ellos nosotros usted qué quién dónde cuándo cómo porque cuando donde si ya "
    "también sólo entre desde hasta sin contra durante todo toda todos nada algo otro otra así entonces del",
    "fi": "olla olen olet olemme ovat olivat ollut ei en et emme eivät minun sinun hänet meidän teidän heidän minä "
    "sinä me te he tämän tätä tuo nämä ne nuo jotka jonka johon kuka missä milloin miksi miten vai tai eikä "
    "vain nyt vielä jo sitten kanssa ennen jälkeen ilman koska vaikka paljon kaikki mitään joku",
    "fr": "on je tu nous vous ils elles me te lui leur mon ma mes ton son sa ses notre votre leurs être était "
    "étaient sont suis ont avait fait faire peut peuvent doit mais ou où donc ni car si quand comment pourquoi "
    "quoi quel quelle tout tous toute toutes très plus moins bien encore entre sans sous chez vers depuis "
    "pendant après avant chaque cet ces ceux celle celui dont rien même ça fois aussi",
    "hu": "vannak volna voltak lenne lett lehet kellett nincs sem sincs ezt azt ezek azok ebben abban erre arra ott "
    "itt most már csak még nagyon minden valami valaki semmi mi ti ők én te ő nekem neked neki engem téged őt "
    "aki ami amely ahol amikor mert bár pedig vagy után előtt között nélkül szerint",
    "it": "è sono era erano ha hanno ho abbiamo aveva fare può possono deve questo questa questi queste quello "
    "quella mio tuo suo sua loro nostro io tu lui lei noi voi mi ti ci vi chi cosa dove quando come perché se "
    "ma anche ancora solo molto tutto tutti tutta senza sotto sopra tra fra dopo prima degli dai nei sulla sul "
    "al agli ogni",
    "nl": "ben bent was waren wordt worden werd heb hebt heeft had hebben kan kunnen moet moeten zal zullen wil deze "
    "dit dat mijn jouw hun ons onze jullie wij we zij ze jij je hem haar wie wat waar wanneer waarom hoe want "
    "omdat als dan dus nog wel al alleen heel meer veel geen iets niets iemand na over onder tussen zonder "
    "tegen door tot",
    "pl": "jestem jesteś są był była było byli będzie będą może mogą można musi ma mają mam ten ta to te tego tej "
    "tym tych który która które których kto co gdzie kiedy dlaczego ponieważ jeśli jeżeli lub albo oraz ale "
    "więc już jeszcze tylko bardzo także też przed między bez nad pod ich jej mnie mi ci nas was nam wam jako "
    "coś nic",
    "pt": "é são era foram está estão tem têm ter ser fazer pode podem deve este esta estes estas esse essa isso "
    "isto aquele meu minha teu nosso ele ela eles elas eu você vocês nós me lhe quem onde quando porque porquê "
    "se mas também ainda já só muito muitos tudo todos toda sem sob sobre entre até desde depois antes pelo "
    "pela nos nas aos às num",
    "ro": "sunt este era erau fi fost are au avea avem poate pot trebuie acest această acestea acesta aceste acel "
    "meu mea tău său sa noastre eu tu el ea noi voi ei ele mă te îi îl le ce cine unde când cum dacă dar sau "
    "deci doar numai foarte mult toate toți fără sub peste între până după înainte la din spre decât nimic "
    "ceva",
    "sv": "vara varit blir blev hade ska skall skulle kan kunde måste vill man detta denna dessa hans hennes deras "
    "vår min din sin jag du vi ni de dem mig dig oss er vem vad var när hur varför eller men så om eftersom "
    "efter före under över mellan utan mot mycket mer bara alla något någon ingen inget in ut upp ner nu här "
    "där också",
    "tr": "ben sen biz siz onlar bana sana ona bizi beni seni onu bunu şu bunlar benim senin onun bizim sizin kim "
    "nerede nasıl neden niçin eğer çünkü veya ya ise en daha hiç her şey bazı bütün tüm vardı idi oldu olan "
    "olduğu olarak değildi yok önce şimdi artık sadece kendi üzerinde arasında",
}


@cache
def function_word_hashes(language: str) -> NDArray[np.int64]:
    """The hashes of the frequent words of a language in ascending order; none if they are not known."""
    words = [*stopwords(language), *_MORE_WORDS.get(primary_language(language), "").split()]
    return np.unique(np.array([hash_word(word) for word in words], np.int64))


assert _MORE_WORDS.keys() == set(LANGUAGES_WITH_STOPWORDS), "each language has both kinds of words"
