"""The words by which an intent asks, in each language: verbs, settings, the beginnings of lists."""

from __future__ import annotations

import re

from surveys.ai.local.drafts.conditions import IF
from surveys.ai.local.drafts.formats import MONTHS, SCALE, YES_NO

_NUMBER = (
    r"(?:\d{1,3}(?:\s{0,3}(?:-|–|to|bis|à|a)\s{0,3}\d{1,3})?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"twelve|eine?|zwei|drei|vier|"
    r"fünf|sechs|sieben|acht|neun|zehn|une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|una?|dos|tres|"
    r"cuatro|cinco|seis|siete|"
    r"ocho|nueve|diez|uma?|dois|duas|três|quatro|sete|oito|nove|dez)"
)
SETTINGS = re.compile(
    rf"(?:^|[,;(.]\s{{0,3}}(?:(?:with|in|mit|avec|en|dans|con|com|em)\s{{1,3}})?|\s(?:with|in|mit|avec|en|dans|con|com|"
    rf"em|de|und|and)\s{{1,3}})(?:max\.? |maximum |at most |about |around "
    rf"|exactly |only |just |nur "
    rf"|maximal |höchstens |etwa |"
    rf"maximum )?{_NUMBER}\s{{1,3}}(?:[^\W\d]+\s{{1,3}}){{0,2}}?(?:questions?|fragen?|"
    rf"preguntas?|perguntas?)\b"
    r"(?! (?:for|to|on|about|zu|über|sur|sobre)\b)(?: (?:max(?:imum)?|in total|total|insgesamt))?\)?"
    r"|[,;]?\s{0,3}\b(?:it )?(?:takes?|dauert|in|under|unter|max\.?|dure|prend|tarda|"
    r"leva)\s{1,3}(?:about |only |"
    r"nur |around )?"
    rf"(?:a|{_NUMBER})\s{{0,3}}(?:minutes?|mins?|minuten?|minutos?)\b(?: or less)?"
    r"|[,;.]?\s{0,3}\b(?:just|only|nur) (?:ratings|scales|skalen|bewertungen)\b"
    r"|[,;.]?\s{0,3}\b(?:keep it|make it|please keep it) (?:very )?(?:short|brief|simple|friendly|quick)\b"
    # Our texts say `du`, `vous`, `tú` and `você` anyway.
    r"|[,;.]?\s{0,3}\b(?:bitte )?(?:per du|(?:mit )?du ansprechen|in (?:der )?du-form|duzen|vouvoyer|"
    r"tutear)\b"
    r"|[,;]?\s{0,3}\bwhere it makes sense\b"
    r"|[,;]?\s{0,3}\beverything (?:is )?optional\b"
    r"|\s\(?(?:optional|freiwillig|facultatif|opcional)\)?(?=\s{0,3}(?:[,;.)]|$))"
    r"|(?<=[^\W\d_])\s(?:first|zuerst|d'abord|primero|primeiro)(?=\s{0,3}[,;])"
    r"|\bplease\b|\bbitte(?= [a-zäöü])\b|\bs'il vous plaît\b|\bpor favor\b",
    re.IGNORECASE,
)
ONE_OPEN = re.compile(
    r"[,;]?\s{0,3}\b(?:and |und |et |y |e )?(?:only |nur |(?:the )?(?:last|final) )?"
    r"(?:one|a single|1|eine|einer|une|una|uma) "
    r"(?:final |last |offene[nr]? |open[- ]?(?:ended)? ?|(?=question ouverte|pregunta abierta|pergunta "
    r"aberta))"
    r"(?:question|frage|pregunta|pergunta|text)?(?: ouverte| abierta| aberta)?(?: (?:at the end|am ende|"
    r"am schluss|à la fin|al final|no final))?",
    re.IGNORECASE,
)
_UNNAMED_SCALE = re.sub(r"\?P<\w+>", "?:", SCALE.pattern).replace(
    "(?:out of|sur|von|sobre) (?:5|7|10)\\b", "(?!)"
)
GLOBAL_SCALE = re.compile(
    r"(?:^|[,;.]\s{0,3}|\s)(?:all |alle |using |with |mit |nach |avec |con |com )?"
    r"(?:on |auf |sur |en |em )?(?:a |an |einer |eine |une |una |uma )?"
    r"(?:\b(?:agree(?:/| to | or | ?- ?)disagree|"
    rf"scales?|ratings?|skala|échelle|escala|notes?|notas?|(?:schul)?noten?)\b)[^,;.]{{0,200}}?(?={_UNNAMED_SCALE})",
    re.IGNORECASE,
)


_FURTHER = (
    r"(?:additional|further|extra|more|weitere[nr]?|zusätzliche[nr]?|autres?|supplémentaires?|"
    r"adicional(?:es)?|más|mais)"
)
_OPEN = r"(?:open(?:[- ]ended)?|offene[nr]?|ouvertes?|abiertas?|abertas?)"
ADDITION = re.compile(
    rf"[,;.]?\s{{0,3}}\b(?:(?P<sure>plus|add|sowie|mais|más)|and|und|et|y|e|with|mit|avec|con|com|then|dann|danach|"
    rf"puis|luego|después|depois|followed by|gefolgt von)\s{{1,3}}(?:(?:also|auch|aussi|también|também|"
    rf"plus|mais|más|noch)\s{{1,3}})?(?P<number>an?|{_NUMBER})\s{{1,3}}"
    rf"(?:(?P<further>{_FURTHER})\s{{1,3}})?(?:(?P<open>{_OPEN})\s{{1,3}})?(?:questions?|fragen?|preguntas?|perguntas?)\b"
    rf"(?:\s{{1,3}}(?P<further_after>{_FURTHER}))?(?:\s{{1,3}}(?P<open_after>{_OPEN}))?"
    r"(?:\s{1,3}(?:at the end|am ende|am schluss|zum schluss|à la fin|al final|no final)\b)?"
    r"(?:(?:\s{1,3}(?:about|on|regarding|zu[rm]?|über|nach|sur|sobre|de)|[:,]?(?=\s{1,3}(?:what|which|why|how|was|wie|"
    r"warum|ce qu|pourquoi|qué|por qué|o que|por que)\b))\s{1,3}(?P<about>[^.;!?\n]{1,200}))?",
    re.IGNORECASE,
)


def wants_one_open_question(text: str) -> bool:
    """Whether an intent wants one open question and no more."""
    return bool(ONE_OPEN.search(text))


BULLET = re.compile(r"^\s{0,3}(?:[-*•–▪◦]|\(?\d{1,2}[.)]|[a-zA-Z][.)])\s{1,3}(?P<item>\S.*?)\s{0,3}$")
NUMBERED = re.compile(rf"(?:(?<=\s)|^)\(?\d{{1,2}}[.)]\s{{1,3}}(?!{MONTHS}|\d{{4}})", re.IGNORECASE)
SENTENCES = re.compile(
    r"(?<=[?])\s{1,3}|"
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)(?<!\bmax)(?<!\bmin)(?<!\bNr)(?<!\bSt)(?<!\bDr)(?<!\bca)(?<!\bvs)(?<!\bno)(?<!\betc)"
    r"(?<!\d)(?<=[.!])\s{1,3}(?=[^\W\d_]|[¿¡«\"“])"
    # No sentence ends within `10. July`.
    rf"(?:(?<!\W\d\.\s)(?<!\W\d\d\.\s)|(?!(?i:{MONTHS})|(?:or|and|oder|und|ou|et|o|y|e)\b))|\n+"
    # `Food, music. 5 stars each.`
    r"|(?<=[^\W\d_][.!])\s{1,3}(?=\d{1,2}[ -](?i:stars|sterne|étoiles|estrellas|estrelas)\b)"
)
INTERROGATIVE = {
    "en": r"(?:(?:at |in |on |for |to |from |with |since |until )?(?:what|which|who|when|where|why|how|"
    r"whether|if)|"
          r"(?:do|does|did|is|are|was|were|would|will|can|could|should|have|has) (?:you|they|we|the|it|"
          r"your|their|our|this|there|I))\b",
    "de": r"(?:(?:an |in |mit |für |auf |bei |von |bis |seit |aus )?(?:was|wer|wen|wem|wie|wo|wann|warum|"
          r"wieso|weshalb|woher|wohin|womit|"
          r"worüber|wofür|welche[rsnm]?|ob)|(?:ist|sind|war|hast|habt|haben|bist|seid|soll|sollen|sollten|"
          r"würdest|würdet|kann|kannst|könnt) "
          r"(?:du|ihr|wir|sie|Sie|der|die|das|es|man|euch|dir|\w+en))\b",
    "fr": r"(?:pourquoi|comment|combien|quand|où|quel(?:le)?s?|qu['’]|que |ce qu|s['’]ils|s['’]elles|si |"
          r"est-ce|qui |avec qui|à quelle|"
          r"avez-vous|êtes-vous|\w+-(?:vous|tu|t-il|il|on)\b|faut-il)",
    "es": r"(?:¿|(?:por |para |con |en |a |de |cada )?(?:qu[eé]|cu[aá]l(?:es)?|c[oó]mo|cu[aá]ndo|"
    r"d[oó]nde|cu[aá]nt[oa]s?|"
          r"qui[eé]n(?:es)?)\b|porqu[eé]\b|si |lo que )",
    "pt": r"(?:(?:por |para |com |em |a |de |o |d)?(?:que|qual|quais|como|quando|onde|quant[oa]s?|quem)\b|"
          r"porqu[eê]\b|se |tem |você )",
}  # fmt: skip
ASKING = {
    "en": r"\b(?:(?:and|also|then|please|to|should|must|it should)\s{1,3})*(?:ask(?:ing|s)?|find(?:s|ing)? "
          r"out|tell us|(?:want|like|need|love) to "
          r"(?:know|find out|learn|understand)|we need|(?:they |it )?must have|needs?(?= (?:consent|"
          r"their|name|phone|e-?mail))|we want|collect(?:ing|s)?|includ(?:e|es|ing)|"
          r"cover(?:s|ing)?|questions? (?:on|about|like)|"
          r"with questions (?:on|about))\b",
    "de": r"\b(?:(?:und|auch|bitte|dann|außerdem)\s{1,3})*(?:frag(?:e|en|t)?|abfragen|erfragen|wissen|"
          r"erfahren|herausfinden|inklusive|(?:mit )?fragen "
          r"(?:zu[rm]?|nach|über))\b,?",
    "fr": r"\b(?:(?:et|aussi|puis|merci de)\s{1,3})*(?:demande[rz]?|savoir|inclu(?:re|ant|t)|(?:avec des "
          r")?questions sur|avis sur|connaître)\b",
    "es": r"\b(?:(?:y|también|además)\s{1,3})*(?:pregunta[rd]?(?: también)?|preguntando|saber|incluy\w+|"
          r"incluir|(?:con )?preguntas sobre|conocer|confirmar(?= asist))\b",
    "pt": r"\b(?:(?:e|também|além disso)\s{1,3})*(?:pergunt(?:e|ar|ando|em)(?: também)?|saber|"
          r"inclu\w+|(?:com "
          r")?perguntas sobre|descobrir)\b",
}  # fmt: skip
RATING = {
    "en": r"\b(?:(?:and|also|please|should|to)\s{1,3})*(?:rate|rating|(?<!promoter )score|"
          r"evaluate|assess)\b(?! from| of \d|"
          r" \d)",
    "de": r"\bbewerten\b(?: lassen)?", "fr": r"\b(?:noter|évaluer)\b", "es": r"\b(?:valorar|puntuar|"
    r"calificar)\b",
    "pt": r"\b(?:avaliar|dar nota para)\b",
}  # fmt: skip
# A list after these words is what people are satisfied with: `how happy they are with us: price, staff`.
SATISFIED = re.compile(
    r"\b(?:(?:un|dis)?satisfied|happy|zufrieden|glücklich|satisfaite?s?|contente?s?|satisfech[oa]s?|content[oa]s?|"
    r"satisfeit[oa]s?)\b",
    re.IGNORECASE,
)
_DEGREES = re.compile(
    rf"\b(?:very|somewhat|not|neither|sehr|eher|gar|nicht|teils|weder|très|plutôt|pas|peu|ni|muy|algo|poco|nada|"
    rf"muito|pouco|nem)\b|{SATISFIED.pattern}|^\W*(?:yes|ja|oui|sí|sim)\b",
    re.IGNORECASE,
)


def lists_aspects(lead: str, listed: str) -> bool:
    """Return whether a list after a colon names what people are satisfied with, and not their answers."""
    return SATISFIED.search(lead) is not None and "," in listed and not _DEGREES.search(listed)


ABOUT = {
    "en": r"^(?:(?:them|people|everyone|everybody|respondents|participants|users|customers|clients|guests|"
          r"members|staff|volunteers|donors|players|"
          r"students|parents|patients|readers|also|too)\s{1,3})*(?:(?:our|the) [\w-]+\s{1,3}(?=for\b|about\b|"
          r"why\b|what\b|how\b|whether\b|if\b|which\b|"
          r"when\b|where\b))?(?P<how>for|about|on)?\s{0,3}",
    "de": r"^(?:(?:auch|sie|unsere \w+|die \w+|alle)\s{0,3},?\s{1,3})*(?P<how>nach|zu[rm]?|über)?\s{0,3}",
    "fr": r"^(?:(?:aussi|à nos \w+|aux \w+|leur|également)\s{1,3})*(?P<how>sur)?\s{0,3}",
    "es": r"^(?:(?:también|a los \w+|a las \w+|a nuestros \w+|les)\s{1,3})*(?P<how>por|sobre)?\s{0,3}",
    "pt": r"^(?:(?:também|aos \w+|às \w+|para os \w+|para as \w+)\s{1,3})*(?P<how>por(?! que)|sobre)?\s{0,3}",
}  # fmt: skip
ALSO = re.compile(
    r"(?:^|[,;.&(]\s{0,3}|\b(?:and|with)\s)plus\b|"
    r"\b(?:also|additionally|in addition|including|auch|zusätzlich|außerdem|aussi|également|también|"
    r"además|também|incluindo)\b",
    re.I,
)
LEADING = re.compile(
    r"^(?:and|or|plus|also|then|finally|danach|dann|anschließend|ensuite|enfin|después|luego|depois|"
    r"(?:about|über|sur|sobre)(?=\s(?!what|how|was|wie|qu))|as well as|"
    r"und|sowie|dazu|außerdem|auch|et|puis|ainsi que|aussi|"
    r"y|además|también|e|também|bem como|&|with|"
    r"mit|(?:avec|con|com)(?! qu)|maybe|perhaps|optionally)\s{1,3}",
    re.IGNORECASE,
)
TO_US = re.compile(
    r"\b(?:can|could|would|will|kannst|könnt|können|könnten|peux|pouvez|pourriez|puedes|podrías|podéis|"
    r"pode|poderia)[ -]"
    r"(?:you|du|ihr|sie|tu|vous|você)?\s{0,3}(?:please |bitte )?(?:make|create|build|write|draft|give|help|"
    r"set|prepare|generate|eine? |erstell|mach|"
    r"créer|faire|crear|hacer|criar|fazer|ayudar)|\b(?:surveys?|polls?|questionnaires?|umfrage|sondage|"
    r"encuesta|pesquisa|enquete)\b[^?]*\?",
    re.IGNORECASE,
)
ABOUT_OTHERS = {
    "en": r"\b(?:people|they|(?:our (?:\w+ )?)?(?:customers|members|users|staff|clients|donors|employees|"
          r"viewers|readers|players|guests))\b",
    "de": r"\b(?:Leute|unsere (?:Kunden|Mitglieder|Gäste|Nutzer|Spender)|Kunden|Mitglieder)\b",
    "fr": r"\b(?:les gens|nos (?:clients|membres|donateurs|employés|adhérents))\b",
    "es": r"\b(?:la gente|nuestros (?:clientes|socios|miembros|empleados))\b",
    "pt": r"\b(?:as pessoas|nossos (?:clientes|membros|funcionários|sócios))\b",
}  # fmt: skip
OPTIONS_LEAD = re.compile(
    r"(?:^|\b(?:with|and|these|the following|mit|und|avec|et|con|y|com|e)\s{1,3})(?:the |these |"
    r"these |diesen "
    r"|les |las |los |os |as )?"
    r"(?:options?|choices|results|outcomes|answers|answer options|possible answers|antworten|"
    r"antwortmöglichkeiten|optionen|auswahl"
    r"|ergebnisse[n]?|réponses|choix|résultats|opciones|respuestas|resultados|opções|respostas)(?: are| "
    r"sind)?$",
    re.IGNORECASE,
)
YES_NO_LEAD = re.compile(
    r"^(?:a )?(?:quick )?(?:yes ?/ ?no|ja ?/ ?nein|oui ?/ ?non|s[ií] ?/ ?no|sim ?/ ?não)(?: question| "
    r"poll)?$",
    re.I,
)
CHOOSE = re.compile(
    r"[\s,-]{0,5}\b(?:choose|pick|select|vote|you can (?:choose|pick))[\s.]{0,5}$", re.IGNORECASE
)
YES_AND_NO = frozenset(["yes", "no", "ja", "nein", "oui", "non", "sí", "si", "no", "sim", "não"])
SAYS_YES_NO = re.compile(
    rf"(?:{YES_NO.pattern})[\s,;]*(?:(?:and|und|et|y|e)\s{{1,3}})?(?={IF}\b|$)", re.IGNORECASE
)
TOPIC_OF_QUESTIONS = re.compile(
    r"\b(?:questions? (?:on|about)|fragen (?:zu[rm]?|nach|über)|questions sur|preguntas sobre|perguntas "
    r"sobre)\b",
    re.IGNORECASE,
)
FOLLOW_UP = re.compile(
    r"[,;]?\s{0,3}\b(?:(?:and|with|plus|only|und|mit|nur|et|avec|seulement|y|con|s[oó]lo|e|com|apenas|só)\s{1,3}){0,6}"
    r"(?:an?\s{1,3}|une?\s{1,3}|una?\s{1,3}|uma?\s{1,3}|"
    r"eine[rm]?\s{1,3})?"
    r"(?:follow[- ]?up|ask(?:ing)?|(?:nach)?fragen?|nachfrage|demande[rz]?|preguntar?|pregunta|perguntar?|"
    r"pergunte)\s{1,3}(?:question\s{1,3})?"
    r"(?P<what>why|warum|pourquoi|por qu[eéê]|(?:for )?the reasons?|la raison|(?:por )?el motivo|"
    r"o motivo)\W{0,5}$"
    r"|(?:^|[\s,])nach (?P<reason>(?:dem|den) (?:grund|gründen|ursachen?)) fragen\W{0,5}$",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:then |please )*(?:e-?mail|mail|send|forward|share|show|post|publish|remind|notify|inform|tell|give|"
    r"let(?! (?:them|people|everyone|us all) (?:choose|pick|select|rank|vote))|export|thank|"
    r"invite)\s{1,3}(?:me|us|them|it|him|her|everyone|everybody|all|the|our|my|their|a|an)\b"
    r"|(?:dann |bitte )*(?:schicke?n?|sende?n?|maile?n?|teile?n?|zeige?n?|gib|informiere?n?)\s{1,3}"
    r"(?:mir|uns|ihnen|allen|sie|es|die|das|den)\b"
    r"|(?:envoye[zr]|partage[zr]|montre[zr]|publie[zr])[ -](?:moi|nous|leur|les?|la)\b|(?:m['’]|nous )"
    r"envoyer\b"
    r"|(?:env[ií](?:a|e|ar)|comp[aá]rt(?:e|ir))(?:me|nos|les?)\b|(?:me|nos) "
    r"envi(?:e|ar)\b|envi[ea]-(?:me|nos)\b",
    re.IGNORECASE,
)


def is_order(text: str) -> bool:
    """Return whether a clause requests something other than a survey: `email me the results`."""
    return bool(_ORDER.match(text.strip())) and not KIND.search(text)


FORM = re.compile(
    r"\b(?:forms?|registrations?|registr\w+|sign(?:ing)?[- ]?ups?|orders?|reports?|rsvp|appl(?:y|"
    r"ication)\w*|demographics?|"
    r"anmeld\w+|bewerb\w+|\w*formular\w*|bestell\w+|formulaires?|commandes?|meldung\w*|"
    r"inscriptions?|formularios?|inscripci[oó]n|pedidos?|formulários?|inscriç(?:ão|ões)|cadastro|confirm\w+)\b",
    re.IGNORECASE,
)
FEEDBACK = re.compile(
    r"feedback|satisf|\brat(?:e|ing)|review|evaluat|opinion|experience|zufrieden|bewert|rückmeldung|"
    r"\bavis\b|évalu|valora|avalia",
    re.IGNORECASE,
)
# What people need or wish: they say it, and rate nothing.
NEED = re.compile(
    r"\b(?:needs?|wishes|wishlist|requirements?|demand|bedarf\w*|\w+bedarf|wünsche|wunsch|gewünschte\w*|besoins?|souhaits?|"
    r"souhaitée?s?|necesidad(?:es)?|deseos?|deseada?s?|necessidades?|desejos?|desejada?s?|desired|preferred)\b",
    re.IGNORECASE,
)
PICK = re.compile(
    r"^(?:(?:and|then|und|et|y|e|let (?:them|people|everyone)|they|people)\s{1,3}){0,3}(?:can\s{1,3})?"
    r"(?:pick|choose|select|tick|wähl\w*|auswahl|choisir|choix|elegir|escoger|escolher)\b\s{0,3}"
    r"(?:(?:from|of|one|a|an|your|their|the|ihre?n?|eine?n?|de|du|des|un|una|um|uma)\s{1,3}){0,2}(?P<what>.{0,60})$",
    re.IGNORECASE,
)
RANK = re.compile(
    r"\b(?:rank(?:ing)?|reihenfolge|rangliste|classer|hiérarchiser|clasificar|ordenar|ranquear)\b(?P<what>[^:,]{0,60})",
    re.IGNORECASE,
)
POINTS = re.compile(
    r"\b(?:(?:split|allocate|divide|distribute|spread|verteil\w*|teile?|répart\w*|repart\w*|distribu\w*|divid\w*)\b[^.;:,\d]{0,25}"
    r"(?P<sum>\d{2,5}\s{0,3}(?:points?|coins?|punkte\w*|puntos|pontos|tokens?|euros?|dollars?|credits?|chips|reais|€|\$)|[€$]\s?\d{2,5})\s{1,3}"
    r"(?:between|among|across|over|on|to|auf|unter|zwischen|entre|sur|en)\b(?:\s(?:these|the|following|diese|folgende))*"
    r"(?:\s{0,3}:)?\s{1,3}(?P<list>[^.;!?\n]{1,300})"
    r"|(?P<sum_first>\d{2,5}\s{0,3}(?:points?|coins?|punkte|euros?|tokens?|credits?|€))\s{1,3}(?:auf|unter|zwischen)\s{1,3}"
    r"(?P<list_first>[^.;!?:\n]{1,300}?)\s(?:auf)?(?:zu)?(?:ver)?teilen\b"
    r"|(?P<sum_to_spend>\d{2,5}\s{0,3}(?:points?|coins?|euros?|tokens?|credits?|dollars?|chips))\s{1,3}to\s{1,3}(?:spend|split|"
    r"divide|distribute|allocate|share)(?: (?:on|between|among|across|"
    r"over))?(?:\s{0,3}:)?\s{1,3}(?P<list_to_spend>[^.;!?\n]{1,300}))",
    re.IGNORECASE,
)
# Words for answers that only a file could contain.
FILE = re.compile(
    r"\b(?:photos?|pictures?|fotos?|bilder?|upload\w*|hochladen|lebenslauf|cv|résumé|resume|curriculum|currículo|attachments?|"
    r"signatures?|unterschrift|firma digital|assinatura|datei\w*|fichiers?|pièces? jointes?|"
    r"scans?)\b(?! (?:consent|permission|release|size))",
    re.IGNORECASE,
)
PRICE = re.compile(
    r"\s{0,3}(?:[$€£]\s?\d{1,5}(?:[.,]\d{1,2})?|\d{1,5}(?:[.,]\d{1,2})?\s?(?:[$€£]|euros?|dollars?|eur|usd)(?!\w))",
    re.IGNORECASE,
)
TOTAL = re.compile(
    r"^(?:the |der |die |le |el |o )?(?:(?:grand )?total|sum|gesamt(?:preis|summe|betrag)|summe|"
    r"prix total|precio total|preço total)$",
    re.IGNORECASE,
)
EACH = re.compile(
    r"^(?:(?:the )?(?:quantit(?:y|ies)|amounts?|how many|number)(?: (?:of|for) each.*)?|(?:anzahl|menge|"
    r"stückzahl)(?: (?:je|pro) \w+)?|"
    r"quantités?(?: de chaque.*)?|cantidad(?:es)?(?: de cada.*)?|quantidades?(?: de cada.*)?)$",
    re.IGNORECASE,
)
KIND = re.compile(
    r"\b(?:surveys?|polls?|questionnaires?|quiz|forms?|umfrage|fragebogen|sondage|encuesta|pesquisa|enquete)\b",
    re.IGNORECASE,
)
