"""The languages of language tags: ISO 639-1, and living languages that have only a code of three letters."""

from __future__ import annotations

_OF_TWO_LETTERS = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz
    ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik
    io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml
    mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd
    se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve
    vi vo wa wo xh yi yo za zh zu
"""
_OF_THREE_LETTERS = """
    ace ach ada ady ain ale alt anp arn arp arw ary arz ast awa azb bal ban bar bas bcl bej bem bgc bho bik
    bin bjn bla bpy bra bua bug byn cak car ceb chk chm cho chr chy ckb cmn cop crh crs csb dak dar del dgr
    din doi dsb dua dyu efi egl ewo ext fan fat fil fon frp frr frs fur gaa gag gay gba gcf gcr gil glk gom
    gon gor gsw gwi hai hak haw hif hil hmn hne hsb iba ilo inh jam jbo kaa kab kac kam kbd kbp kea kha kmb
    kmr koi kok kos kpe krc krl kru ksh kum lad lah lez lfn lij lld lmo lol loz lrc ltg lua lun luo lus lzh
    lzz mad mag mai mak man mas mdf men mfe mhr mic min mni moh mos mrj mus mwl mwr myv mzn nah nan nap nds
    new nia niu nog nqo nso nym nyn nyo nzi nrm olo osa pag pam pap pau pcd pcm pdc pfl pms pnb pon quc raj
    rap rar rcf rgn rmy rom rue rup sad sah sas sat scn sco sdh sel sgs shi shn sid skr sma smj smn sms snk
    srn srr stq suk sus swb szl tcy tem ter tet tig tiv tkl tli tmh tog tpi trv tsi tum tvl tyv tzm udm umb
    vai vec vep vls vmf vot vro wal war was wls wuu xal xmf yao yap yue zap zea zgh zun zza
"""

LANGUAGES = frozenset(f"{_OF_TWO_LETTERS} {_OF_THREE_LETTERS}".split())
