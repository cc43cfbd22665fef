"""Lists of words that cannot name a theme, in addition to the common words of each language."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Opinions, and verbs that need an object. The name of a theme is the subject of answers, not an opinion about
# it.
LIGHT = _words(
    """
    really quite just very too also even much more less lot lots bit maybe perhaps actually definitely
    currently think feel felt believe guess know knew hope wish want wanted need needed would could
    should might must may something anything everything nothing someone anyone everyone nobody somebody
    anybody like liked love loved enjoy enjoyed hate hated dislike prefer good great nice bad best
    better worse worst fine okay ok cool awesome amazing perfect excellent fantastic wonderful terrible
    awful horrible poor super make makes made making get gets got getting go goes going went gone come
    comes came coming take takes took give gives gave given put let keep keeps kept use used using try
    tried say said see saw seen look looked add added start started stop stopped have having had do does
    did done doing be been being please thanks thank yes no yeah nope none idk sure etc always never
    often sometimes usually again already still yet since ago soon many few several enough every each
    any all both same able don didn doesn isn wasn aren weren won can cannot can't dont didnt doesnt im
    ive mehr weniger bitte danke sehr más menos gracias favor plus moins merci più meno grazie mais
    obrigado больше меньше пожалуйста спасибо
    """
)

# Words that mean something only together with another word: `free time`, `last update`, `toxic people`.
VAGUE = _words(
    """
    time times day days week weeks month months year years today evening evenings people person thing
    things stuff way ways kind part parts little long short big small old new newer first second last
    next one two three full left right hard easy different high low whole other others
    free online minute minutes hour hours month months minuten minute stunde stunden uhr tag tage tagen
    woche wochen
    monat monate jahr jahre jahren mal online gratis heure heures jour jours semaine semaines mois année
    années fois
    hora horas día días semana semanas mes meses año años vez veces dia dias mês ano anos vezes minutos minuto
    """
)

# Words that may be inside a phrase: `ease of use`, `Qualität der Preise`.
LINKS = _words("of to for in on and the de du des la del y et der die das von und")

# An answer made up only of these words skips the question.
NO_ANSWER = _words(
    """
    no none nothing nope nil na n a idk dunno i dont don't know not sure nah null idea ideas comment
    comments lol applicable
    answer nein nichts nix keine keiner kein ahnung angabe angaben antwort k weiß weiss ich nicht es egal
    rien aucun aucune idée je ne sais pas à dire signaler déclarer d'idée sans avis commentaire
    nada ninguno ninguna no sé se lo ni que decir declarar comentarios sin opinión
    não sei nenhum nenhuma a declarar comentários sem opinião niente nulla нет ничего 特 に な し 無
    """
)

# Words in the list of English stop words that can also be the subject of an answer.
SUBJECTS = _words("bill computer cry detail fire front interest side system top")

# Words by which people insult each other: they never name a theme.
INSULTS = _words(
    """
    idiot idiots stupid moron morons dumb dumbass asshole assholes arsehole bitch bitches bastard bastards
    cunt
    cunts fuck fucking fucked shit shitty bullshit crap twat wanker wankers retard retarded scumbag whore slut
    nazi nazis fascist losers loser jerk jerks pig pigs clown clowns cretin imbecile imbeciles
    idiot idioten idiotin blöd blöde blöder dumm dumme dummer trottel arschloch arschlöcher scheiß scheiße
    scheisse
    kacke wichser hurensohn hure fotze schlampe penner vollidiot vollpfosten depp deppen spinner schwein
    schweine
    connard connards connasse merde putain salope salaud enculé abruti abrutis crétin crétins
    bouffon bouffons imbécile imbéciles débile débiles
    idiota idiotas imbécil imbéciles estúpido estúpida estúpidos gilipollas cabrón cabrones puta puto mierda
    pendejo pendejos tonto tonta tontos payaso payasos zorra capullo
    burro burros otário otários imbecil imbecis estúpidos palhaço palhaços merda porra caralho vagabundo
    vagabunda
    babaca babacas cuzão filho-da-puta
    """
)
