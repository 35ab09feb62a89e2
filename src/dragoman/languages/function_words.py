"""Function words: the most frequent words of some languages, which show in which of them many short lines are.

They are compared as arrays, many times as fast as `dragoman.languages.identify`, which knows more languages.
"""

from __future__ import annotations

from dragoman.languages.codes import primary_language

_WORDS = {
    "cs": "je se že jsem jsou který která které byl byla bylo jako aby nebo ale jeho není také po při před tak "
    "ve na do za pro si to by už ze má jeden dva ho jejich pod nad kde když jsme jste jsi být bude budou "
    "mohu může mohou musí toto této tento tato tyto těch těchto všechny všichni vše kolik proč kdo co "
    "kteří kterou kterých než pak ještě jen velmi však proto protože mezi bez přes podle kolem své svou "
    "svůj její mi mě můj moje nás vás nám vám mu jí ji jim bych bychom něco někdo nic tam tady teď každý "
    "ty já ona oni",
    "da": "og er ikke jeg det til som af har på en et den der de med for han hun at vi blev fra også var kan "
    "mig være været bliver havde skal skulle ville kunne må man dette denne disse hans hendes deres vores "
    "min din sin hvad hvem hvor hvornår hvordan hvorfor eller men så når hvis fordi efter før under over "
    "mellem uden mod meget mere kun alle noget nogen ingen intet ind ud op ned nu her",
    "de": "der die das und ist nicht ein eine mit auf sich den dem zu von im für auch es ich wir sie er aus "
    "einen einer bei in an so man sind war waren wird werden wurde wurden hat haben hatte hatten kann "
    "können muss müssen soll sollte will wollen dass daß wenn weil aber oder als wie was wer wo warum "
    "noch schon nur sehr mehr nach vor über unter durch gegen ohne um am zum zur vom beim diese dieser "
    "dieses dich dir mich mir uns euch ihr ihm ihn sein seine ihre kein damit jede jeden jeder könnte "
    "müsste dann doch hier dort alle alles etwas nichts",
    "en": "the of and is to that with are you was in on for he she it this his her from by at be have not which "
    "were been being has had do does did will would can could should may might must there their they them "
    "we us our your my me him who what when where why how these those some any all no if or but because "
    "as than then so very more only just into over under about after before between without up out down "
    "one two while",
    "es": "el los las que una por con para está la de en un del se su es lo como más pero al hay sus sobre muy "
    "ser son era fue han tiene tener hacer puede pueden este esta estos estas ese esa eso aquel mi tu nos "
    "les le me te yo él ella ellos nosotros usted qué quién dónde cuándo cómo porque cuando donde si ya "
    "también sólo entre desde hasta sin contra durante todo toda todos nada algo otro otra así entonces",
    "fi": "ja on ei se että hän oli mutta minä kun ovat niin kuin joka myös mitä tämä olen voi sen hänen ole "
    "jos olla olet olemme olivat ollut en et emme eivät minun sinun hänet meidän teidän heidän sinä me te "
    "he tämän tätä tuo nämä ne nuo jotka jonka johon kuka missä milloin miksi miten vai tai eikä vain nyt "
    "vielä jo sitten kanssa ennen jälkeen ilman koska vaikka paljon kaikki mitään joku",
    "fr": "le les des et est une dans que qui pour un du la de sur en avec il elle au pas se sont par ne ce "
    "cette aux on je tu nous vous ils elles me te lui leur mon ma mes ton son sa ses notre votre leurs "
    "être était étaient suis ont avait fait faire peut peuvent doit mais ou où donc ni car si quand "
    "comment pourquoi quoi quel quelle tout tous toute toutes très plus moins bien encore entre sans sous "
    "chez vers depuis pendant après avant chaque cet ces ceux celle celui dont rien même ça fois aussi",
    "hu": "az és nem hogy egy van volt ez meg is de csak azt mint már még el ki vagy ha kell lesz vannak volna "
    "voltak lenne lett lehet kellett nincs sem sincs ezt ezek azok ebben abban erre arra ott itt most "
    "nagyon minden valami valaki semmi mi ti ők én te ő nekem neked neki engem téged őt aki ami amely "
    "ahol amikor mert bár pedig után előtt között nélkül szerint",
    "it": "il di che una per sono della gli nel la un in con non del le si alla da più dei delle anche al ha è "
    "era erano hanno ho abbiamo aveva fare può possono deve questo questa questi queste quello quella mio "
    "tuo suo sua loro nostro io tu lui lei noi voi mi ti ci vi chi cosa dove quando come perché se ma "
    "ancora solo molto tutto tutti tutta senza sotto sopra tra fra dopo prima degli dai nei sulla sul "
    "agli ogni",
    "nl": "de het een en van is niet zijn op dat ik te in met voor die aan er om ook maar hij bij naar wordt "
    "uit ben bent was waren worden werd heb hebt heeft had hebben kan kunnen moet moeten zal zullen wil "
    "deze dit mijn jouw hun ons onze jullie wij we zij ze jij je hem haar wie wat waar wanneer waarom hoe "
    "want omdat als dan dus nog wel al alleen heel meer veel geen iets niets iemand na over onder tussen "
    "zonder tegen door tot",
    "pl": "się na nie jest że to jak ale do po przez są od tak jego być dla czy za był przy jestem jesteś była "
    "było byli będzie będą może mogą można musi ma mają mam ten ta te tego tej tym tych który która które "
    "których kto co gdzie kiedy dlaczego ponieważ jeśli jeżeli lub albo oraz więc już jeszcze tylko "
    "bardzo także też przed między bez nad pod ich jej mnie mi ci nas was nam wam jako coś nic",
    "pt": "os que uma não com para em do da de um no na as dos por se mais ao foi sua seu como é são era foram "
    "está estão tem têm ter ser fazer pode podem deve este esta estes estas esse essa isso isto aquele "
    "meu minha teu nosso ele ela eles elas eu você vocês nós me lhe quem onde quando porque porquê mas "
    "também ainda já só muito muitos tudo todos toda sem sob sobre entre até desde depois antes pelo pela "
    "nos nas aos às num",
    "ro": "și este un la nu că din pe care în de cu se sunt pentru mai au fost lui sau prin al era erau fi are "
    "avea avem poate pot trebuie acest această acestea acesta aceste acel meu mea tău său sa noastre eu "
    "tu el ea noi voi ei ele mă te îi îl le ce cine unde când cum dacă dar deci doar numai foarte mult "
    "toate toți fără sub peste între până după înainte spre decât nimic ceva",
    "sv": "och är inte jag det som en att på har av för med den till ett de han hon om var från kan vi sig vara "
    "varit blir blev hade ska skall skulle kunde måste vill man detta denna dessa hans hennes deras vår "
    "min din sin du ni dem mig dig oss er vem vad när hur varför eller men så eftersom efter före under "
    "över mellan utan mot mycket mer bara alla något någon ingen inget in ut upp ner nu här där också",
    "tr": "bir ve bu da ne için çok değil var ben de ile gibi daha ama kadar olarak sonra her mi olan sen biz "
    "siz onlar bana sana ona bizi beni seni onu bunu şu bunlar benim senin onun bizim sizin kim nerede "
    "nasıl neden niçin eğer çünkü veya ya ise en hiç şey bazı bütün tüm vardı idi oldu olduğu değildi yok "
    "önce şimdi artık sadece kendi üzerinde arasında",
}
LANGUAGES_WITH_FUNCTION_WORDS = tuple(_WORDS)


def function_words(language: str) -> list[str]:
    """The most frequent words of a language in lower case; none if they are not known."""
    return _WORDS.get(primary_language(language), "").split()
