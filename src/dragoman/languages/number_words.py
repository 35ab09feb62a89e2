"""Number words: which numbers a text spells, in some languages.

They are those up to twelve, the rest up to twenty, tens, hundred, thousand and million; a larger number is found by its
parts, also in one word: "einundzwanzig", "twenty-one".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property

import regex

from dragoman.languages.codes import primary_language
from dragoman.languages.number_names import MIN_INFLECTED, multipliers

_WORDS = {
    "cs": """0 nula ~ nul* žádn*; 1 ~ jed* prvn* jednou; 2 dva dvě ~ dvou* dvěma druh* dvoj* oba obě obou* dvakrát
        pár* půl* polovin*; 3 tři ~ tří tře* třet* troj* třikrát třem* třech; 4 čtyři ~ čtyř* čtvr*; 5 pět ~
        pět* pát*; 6 šest ~ šest* šes*; 7 sedm ~ sedm*; 8 osm ~ osm*; 9 devět ~ devět* devát* devíti; 10 deset ~
        deset* desát* deseti; 11 jedenáct ~ jedenáct*; 12 dvanáct ~ dvanáct* tucet* poled* půlno*; 13 třináct*;
        14 čtrnáct*; 15 patnáct*; 16 šestnáct*; 17 sedmnáct*; 18 osmnáct*; 19 devatenáct*; 20 dvacet* dvacát*;
        30 třicet* třicát*; 40 čtyřicet* čtyřicát*; 50 padesát*; 60 šedesát*; 70 sedmdesát*; 80 osmdesát*; 90
        devadesát*; 100 sto stě sta set stovk* st*; 1000 tisíc*; 1000000 milion* milión*""",
    "da": """0 nul ~ ingen intet; 1 ~ en et én ét først* ene alene; 2 to ~ anden andet andre begge dobbelt* par*
        halv*; 3 tre ~ tredj*; 4 fire ~ fjerd* kvart*; 5 fem ~ femt*; 6 seks ~ sjett*; 7 syv ~ syvend*; 8 otte ~
        ottend*; 9 ni ~ niend*; 10 ti ~ tiend*; 11 elleve ~ ellevt*; 12 tolv ~ tolvt* dusin* middag* midnat*; 13
        tretten*; 14 fjorten*; 15 femten*; 16 seksten*; 17 sytten*; 18 atten*; 19 nitten*; 20 tyve*; 30
        tredive*; 40 fyrre*; 50 halvtreds*; 60 tres*; 70 halvfjerds*; 80 firs*; 90 halvfems*; 100 hundred*; 1000
        tusind*; 1000000 million*""",
    "de": """0 null ~ kein* nichts; 1 ~ ein* erst* allein*; 2 zwei zwo ~ zwei* beid* doppel* paar* halb* hälft*
        ander*; 3 drei ~ drei* dritt*; 4 vier ~ vier*; 5 fünf ~ fünf*; 6 sechs ~ sechs*; 7 sieben ~ sieb*; 8 acht ~
        acht*; 9 neun ~ neun*; 10 zehn ~ zehn*; 11 elf ~ elf*; 12 zwölf ~ zwölf* dutzend* mittag* mitternacht*;
        13 dreizehn*; 14 vierzehn*; 15 fünfzehn*; 16 sechzehn*; 17 siebzehn*; 18 achtzehn*; 19 neunzehn*; 20
        zwanzig*; 30 dreißig* dreissig*; 40 vierzig*; 50 fünfzig*; 60 sechzig*; 70 siebzig*; 80 achtzig*; 90
        neunzig*; 100 hundert*; 1000 tausend*; 1000000 million* mio; 1000000000 milliard* mrd""",
    "en": """0 zero ~ no none nil nought nothing; 1 ~ one a an once single first only alone another; 2 two ~ twice
        second* both double* couple* pair* twin* half halves halfway either other; 3 three ~ third* three*
        thrice tripl* trio*; 4 four ~ fourth* four* quarter* quadr*; 5 five ~ fifth* five*; 6 six ~ sixth* six*;
        7 seven ~ seventh* seven* week*; 8 eight ~ eighth* eight*; 9 nine ~ ninth* nine*; 10 ten ~ tenth* ten*
        decade*; 11 eleven ~ eleven*; 12 twelve ~ twelfth* twelve* dozen* noon midday midnight year*; 13
        thirteen*; 14 fourteen* fortnight*; 15 ~ fifteen* quarter*; 16 sixteen*; 17 seventeen*; 18 eighteen*; 19
        nineteen*; 20 twent*; 30 ~ thirt* half; 40 fort*; 50 ~ fift* half; 60 sixt*; 70 sevent*; 80 eighty* eighti*; 90
        ninet*; 100 hundred* centur*; 1000 thousand*; 1000000 million*; 1000000000 billion*""",
    "es": """0 cero ~ ning* nada; 1 ~ un una uno primer* únic* sol*; 2 dos ~ segund* ambos ambas doble* par* mitad*
        medi*; 3 tres ~ tercer* tercio* tripl*; 4 cuatro ~ cuart* cuádr*; 5 cinco ~ quint*; 6 seis ~ sext*; 7
        siete ~ séptim*; 8 ocho ~ octav*; 9 nueve ~ noven*; 10 diez ~ décim*; 11 once ~ undécim*; 12 doce ~
        duodécim* docena* mediodía medianoche; 13 trece; 14 catorce; 15 quince*; 16 dieciséis; 17 diecisiete; 18
        dieciocho; 19 diecinueve; 20 veint*; 30 treint*; 40 cuarent*; 50 cincuent*; 60 sesent*; 70 setent*; 80
        ochent*; 90 novent*; 100 cien* dos*cient*; 1000 mil mill*; 1000000 millon* millón""",
    "fi": """0 nolla ~ noll* ei; 1 ~ yks* yhde* yht* ensi* ainoa*; 2 kaksi ~ kaksin* kahden* kahdess* kahdest*
        kahdell* kahdelle kahta kahteen kahteena toinen toise* toist* molem* pari* puol*; 3 kolme ~ kolm*; 4
        neljä ~ nelj* neljä*; 5 viisi ~ viis* viid* viit* viide*; 6 kuusi ~ kuus* kuud* kuut* kuude*; 7
        seitsemän ~ seitsem*; 8 kahdeksan ~ kahdeksa*; 9 yhdeksän ~ yhdeksä*; 10 kymmenen ~ kymmen*; 11
        yksitoista ~ yhdestoista yhdennentoista yhdentoista; 12 kaksitoista ~ kahdestoista kahdentoista tusina*
        keskipäiv* keskiyö*; 20 kaksikymmen* kahdenkymmen* kahtakymmen*; 100 sata* sada* sato*; 1000 tuhan*
        tuhat*; 1000000 miljoona*""",
    "fr": """0 zéro ~ aucun* nul*; 1 ~ un une premi* seul* unique*; 2 deux ~ deuxi* second* double* paire* demi*
        moitié* tous toutes; 3 trois ~ troisi* tiers tripl*; 4 quatre ~ quatri* quart* quatre*; 5 cinq ~
        cinqui*; 6 six ~ sixi*; 7 sept ~ septi* semaine*; 8 huit ~ huiti*; 9 ~ neuf neuvi*; 10 dix ~ dixi*
        décen* dizaine*; 11 onze ~ onzi*; 12 douze ~ douzi* douzaine* midi minuit; 13 treiz*; 14 quatorz*; 15
        quinz*; 16 seiz*; 17 dix-sept*; 18 dix-huit*; 19 dix-neuf* dix-neuv*; 20 vingt*; 30 trent*; 40 quarant*;
        50 cinquant*; 60 soixant*; 70 soixante-dix* septant*; 80 quatre-vingt* octant* huitant*; 90
        quatre-vingt-dix* nonant*; 100 cent*; 1000 mille mill*; 1000000 million*; 1000000000 milliard*""",
    "hi": """0 शून्य ~ कोई नहीं; 1 ~ एक पहल* प्रथम अकेल*; 2 ~ दो दोनों दूसर* द्वितीय दोहर* दुगुन* जोड़* आध* अर्ध
        डेढ़; 3 तीन ~ तीसर* तृतीय तीनों तिहाई; 4 चार ~ चौथ* चतुर्थ चारों चौथाई; 5 पाँच पांच ~ पाँच* पांच* पंचम
        पंच*; 6 छह छः छ छे ~ छठ* छ*; 7 सात ~ सात* सप्त*; 8 आठ ~ आठ* अष्ट*; 9 नौ ~ नौ* नव*; 10 दस ~ दस* दशम*; 11
        ग्यारह ~ ग्यारह*; 12 बारह ~ बारह* दर्जन*; 13 तेरह*; 14 चौदह*; 15 पंद्रह* पन्द्रह*; 16 सोलह*; 17 सत्रह*;
        18 अठारह* अट्ठारह*; 19 उन्नीस*; 20 बीस*; 30 तीस*; 40 चालीस*; 50 पचास*; 60 साठ*; 70 सत्तर*; 80 अस्सी*; 90
        नब्बे*; 100 सौ सैकड़*; 1000 हज़ार* हजार*; 1000000 मिलियन""",
    "hsb": """0 nula ~ nul* žan* žad*; 1 ~ jed* prěn* jen* sam*; 2 dwaj dwě ~ dwě* dwu* druh* wobaj wobě wobě* wobej*
        dwoj* por* poł*; 3 tři třo ~ tř*; 4 štyri štyrjo ~ štyr* štwór*; 5 pjeć ~ pjeć* pjat*; 6 šěsć ~ šěsć*
        šest*; 7 sydom ~ sydom* sedm*; 8 wosom ~ wosom* wosm*; 9 dźewjeć ~ dźewjeć* dźewjat*; 10 dźesać ~
        dźesa*; 11 jědnaće ~ jědnat*; 12 dwanaće ~ dwanat* tucent* připołdn* połno*; 13 třinat* třinać*; 14
        štyrnat* štyrnać*; 15 pjatnat* pjatnać*; 16 šěsnat* šěsnać*; 17 sydomnat* sydomnać*; 18 wosomnat*
        wosomnać*; 19 dźewjatnat* dźewjatnać*; 20 dwaceć* dwacet*; 30 třiceć* třicet*; 40 štyrceć* štyrcet*; 50
        połsta* pjećdźesat*; 100 sto sta stow* st*; 1000 tysac*; 1000000 milion*""",
    "hu": """0 nulla ~ semm* nincs; 1 ~ egy* első* egyed*; 2 két kettő ~ két* kett* másod* mindkét* dupla* pár* fél*;
        3 három ~ három* harmad* hármas*; 4 négy ~ négy* negyed*; 5 öt ~ öt*; 6 ~ hat* hatod*; 7 ~ hét* heted*;
        8 nyolc ~ nyolc*; 9 kilenc ~ kilenc*; 10 tíz ~ tíz* tized*; 11 tizenegy ~ tizenegy*; 12 tizenkét
        tizenkettő ~ tizenk* tucat* dél* éjfél*; 13 tizenhárom*; 14 tizennégy*; 15 tizenöt*; 16 tizenhat*; 17
        tizenhét*; 18 tizennyolc*; 19 tizenkilenc*; 20 húsz* husz*; 30 harminc*; 40 negyven*; 50 ötven*; 60
        hatvan*; 70 hetven*; 80 nyolcvan*; 90 kilencven*; 100 száz*; 1000 ezer* ezr*; 1000000 millió*""",
    "it": """0 zero ~ nessun* niente; 1 ~ un una uno un' prim* unic* sol*; 2 due ~ second* entramb* doppi* paio
        coppia metà mezz* ambedue; 3 tre ~ terz* tripl*; 4 quattro ~ quart* quadr*; 5 cinque ~ quint*; 6 ~ sei
        sest*; 7 sette ~ settim*; 8 otto ~ ottav*; 9 nove ~ non*; 10 dieci ~ decim* decin* decen*; 11 undici ~
        undic*; 12 dodici ~ dodic* dozzina mezzogiorno mezzanotte; 13 tredici*; 14 quattordici*; 15 quindici*;
        16 sedici*; 17 diciassett*; 18 diciott*; 19 diciannov*; 20 vent*; 30 trent*; 40 quarant*; 50 cinquant*;
        60 sessant*; 70 settant*; 80 ottant*; 90 novant*; 100 cent*; 1000 mille mila* mill*; 1000000 milion*;
        1000000000 miliard*""",
    "nl": """0 nul ~ geen niets; 1 ~ een één eerst* enig* alleen; 2 twee ~ twee* beid* dubbel* paar* half* helft*; 3
        drie ~ drie* derd*; 4 vier ~ vier* kwart*; 5 vijf ~ vijf*; 6 zes ~ zes*; 7 zeven ~ zeven*; 8 acht ~
        acht*; 9 negen ~ negen*; 10 tien ~ tien*; 11 elf ~ elf*; 12 twaalf ~ twaalf* dozijn* middag*
        middernacht*; 13 dertien*; 14 veertien*; 15 vijftien*; 16 zestien*; 17 zeventien*; 18 achttien*; 19
        negentien*; 20 twintig*; 30 dertig*; 40 veertig*; 50 vijftig*; 60 zestig*; 70 zeventig*; 80 tachtig*; 90
        negentig*; 100 honderd*; 1000 duizend*; 1000000 miljoen*; 1000000000 miljard*""",
    "pl": """0 zero ~ żad*; 1 ~ jed* pierwsz* sam*; 2 dwa dwie ~ dwaj dwóch dwu dwom dwoma dwoje dwukrot* drug* oba
        obie obu oboje podwój* para* par pół* połow*; 3 trzy ~ trz* trzech; 4 cztery ~ czter* czwart*; 5 pięć ~
        pięc* pięć* piąt*; 6 sześć ~ sześ* szóst*; 7 siedem ~ siedem* siedm* siódm*; 8 osiem ~ osiem* ośmi*
        ósm*; 9 dziewięć ~ dziewię* dziewiąt*; 10 dziesięć ~ dziesię* dziesiąt*; 11 jedenaście ~ jedena*; 12
        dwanaście ~ dwana* dwuna* tuzin* połudn* północ*; 13 trzyna*; 14 czterna*; 15 piętna*; 16 szesna*; 17
        siedemna*; 18 osiemna*; 19 dziewiętna*; 20 dwadzieśc* dwudzie*; 30 trzydzie*; 40 czterdzie*; 50
        pięćdziesi*; 60 sześćdziesi*; 70 siedemdziesi*; 80 osiemdziesi*; 90 dziewięćdziesi*; 100 sto stu set*
        dwieście; 1000 tysi*; 1000000 milion*; 1000000000 miliard*""",
    "pt": """0 zero ~ nenhum* nada; 1 ~ um uma primeir* únic* só; 2 dois duas ~ segund* ambos ambas dobro dupl* par*
        metade* mei*; 3 três ~ terceir* terço* tripl*; 4 quatro ~ quart*; 5 cinco ~ quint*; 6 seis ~ sext*; 7
        sete ~ sétim*; 8 oito ~ oitav*; 9 nove ~ non*; 10 dez ~ décim* dezena*; 11 onze; 12 doze ~ dúzia*
        meio-dia meia-noite; 13 treze; 14 catorze quatorze; 15 quinze*; 16 dezesseis dezasseis; 17 dezessete
        dezassete; 18 dezoito; 19 dezenove dezanove; 20 vint* vigés*; 30 trint*; 40 quarent*; 50 cinquent*; 60
        sessent*; 70 setent*; 80 oitent*; 90 novent*; 100 cem cent*; 1000 mil milh*; 1000000 milh*; 1000000000
        bilh* bili*""",
    "ro": """0 zero ~ nici*; 1 ~ un o una unu prim* întâi* singur* unic*; 2 doi două ~ doil* ambel* amândo* dubl*
        pereche* jumăt*; 3 trei ~ trei* treim* tripl*; 4 patru ~ patr* sfert*; 5 cinci ~ cinc*; 6 șase şase ~
        șas* şas*; 7 șapte şapte ~ șapt* şapt*; 8 opt ~ opt*; 9 ~ nouă noi* nou*; 10 zece ~ zec*; 11 unsprezece
        ~ unsprez*; 12 doisprezece douăsprezece ~ doisprez* douăsprez* duzin*; 13 treisprez*; 14 paisprez*; 15
        cincisprez*; 16 șaisprez* şaisprez*; 17 șaptesprez* şaptesprez*; 18 optsprez*; 19 nouăsprez*; 20
        douăzec*; 30 treizec*; 40 patruzec*; 50 cincizec*; 60 șaizec* şaizec*; 70 șaptezec* şaptezec*; 80
        optzec*; 90 nouăzec*; 100 sut*; 1000 mie mii*; 1000000 milio*""",
    "ru": """0 ноль нуль ~ ноль* нул*; 1 ~ од* перв* единств*; 2 два две ~ двух двум двумя двое двой* дважды втор*
        оба обе обо* обе* пар* пол*; 3 три ~ трёх трех трём трем тремя трет* трое трой* трижды; 4 четыре ~
        четыр* четвёрт* четверт*; 5 пять ~ пят*; 6 шесть ~ шест*; 7 ~ семь сем* седьм*; 8 восемь ~ восьм*; 9
        девять ~ девят*; 10 десять ~ десят*; 11 одиннадцать ~ одиннадцат*; 12 двенадцать ~ двенадцат* дюжин*
        полдень полноч*; 13 тринадцат*; 14 четырнадцат*; 15 пятнадцат*; 16 шестнадцат*; 17 семнадцат*; 18
        восемнадцат*; 19 девятнадцат*; 20 двадцат*; 30 тридцат*; 40 сорок*; 50 пятьдесят* пятидесят*; 60
        шестьдесят* шестидесят*; 70 семьдесят* семидесят*; 80 восемьдесят* восьмидесят*; 90 девяност*; 100 сто
        ста сот* двест*; 1000 тысяч*; 1000000 миллион*; 1000000000 миллиард*""",
    "sv": """0 noll ~ ingen inget inga; 1 ~ en ett först* ena ensam*; 2 två ~ andra bägge båda dubb* par* halv*
        hälft*; 3 tre ~ tredj*; 4 fyra ~ fjärd* kvart*; 5 fem ~ femt*; 6 sex ~ sjätt*; 7 sju ~ sjund*; 8 åtta ~
        åttond*; 9 nio ~ niond*; 10 tio ~ tiond*; 11 elva ~ elft*; 12 tolv ~ tolft* dussin* middag* midnatt*; 13
        tretton*; 14 fjorton*; 15 femton*; 16 sexton*; 17 sjutton*; 18 arton*; 19 nitton*; 20 tjug*; 30 tretti*;
        40 fyrti*; 50 femti*; 60 sexti*; 70 sjutti*; 80 åtti*; 90 nitti*; 100 hundra*; 1000 tusen*; 1000000
        miljon*; 1000000000 miljard*""",
    "tr": """0 sıfır ~ hiç*; 1 ~ bir* ilk* tek*; 2 iki ~ iki* her çift* yarı* yarım*; 3 üç ~ üç* üçü*; 4 dört ~ dört*
        dörd* çeyrek*; 5 beş ~ beş*; 6 ~ altı*; 7 ~ yedi*; 8 sekiz ~ sekiz*; 9 dokuz ~ dokuz*; 10 ~ on onu*
        onlar*; 11 ~ onbir*; 12 ~ oniki* düzine* öğle* gece*; 20 yirmi*; 30 otuz*; 40 kırk*; 50 elli*; 60
        altmış*; 70 yetmiş*; 80 seksen*; 90 doksan*; 100 yüz*; 1000 bin*; 1000000 milyon*; 1000000000 milyar*""",
}
"""For each number, its words, and after "~" those that only may mean it, such as "both" for 2; * stands for any end."""

LANGUAGES_WITH_NUMBER_WORDS = tuple(_WORDS)

_LARGE_SYMBOLS = regex.compile(
    r"\d(?:[km]|[ \u00a0\u202f]?[km](?=\p{Sc})"
    r"|[ \u00a0\u202f]?\p{Sc}?(?:m[ln]n?|bn|tn|tsd|mds?|mrd|ml[rd]d?|mio|tis|mil|bil))(?!\p{L})"
)
"""A thousand and more after digits, with one letter only next to them, unlike meters."""

_WORD = regex.compile(r"[\p{L}\p{M}]++(?:['’-][\p{L}\p{M}]++)*+")


@dataclass(frozen=True)
class NumberWords:
    """The number words of a language.

    Attributes:
        certain: The number that a word means.
        possible: The words that may mean a number, and the beginnings of such words.
    """

    certain: Mapping[str, int]
    possible: Mapping[int, tuple[frozenset[str], tuple[str, ...]]]

    def find(self, text: str) -> Iterator[tuple[str, int]]:
        """The words of a text that certainly mean a number, and that number; "two" of "two hundred" does not."""
        words = [match[0] for match in _WORD.finditer(_folded(text))]
        for word, following in zip(words, [*words[1:], ""], strict=False):
            if word in self.certain and not following.startswith(self._large):
                yield word, self.certain[word]

    @cached_property
    def _large(self) -> tuple[str, ...]:
        """How words for a hundred and more begin."""
        return tuple(each for number, (_, beginnings) in self.possible.items() if number >= 100 for each in beginnings)

    @cached_property
    def _numbers(self) -> Mapping[str, frozenset[int]]:
        """The numbers that each word may mean; that of "*" and a beginning is any word that begins so."""
        found = defaultdict[str, set[int]](set)
        for number, (whole, beginnings) in self.possible.items():
            for form in (*whole, *(f"{each}*" for each in beginnings)):
                found[form].add(number)
        return {form: frozenset(numbers) for form, numbers in found.items()}

    def _numbers_of(self, word: str) -> frozenset[int]:
        """The numbers that a word may mean, judging by most of its letters: "eighteen" begins like "eight", too."""
        whole = self._numbers.get(word, frozenset())
        ends = range(len(word), 0, -1)
        return whole | next((self._numbers[each] for end in ends if (each := f"{word[:end]}*") in self._numbers), whole)

    def spells_zeros(self, text: str) -> bool:
        """Whether a text may have a word for a thousand or more, or a symbol for one after a number: 5k, 5 Mio."""
        folded = _folded(text)
        return _LARGE_SYMBOLS.search(folded) is not None or any(
            max(self._numbers_of(word), default=0) >= 1000 for word in _find_words(text)
        )

    def may_spell(self, number: int, text: str) -> bool:
        """Whether a text may contain a number in words, such as "zweihundert", or "two" and "hundred"."""
        words = _find_words(text)
        return self._may_mean(number, words, frozenset[int]().union(*map(self._numbers_of, words)))

    def _may_mean(self, number: int, words: Sequence[str], meant: Set[int]) -> bool:
        """Whether words that may mean some numbers one by one may mean a number."""
        if number in meant:
            return True
        beginnings = self.possible.get(number, _NONE)[1]
        _, ones = self.possible.get(1, _NONE)
        if number >= 100 and any(
            word.startswith(tuple(f"{one}{each}" for one in ones for each in beginnings)) for word in words
        ):
            return True  # "einhundert"
        for unit in self.possible:
            count, rest = divmod(number, unit) if unit >= 100 else (1, number - unit)
            if unit < 20 or count < 1 or not 0 <= rest < max(20, unit) or (count, rest) == (1, 0):
                continue
            if unit < 100 and number in self.possible:
                continue  # it has a word: "siedemdziesiąt" with "dziesiąt" for 10 does not mean 80
            parts = [unit, *([count] if count > 1 else []), *([rest] if rest else [])]
            if all(self._is_part(part, words, meant) for part in parts):
                return True
        return False

    def _is_part(self, number: int, words: Sequence[str], meant: Set[int]) -> bool:
        """Whether words may mean a part of a number, or one of them contains it."""
        whole, beginnings = self.possible.get(number, _NONE)
        parts = [form for form in (*whole, *beginnings) if len(form) > 1]
        return self._may_mean(number, words, meant) or any(part in word for word in words for part in parts)


_NONE: tuple[frozenset[str], tuple[str, ...]] = (frozenset(), ())


@cache
def number_words(language: str) -> NumberWords | None:
    """The number words of a language; None if they are not known."""
    stated = _WORDS.get(primary_language(language))
    if stated is None:
        return None
    certain: dict[str, int] = {}
    possible: dict[int, tuple[frozenset[str], tuple[str, ...]]] = {}
    for entry in stated.casefold().split(";"):
        number, *forms = entry.replace("~", " ~ ").split()
        sure = forms[: forms.index("~")] if "~" in forms else forms
        certain.update({form: int(number) for form in sure if not form.endswith("*")})
        beginnings = tuple(form[:-1] for form in forms if form.endswith("*"))
        possible[int(number)] = frozenset(form for form in forms if not form.endswith("*")), beginnings
    for name, value in multipliers(language).items():
        whole, beginnings = possible.get(value, _NONE)
        is_long = len(name) >= MIN_INFLECTED
        possible[value] = (whole, (*beginnings, name)) if is_long else (whole | {name}, beginnings)
    return NumberWords(certain, possible)


def _find_words(text: str) -> list[str]:
    """The words of a text, and the parts of those with a hyphen."""
    words = [match[0] for match in _WORD.finditer(_folded(text))]
    return [*words, *(part for word in words if "-" in word for part in word.split("-"))]


def _folded(text: str) -> str:
    return text.casefold().replace("’", "'").replace("i\u0307", "i")
