"""The vocabulary of the captions as tables: nouns, adjectives, places and activities.

Tags and English singulars define which words can be combined: an activity lists the tags of its subjects, objects and
places; an adjective lists the tags of its nouns. This prevents captions in which dogs read books.
"""

# article, singular[/accusative and dative singular], plural (- if never used) = English [irregular plural] : tags
NOUNS = """
der Mann Männer = man men : person adult male he bearded
die Frau Frauen = woman women : person adult female she blond
der Junge/Jungen Jungen = boy : person child he blond
das Mädchen Mädchen = girl : person child female blond
das Kind Kinder = child children : person child
der Großvater Großväter = grandfather : person elder male he kin
die Großmutter Großmütter = grandmother : person elder female she kin
der Vater Väter = father : person adult male he kin bearded
die Mutter Mütter = mother : person adult female she kin
der Bruder Brüder = brother : person child he kin
die Schwester Schwestern = sister : person child female she kin
das Baby Babys = baby babies : hold
der Freund Freunde = friend : person adult male he
der Arzt Ärzte = doctor : person adult male he bearded
der Polizist/Polizisten Polizisten = policeman policemen : person adult male he bearded
der Koch Köche = cook : person adult male he
der Clown Clowns = clown : person adult he performer
der Musiker Musiker = musician : person adult male he bearded performer
der Künstler Künstler = artist : person adult male he bearded
der Soldat/Soldaten Soldaten = soldier : person adult male he
der Student/Studenten Studenten = student : person adult male he blond
der Bauer/Bauern Bauern = farmer : person adult male he bearded worker
der Tourist/Touristen Touristen = tourist : person adult male he bearded
der Arbeiter Arbeiter = worker : person adult male he bearded
der Gärtner Gärtner = gardener : person adult male he bearded worker
die Kellnerin Kellnerinnen = waitress waitresses : person adult female she blond
die Tänzerin Tänzerinnen = dancer : person adult female she blond performer
die Lehrerin Lehrerinnen = teacher : person adult female she
die Familie Familien = family families : crowd
die - Leute = people people : crowd

der Hund Hunde = dog : animal pet furry
die Katze Katzen = cat : animal pet furry
das Pferd Pferde = horse : animal farm furry mount
die Kuh Kühe = cow : animal farm
die Ziege Ziegen = goat : animal farm
der Esel Esel = donkey : animal farm mount
das Schwein Schweine = pig : animal farm
das Huhn Hühner = chicken : animal
die Ente Enten = duck : animal fowl
der Vogel Vögel = bird : animal fowl colored
der Affe/Affen Affen = monkey : animal
der Elefant/Elefanten Elefanten = elephant : animal mount

der Hut Hüte = hat : wear topwear colored drop
die Mütze Mützen = cap : wear topwear colored drop
der Schal Schals = scarf scarves : wear topwear colored long drop
der Rucksack Rucksäcke = backpack : topwear colored
die Jacke Jacken = jacket : wear bodywear outer colored warm hang
der Mantel Mäntel = coat : wear bodywear outer colored warm long hang
das Hemd Hemden = shirt : wear bodywear colored hang
der Pullover Pullover = sweater : wear bodywear outer colored warm
die Schürze Schürzen = apron : wear bodywear outer colored dirty
die Uniform Uniformen = uniform : bodywear colored
der Anzug Anzüge = suit : menswear dressy
das Kleid Kleider = dress dresses : womenswear colored dressy
der Rock Röcke = skirt : womenswear colored dressy
das - Haare = hair hair : hair
der Schuh Schuhe = shoe : lying colored drop used

der Ball Bälle = ball : toy colored throw drop lying
der Drachen Drachen = kite : toy colored
die Puppe Puppen = doll : toy drop lying
der Ballon Ballons = balloon : toy hold colored
der Stock Stöcke = stick : long throw hold drop
der Stein Steine = stone : throw drop
die Fahne Fahnen = flag : hold colored
das Schild Schilder = sign : hold colored
der Regenschirm Regenschirme = umbrella : hold colored drop
die Kamera Kameras = camera : hold show used
das Telefon Telefone = phone : hold show used device
der Schlüssel Schlüssel = key : hold drop
der Computer Computer = computer : used device
die Blume Blumen = flower : hold colored pretty give
der Korb Körbe = basket : hold vessel drop
der Koffer Koffer = suitcase : colored drop used
die Kiste - = box boxes : vessel
die Tasche Taschen = bag : hold colored drop used
der Eimer Eimer = bucket : vessel colored
die Flasche Flaschen = bottle : vessel drop upright
die Tasse Tassen = cup : vessel upright colored
der Teller Teller = plate : dirty colored
die Vase Vasen = vase : vessel upright pretty colored
die Lampe Lampen = lamp : upright used
die Uhr Uhren = clock : used device
das Handtuch Handtücher = towel : lying colored hang wet

das Buch Bücher = book : text lying show used
die Zeitung Zeitungen = newspaper : text lying
der Brief Briefe = letter : text lying show long
das Bild Bilder = picture : show pretty used
die Geschichte Geschichten = story stories : story
die Gitarre Gitarren = guitar : music hold
die Geige Geigen = violin : music hold
die Flöte Flöten = flute : music hold

der Apfel Äpfel = apple : fruit food lying give
die Birne Birnen = pear : fruit food lying give
die Orange Orangen = orange : fruit food lying give
die Banane Bananen = banana : fruit food lying give
die Tomate Tomaten = tomato tomatoes : fruit food
der Kuchen Kuchen = cake : food cut
das Brötchen Brötchen = roll : food
die Pizza Pizzas = pizza : food cut
die Suppe Suppen = soup : dish
das Ei Eier = egg : food dish
die Wurst Würste = sausage : food dish
das Bier - = beer : drink
der Kaffee - = coffee : drink
der Tee - = tea : drink

die Schaufel - = shovel
das Messer - = knife
der Besen - = broom
das Loch Löcher = hole : hole
das Fahrrad Fahrräder = bicycle : machine colored used parked
das Auto Autos = car : machine colored used parked
das Motorrad Motorräder = motorcycle : machine colored used parked
der Karren Karren = cart : used wooden
das Boot - = boat : wooden colored used
der Zug Züge = train : ride
der Bus Busse = bus buses : ride colored
die Sandburg Sandburgen = sandcastle : sandcastle
der Schneemann Schneemänner = snowman snowmen : snowman
das Zelt - = tent : tent colored

der Park - = park : quiet
der Garten - = garden : pretty quiet
die Wiese - = meadow : green
der Wald - = forest : quiet green
der Strand - = beach : quiet
der See - = lake : quiet
der Fluss - = river : long
der Berg Berge = mountain : tall
das Wasser - = water : water unique
der Schnee - = snow
der Regen - = rain
das Gras - = grass : green
das Feld - = field : green
der Spielplatz - = playground
die Straße - = street : long quiet
der Platz - = square : quiet
der Markt - = market
die Stadt - = city
das Dorf - = village : old quiet
die Brücke - = bridge : long wooden
die Kirche - = church : old pretty
die Schule - = school : old
das Gebäude - = building : tall old
der Turm Türme = tower : tall old
das Haus Häuser = house : house pretty old colored
der Brunnen - = fountain : old pretty
der Bahnhof - = station : old
der Laden - = shop
die Bühne - = stage
der Baum Bäume = tree : tall old
der Zaun - = fence : wooden colored
die Mauer - = wall : long old
das Dach - = roof : roof
die Bank - = bench : wooden colored
der Stuhl - = chair : wooden colored used
das Sofa - = sofa : colored used
das Bett - = bed : used
der Teppich - = rug : colored used
die Decke Decken = blanket : lying colored warm
der Boden - = floor : unique
der Tisch Tische = table : wooden used
das Regal - = shelf : wooden
die Küche - = kitchen : used
das Zimmer - = room : quiet
das Restaurant - = restaurant
das Café - = café : quiet
das Museum - = museum : old
die Bibliothek - = library : quiet
das Büro - = office : used
die Tür Türen = door : colored wooden
das Fenster Fenster = window : dirty
"""

# German form[/stem], English : tags or English singulars of its nouns; qualities come before colors
QUALITIES = """
klein small : child baby pet farm fowl chicken monkey toy phone house table box room garden boat lake bag backpack tent
groß big : dog farm elephant ball box suitcase umbrella picture house tent fountain plate kitchen tree stone
jung young : adult girl pet horse goat pig elephant monkey
alt old : man woman elder farmer musician artist worker gardener teacher old used wooden horse dog donkey hat coat
müde/müd tired : person baby crowd animal
fröhlich cheerful : person baby crowd
freundlich friendly : adult elder dog
lachend laughing : person
lächelnd smiling : person
bärtig bearded : bearded
hungrig hungry : person baby animal
neugierig curious : child animal
nass wet : furry wet duck
schmutzig dirty : child dirty machine plate ball towel shirt jacket window bucket
neu new : wear womenswear menswear shoe machine camera phone computer suitcase backpack doll umbrella book
lang long : long hair dress
leer empty : vessel plate
schön beautiful : pretty dress
hoch/hoh tall : tall
ruhig quiet : quiet
elegant elegant : dressy coat hat
warm warm : warm soup
hölzern wooden : wooden
"""
COLORS = """
rot red : colored apple tomato hair
blau blue : colored
grün green : colored green apple pear
gelb yellow : colored pear
weiß white : colored furry goat duck chicken suit clock
schwarz black : colored furry goat suit hair phone clock
braun brown : furry cow chicken monkey bag coat hair suit
grau gray : elephant donkey cat suit coat hair stone
blond blond : blond hair
bunt colorful : bird scarf kite ball umbrella balloon rug blanket tent
"""

# [! if always definite] [> if a direction, with the accusative] preposition, noun = English preposition : tags
PLACES = """
!in park = in : nature play walk eat
in garden = in : nature play home water
!auf meadow = in : nature play graze
!in forest = in : nature
!an beach = on : nature play walk
!an lake = by : nature eat walk
!an river = by : nature walk
!in snow = in : winter
!in rain = in : rainy
!auf playground = at : play
auf field = in : graze
auf street = on : town road walk
!auf square = in : town show
!auf market = at : town shopping
!in city = in : town walk
!in village = in : town walk
auf mountain = on : nature
auf bridge = on : town road walk
vor church = in front of : town yard
vor building = in front of : town yard road
vor house = in front of : yard road
vor school = in front of : town yard road
hinter house = behind : yard
neben fountain = next to : town
bei fountain = near : town stand
bei bridge = near : town stand
!an station = at : town wait
auf stage = on : show
in shop = in : shopping
unter tree = under : stand rest eat
neben tree = next to : stand
hinter tree = behind : stand
hinter fence = behind : graze bark
an fence = by : stand
neben car = next to : stand
vor door = in front of : stand bark
an window = at : stand home
auf bench = on : seat eat
auf chair = on : seat surface small
auf sofa = on : seat rest surface small
auf bed = on : rest surface small
auf rug = on : seat rest surface
auf blanket = on : seat rest
!auf grass = on : seat rest
!auf floor = on : seat surface
auf wall = on : seat perch
auf roof = on : perch
auf fence = on : perch
an table = at : seat desk eat
auf table = on : surface tabletop
auf shelf = on : surface tabletop
in kitchen = in : home cook eat
in room = in : home
in restaurant = in : public eat
in café = in : public eat desk
in museum = in : museum public
in library = in : public
!in school = in : public
in office = in
!an computer = at : typing
in lake = in : swim
in river = in : swim
>in park = into : land
>in garden = into : land
>in forest = into : land
>in house = into : enter
>in kitchen = into : enter
>in station = into : enter
>in church = into : enter
>in school = into : enter
>in library = into : enter
>in water = into : dive
>in lake = into : dive
>in river = into : dive
>in box = into : stow
>in basket = into : stow
>in bag = into : stow
>in suitcase = into : stow
>auf table = onto : put hop
>auf chair = onto : put hop
>auf bed = onto : put hop
>auf sofa = onto : put hop
>auf floor = onto : put
>auf shelf = onto : put
>auf bench = onto : hop
>auf wall = onto : hop climb
>auf roof = onto : climb
>auf tree = up : climb
>über fence = over : leap climb
>über wall = over : leap climb
>über bench = over : leap
>über street = across : cross
>über bridge = across : cross
>über meadow = across : cross
>über square = across : cross
>über house = over : soar
>über lake = over : soar
>über church = over : soar
>über roof = over : soar
>über forest = over : soar
durch park = through : cross
durch forest = through : cross
durch garden = through : cross
durch snow = through : cross
durch rain = through : cross
durch city = through : cross
um fountain = around : circle
um tree = around : circle
um lake = around : circle
um house = around : circle
zu market = to : toward
zu station = to : toward
zu school = to : toward
zu lake = to : toward
zu bridge = to : toward
zu church = to : toward
zu beach = to : toward
aus house = out of : leave
aus forest = out of : leave
aus shop = out of : leave
aus church = out of : leave
aus school = out of : leave
aus kitchen = out of : leave
von wall = off : hopdown
von table = off : hopdown
von bench = off : hopdown
von sofa = off : hopdown
aus bucket = from : sip
aus river = from : sip
"""

# subjects | infinitive, singular, particle = English[, base form] | complements | places | flags
# Complements: preposition or case, and objects [to recipients] [+ tool]; "bare": the object has no article in German.
# Flags of the verb     short: complete without a place. go: the place is a direction. try: also with "is trying to".
# Flags of the object   each: plural subjects have plural objects. one: never plural. own: also with a possessive.
# Flags for combining two activities in one sentence
#                       posture: combines with "seated" ones. idle: combines with "busy" ones.
#                       wear: combines with all but "unclothed" ones. dull: not with laughing or smiling subjects.
#                       thing: has things as subjects.
ACTIVITIES = """
person crowd baby | sitzen sitzt = sitting | | seat | posture short
person crowd | stehen steht = standing | | stand town yard show | posture idle short
person baby | liegen liegt = lying | | rest | dull
person crowd | warten wartet = waiting | | stand town yard public | short
person | warten wartet = waiting for | auf+acc ride | wait road | short one
person baby | schlafen schläft = sleeping | | rest | dull short
person crowd baby | lachen lacht = laughing | | nature town public home | dull idle short
child adult baby | weinen weint = crying | | town public home | dull short
person crowd | reden redet = talking | | nature town public home show | seated short
person | sprechen spricht = talking with | mit+dat person | nature town public home | own seated short
person crowd | klatschen klatscht = clapping | | show town public | short
person crowd | tanzen tanzt = dancing | | show town rainy home | short
person | singen singt = singing | | show town yard | short
child | spielen spielt = playing | | play | short
child | spielen spielt = playing with | mit+dat toy pet child | play | own short
person | spielen spielt = playing | bare music | show nature public yard | seated short
adult elder | kochen kocht = cooking | | cook | short
adult elder | kochen kocht = cooking | acc dish | cook | short
adult elder child | backen backt = baking | acc cake pizza roll | cook | short
person | essen isst = eating | | eat | seated short
person | essen isst = eating | acc food | eat | each seated short
adult elder | trinken trinkt = drinking | | eat | seated short
adult elder | trinken trinkt = drinking | acc drink | eat | each seated short
person | lesen liest = reading | | nature seat public home | seated short
person | lesen liest = reading | acc text | nature seat public home | seated short
adult elder | schreiben schreibt = writing | acc letter story | desk public home typing | each seated short
child student | lernen lernt = studying | | desk public home typing | seated short
adult | arbeiten arbeitet = working | | typing office kitchen shop library garden field | seated short
child artist | malen malt = painting | | home nature | seated short
child artist | malen malt = painting | acc picture flower house boat tree mountain | home nature | seated short one
child artist student | zeichnen zeichnet = drawing | acc horse bird house tower boat | home public | seated short
person | halten hält = holding | acc hold | stand town yard | each seated short
person | tragen trägt = wearing | acc topwear wear bodywear | | each wear short
male | tragen trägt = wearing | acc menswear topwear bodywear | | each wear short
female | tragen trägt = wearing | acc womenswear topwear bodywear | | each wear short
person | werfen wirft = throwing, throw | acc throw | nature yard | short one
child adult | fangen fängt = catching, catch | acc ball balloon bird duck | nature yard | try short one
person | heben hebt auf = picking up, pick up | acc drop throw | nature town yard | try short busy
person | ziehen zieht an = putting on, put on | acc outer | home yard | each try short busy unclothed
person | ziehen zieht aus = taking off | acc outer | home nature | each short busy unclothed
person | betrachten betrachtet = looking at | acc picture book building tower boat | museum town | seated short one
adult | hängen hängt auf = hanging up, hang up | acc picture lamp clock hang | home | try short busy
adult elder | kaufen kauft ein = shopping | | shopping city village | short busy
adult child | werfen wirft weg = throwing away | acc bottle newspaper letter | nature town | short one busy
person | räumen räumt auf = tidying up | acc room kitchen office shop garden | | short busy
adult | schieben schiebt = pushing, push | acc machine cart | road walk | try own short one
person donkey horse | ziehen zieht = pulling, pull | acc cart suitcase | road walk winter | try short one
adult child | waschen wäscht = washing, wash | acc machine dog window horse | garden house | own try short
adult | reparieren repariert = repairing, repair | acc machine device fence roof lamp | garden house | own try short one
adult | fahren fährt = driving | | toward | go short
adult | fahren fährt = driving | acc car bus | | each short
worker farmer | bauen baut = building, build | acc house wall fence tower bridge stage | | try short one
child father mother | bauen baut = building, build | acc sandcastle tent snowman | beach nature winter | try short one
person | fotografieren fotografiert = photographing | acc tower mountain animal flower performer | nature town | short
person | streicheln streichelt = petting | acc pet farm | nature graze | own seated short
person | füttern füttert = feeding | acc animal baby | nature graze | own seated short
person | umarmen umarmt = hugging | acc kin child baby | nature town home | own short one
person | beobachten beobachtet = watching | acc animal performer child | nature town stand | seated short
adult elder | verkaufen verkauft = selling | acc fruit flower hat scarf sausage bicycle | shopping street square | short
adult elder | kaufen kauft = buying | acc fruit flower hat shoe clock umbrella newspaper cake | shopping | short
person | nehmen nimmt = taking | acc text fruit food cup bottle bag key | | short
person crowd | besuchen besucht = visiting, visit | acc museum school church village grandmother | | try short
person | treffen trifft = meeting | acc person | nature town public | short
person | suchen sucht = looking for | acc pet hat cap shoe ball bag key umbrella camera | nature home town | own short
person | öffnen öffnet = opening, open | acc door bottle window suitcase box letter | | try short one
person | schließen schließt = closing, close | acc door window suitcase box bottle | | try short one
adult elder | rufen ruft = calling, call | acc dog cat child | nature home yard | own try short
adult elder | putzen putzt = cleaning | acc window table lamp plate door | home | short
person | gießen gießt = watering | acc flower tree | water | short
adult elder | schneiden schneidet = cutting | acc fruit cut + knife | cook desk | short
worker farmer child | graben gräbt = digging | acc hole + shovel | garden nature | short one
adult elder | fegen fegt = sweeping | acc floor kitchen street room stage + broom | | short
person | winken winkt zu = waving to | dat person | town stand | own short busy
person | hören hört zu = listening to | dat musician dancer teacher grandfather artist | town public | seated short
person | helfen hilft = helping, help | dat kin person | home yard road | own try short
person dog | folgen folgt = following, follow | dat dog adult goat duck | town nature | try short
adult elder | geben gibt = giving | give give text cup bottle to child adult elder | | short
person | zeigen zeigt = showing | give show boat doll to person | | own short
adult | bringen bringt = bringing | give drink text cake soup cup plate to person | | short
adult elder | lesen liest vor = reading | give story letter to child | home seat | own short
person | legen legt = putting | acc lying fruit | put stow | own go
adult elder | stellen stellt = placing | acc upright bucket basket suitcase box | put | own go
person | gehen geht = walking | | nature walk road winter rainy | short
person crowd | gehen geht = walking | | enter land cross circle toward leave | go
person crowd | kommen kommt = coming | | leave | go
person crowd | wandern wandert = hiking | | forest mountain meadow park | short
person pet horse goat pig | laufen läuft = running | | nature road winter rainy | short
child adult | laufen läuft = running | | enter land cross circle toward leave | go
child dog horse | rennen rennt = racing | | cross circle toward | go
animal | gehen geht = walking | | land cross circle | go
pet horse goat pig | laufen läuft = running | | land cross circle leave | go
child adult pet | springen springt = jumping | | hop leap hopdown | go short
child adult dog | springen springt = jumping | | dive | go unclothed
child worker father student soldier tourist cat monkey goat | klettern klettert = climbing | | climb | go short
fowl | fliegen fliegt = flying | | soar land circle | go short
adult elder | gehen geht spazieren_ = strolling with | mit+dat dog child elder | walk | own short
adult child | reiten reitet = riding | auf+dat mount | nature graze | each short
person crowd duck dog elephant | schwimmen schwimmt = swimming | | swim | unclothed short
pet | schlafen schläft = sleeping | | rest bark | dull short
pet | liegen liegt = lying | | rest bark home | dull
pet monkey chicken | sitzen sitzt = sitting | | seat stand perch | posture short
farm elephant | stehen steht = standing | | graze nature | posture short
fowl | sitzen sitzt = sitting | | perch stand | posture
bird | singen singt = singing | | nature perch | short
dog | bellen bellt = barking | | bark home nature | short
dog | jagen jagt = chasing, chase | acc cat bird duck ball | nature yard | try short one
farm | grasen grast = grazing | | graze | short
animal | trinken trinkt = drinking | | sip | go
pet monkey | beobachten beobachtet = watching | acc fowl person | nature stand | seated short
pet monkey | spielen spielt = playing with | mit+dat ball stick child doll | home nature | short
lying doll hat key | liegen liegt = lying | | surface | thing
tree | stehen steht = standing | | yard park garden meadow | thing
car bus | fahren fährt = driving | | street bridge city village | thing
upright bucket | stehen steht = standing | | tabletop floor door | thing
parked cart | stehen steht = standing | | road yard | thing
"""
