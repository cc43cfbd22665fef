"""Which addresses webhooks and pictures may have (rules 9.2 and 9.13): by their text, and by their IP."""

from hypothesis import given
from hypothesis import strategies as st

from communities.gate.validation import VIOLATION_CODES
from communities.ground.addresses import is_public
from communities.ground.web_addresses import BadAddress, Endpoint, check_url, parse_url
from tests.support.cases import try_each

NOT_PUBLIC = [
    # This machine and private networks
    "https://127.0.0.1/",
    "https://127.0.0.1:8443/hook",
    "https://127.255.255.254/",
    "https://0.0.0.0/",
    "https://0.1.2.3/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://169.254.0.1/",
    "https://192.0.0.1/",
    "https://192.0.0.9/",
    "https://192.0.2.1/",
    "https://198.51.100.7/",
    "https://203.0.113.7/",
    "https://198.18.0.1/",
    "https://198.19.255.255/",
    "https://192.88.99.1/",
    "https://224.0.0.1/",
    "https://239.255.255.250/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    # What clouds tell their machines
    "https://169.254.169.254/latest/meta-data/",
    "https://[fd00:ec2::254]/latest/meta-data/",
    "https://168.63.129.16/",
    "https://100.100.100.200/",
    "https://192.0.0.192/",
    "https://metadata.google.internal/",
    # The same in other spellings
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7F.0x0.0x0.0x1/",
    "https://0X7f000001/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://0177.0x0.0.1/",
    "https://00000177.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://10.1/",
    "https://0/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0xa9.254.0xa9fe/",
    "https://3232235777/",
    "https://127.0.0.1./",
    "https://127.1./",
    "https://2130706433./",
    "https://１２７.０.０.１/",
    "https://127。0。0。1/",
    "https://127．0．0．1/",
    "https://127｡0｡0｡1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://𝟏𝟐𝟕.𝟎.𝟎.𝟏/",
    "https://２１３０７０６４３３/",
    "https://０ｘ７ｆ０００００１/",
    # IPv6
    "https://[::1]/",
    "https://[::]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[0000:0000:0000:0000:0000:0000:0000:0001]:8443/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::FFFF:169.254.169.254]/",
    "https://[0:0:0:0:0:ffff:10.0.0.1]/",
    "https://[::127.0.0.1]/",
    "https://[::8.8.8.8]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b:1::1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:808:808::1]/",
    "https://[2001:0:7f00:1::]/",
    "https://[2001:2::1]/",
    "https://[2001:10::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[3ffe::1]/",
    "https://[5f00::1]/",
    "https://[100::1]/",
    "https://[fc00::1]/",
    "https://[fdff::1]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[4000::1]/",
    # Names that mean this machine or this network
    "https://localhost/",
    "https://LocalHost/",
    "https://localhost:8443/",
    "https://localhost./",
    "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "https://ｌｏｃａｌｈｏｓｔ/",
    "https://LOCALHOſT/",
    "https://hook.localhost/",
    "https://hook.localhost./",
    "https://localhost.localdomain/",
    "https://printer.local/",
    "https://db.internal/",
    "https://db.internal./",
    "https://router.home.arpa/",
    "https://home.arpa/",
    "https://internal/",
    "https://intranet/",
    "https://router.lan/",
    "https://com/",
    "https://db/",
]

MALFORMED = [
    ("", "invalid"),
    ("hooks.example.com", "invalid"),
    ("//hooks.example.com/", "invalid"),
    ("/hook", "invalid"),
    ("https:", "invalid"),
    ("https:/hooks.example.com/", "invalid"),
    ("https:hooks.example.com", "invalid"),
    ("https:///hook", "invalid"),
    ("https://", "invalid"),
    ("https://:443/", "invalid"),
    ("https://?x", "invalid"),
    ("https://./", "invalid"),
    ("https://../", "invalid"),
    ("https://.example.com/", "invalid"),
    ("https://hooks..example.com/", "invalid"),
    ("https://hooks.example.com../", "invalid"),
    ("https://127.0.0.1../", "invalid"),
    ("https://-hooks.example.com/", "invalid"),
    ("https://hooks-.example.com/", "invalid"),
    ("https://*.example.com/", "invalid"),
    ("https://hooks.example.com,evil.example/", "invalid"),
    ("https://hooks.example.com;evil.example/", "invalid"),
    ("https://hooks$.example.com/", "invalid"),
    ("ftp://hooks.example.com/", "invalid"),
    ("file:///etc/passwd", "invalid"),
    ("gopher://hooks.example.com/", "invalid"),
    ("javascript:alert(1)", "invalid"),
    ("unix:///run/docker.sock", "invalid"),
    ("http+unix://run/", "invalid"),
    ("ｈttps://hooks.example.com/", "invalid"),
    (" https://hooks.example.com/", "invalid"),
    ("https://hooks.example.com/ ", "invalid"),
    ("https://hooks.example.com/a b", "invalid"),
    ("https://hooks.example.com/a\u00a0b", "invalid"),
    ("https://hooks.example.com/a\u3000b", "invalid"),
    ("https://hooks.example.com/\t", "invalid"),
    ("https://hooks.example.com/\r\nX-Injected: 1", "invalid"),
    ("https://hooks.example.com\n.evil.example/", "invalid"),
    ("ht\ntps://hooks.example.com/", "invalid"),
    ("https://hooks.example.com/\x00", "invalid"),
    ("https://hooks.example.com/\x7f", "invalid"),
    ("https://hooks.example.com/\u202e", "invalid"),
    ("https://hooks.example.com/\ud800", "invalid"),
    ("https://hooks\u200b.example.com/", "invalid"),
    ("https://hooks\u00ad.example.com/", "invalid"),
    ("https://local\u200dhost/", "invalid"),
    ("https://hooks.example.com\\@127.0.0.1/", "invalid"),
    ("https:\\\\hooks.example.com/", "invalid"),
    ("https://hooks.example.com/a\\b", "invalid"),
    ("https://user@hooks.example.com/", "not_allowed"),
    ("https://user:secret@hooks.example.com/", "not_allowed"),
    ("https://:@hooks.example.com/", "not_allowed"),
    ("https://@hooks.example.com/", "not_allowed"),
    ("https://hooks.example.com:443@127.0.0.1/", "not_allowed"),
    ("https://hooks.example.com&@127.0.0.1/", "not_allowed"),
    ("https://127.0.0.1:8443@hooks.example.com/", "not_allowed"),
    ("https://hooks.example.com/#part", "not_allowed"),
    ("https://hooks.example.com/#", "not_allowed"),
    ("https://hooks.example.com#@127.0.0.1/", "not_allowed"),
    ("https://%6c%6f%63alhost/", "invalid"),
    ("https://127.0.0.1%00.example.com/", "invalid"),
    ("https://hooks.example.com%2f@127.0.0.1/", "not_allowed"),
    ("https://127%2e0%2e0%2e1/", "invalid"),
    ("https://[fe80::1%eth0]/", "invalid"),
    ("https://[fe80::1%25eth0]/", "invalid"),
    ("https://[::1%1]/", "invalid"),
    ("https://[::1/", "invalid"),
    ("https://::1]/", "invalid"),
    ("https://::1/", "invalid"),
    ("https://[]/", "invalid"),
    ("https://[::1]evil.example/", "invalid"),
    ("https://[::1].example.com/", "invalid"),
    ("https://[127.0.0.1]/", "invalid"),
    ("https://[v1.x]/", "invalid"),
    ("https://[::1::1]/", "invalid"),
    ("https://[::ffff:127.0.0.256]/", "invalid"),
    ("https://[：：１]/", "invalid"),
    ("https://256.0.0.1/", "invalid"),
    ("https://1.2.3.4.5/", "invalid"),
    ("https://08.0.0.1/", "invalid"),
    ("https://4294967296/", "invalid"),
    ("https://0x100000000/", "invalid"),
    ("https://127.0.0.0x/", "invalid"),
    ("https://hooks.example.1/", "invalid"),
    ("https://hooks.example.0x1/", "invalid"),
    ("https://127.0.0.1,8.8.8.8/", "invalid"),
    ("https://hooks.example.com:/", "invalid"),
    ("https://hooks.example.com:0/", "invalid"),
    ("https://hooks.example.com:65536/", "invalid"),
    ("https://hooks.example.com:99999/", "invalid"),
    ("https://hooks.example.com:000443/", "invalid"),
    ("https://hooks.example.com:-443/", "invalid"),
    ("https://hooks.example.com:+443/", "invalid"),
    ("https://hooks.example.com:4_43/", "invalid"),
    ("https://hooks.example.com:４４３/", "invalid"),
    ("https://hooks.example.com:443:443/", "invalid"),
    ("https://hooks.example.com:https/", "invalid"),
    ("https://[2606:4700::1]:x/", "invalid"),
    ("https://hooks.example.com:1/", "not_allowed"),
    ("https://hooks.example.com:22/", "not_allowed"),
    ("https://hooks.example.com:25/", "not_allowed"),
    ("https://hooks.example.com:81/", "not_allowed"),
    ("https://hooks.example.com:1023/", "not_allowed"),
    ("https://a℀b.example.com/", "invalid"),
    ("https://hooks.example／com/", "invalid"),
    ("https://hooks.example.com？x/", "invalid"),
    ("https://hooks＠127.0.0.1/", "invalid"),
    ("https://straße.example.com/", "invalid"),
    ("https://βόλος.example.com/", "invalid"),
    (f"https://{'a' * 64}.example.com/", "invalid"),
    (f"https://{'ä' * 64}.example.com/", "invalid"),
    (f"https://{'a.' * 126}example/", "invalid"),
    (f"https://{'ä.' * 1000}com/", "invalid"),
    (f"https://hooks.example.com/{'a' * 2023}", "too_long"),
    (f"https://{'１' * 100_000}/", "too_long"),
]

GOOD = [
    ("https://hooks.example.com", ("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
    ("https://hooks.example.com/", ("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
    ("HTTPS://Hooks.Example.COM/A/b", ("https", "hooks.example.com", 443, "/A/b"), "hooks.example.com"),
    ("https://hooks.example.com./a", ("https", "hooks.example.com", 443, "/a"), "hooks.example.com"),
    ("https://hooks.example.com?a=b", ("https", "hooks.example.com", 443, "/?a=b"), "hooks.example.com"),
    ("https://h.example.com/a?b=c&d=%20", ("https", "h.example.com", 443, "/a?b=c&d=%20"), "h.example.com"),
    ("https://h.example.com/@a:b;c", ("https", "h.example.com", 443, "/@a:b;c"), "h.example.com"),
    ("https://h.example.com/?to=http://x", ("https", "h.example.com", 443, "/?to=http://x"), "h.example.com"),
    ("https://h.example.com//a/../b", ("https", "h.example.com", 443, "//a/../b"), "h.example.com"),
    ("https://h.example.com/ä?ö", ("https", "h.example.com", 443, "/%C3%A4?%C3%B6"), "h.example.com"),
    ("https://h.example.com/%C3%A4%zz", ("https", "h.example.com", 443, "/%C3%A4%zz"), "h.example.com"),
    ("https://h.example.com:443/", ("https", "h.example.com", 443, "/"), "h.example.com"),
    ("https://h.example.com:0443/", ("https", "h.example.com", 443, "/"), "h.example.com"),
    ("https://h.example.com:80/", ("https", "h.example.com", 80, "/"), "h.example.com:80"),
    ("https://h.example.com:1024/", ("https", "h.example.com", 1024, "/"), "h.example.com:1024"),
    ("https://h.example.com:65535/", ("https", "h.example.com", 65535, "/"), "h.example.com:65535"),
    ("https://my_hook.example.com/", ("https", "my_hook.example.com", 443, "/"), "my_hook.example.com"),
    ("https://1.example.com/", ("https", "1.example.com", 443, "/"), "1.example.com"),
    ("https://localhost.example.com/", ("https", "localhost.example.com", 443, "/"), "localhost.example.com"),
    ("https://notlocal.se/", ("https", "notlocal.se", 443, "/"), "notlocal.se"),
    (
        "https://müller.example.com/",
        ("https", "xn--mller-kva.example.com", 443, "/"),
        "xn--mller-kva.example.com",
    ),
    (
        "https://МОСКВА.example.com/",
        ("https", "xn--80adxhks.example.com", 443, "/"),
        "xn--80adxhks.example.com",
    ),
    ("https://例え。example.com/", ("https", "xn--r8jz45g.example.com", 443, "/"), "xn--r8jz45g.example.com"),
    ("https://ｈｏｏｋｓ.example.com/", ("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
    (
        "https://xn--strae-oqa.example.com/",
        ("https", "xn--strae-oqa.example.com", 443, "/"),
        "xn--strae-oqa.example.com",
    ),
    ("https://8.8.8.8/", ("https", "8.8.8.8", 443, "/"), "8.8.8.8"),
    ("https://134744072:8443/", ("https", "8.8.8.8", 8443, "/"), "8.8.8.8:8443"),
    ("https://[2606:4700:0::1111]/", ("https", "2606:4700::1111", 443, "/"), "[2606:4700::1111]"),
    ("https://[2606:4700::1111]:8443/", ("https", "2606:4700::1111", 8443, "/"), "[2606:4700::1111]:8443"),
    ("https://[64:ff9b::8.8.8.8]/", ("https", "64:ff9b::808:808", 443, "/"), "[64:ff9b::808:808]"),
]

PRIVATE_BUT_WELL_FORMED = [
    ("http://127.0.0.1:8001/hook", "127.0.0.1"),
    ("http://localhost:8001/hook", "localhost"),
    ("http://2130706433:8001/", "127.0.0.1"),
    ("http://127.1:8001/", "127.0.0.1"),
    ("http://0x7f.1:8001/", "127.0.0.1"),
    ("http://[::1]:8001/", "::1"),
    ("http://[::ffff:7f00:1]:8001/", "::ffff:7f00:1"),
    ("http://receiver:8001/", "receiver"),
    ("https://db.internal/", "db.internal"),
]

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"),
    *("168.63.129.15", "168.63.129.17", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0"),
    *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888", "2001:200::1"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2000::1", "3ff0::1"),
]
NO_PUBLIC_ONES = [
    *("0.0.0.0", "0.255.255.255", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255"),
    *("127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254", "169.254.255.255"),
    *("172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170"),
    *("192.0.0.192", "192.0.0.255", "192.0.2.0", "192.88.99.1", "192.168.0.0", "198.18.0.0"),
    *("198.51.100.0", "203.0.113.255", "224.0.0.0", "233.252.0.1", "239.255.255.255", "240.0.0.0"),
    *("255.255.255.255", "::", "::1", "::2", "::8.8.8.8", "::127.0.0.1", "::ffff:127.0.0.1"),
    *("::ffff:0:8.8.8.8", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::168.63.129.16"),
    *("64:ff9b:1::8.8.8.8", "100::1", "100:0:0:1::1", "1fff::1", "2001::1", "2001:0:4136:e378::1"),
    *("2001:1::1", "2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1"),
    *("2001:1ff::1", "2001:db8::1", "2002:808:808::1", "3ffe::1", "3fff::1", "3fff:fff::1", "4000::1"),
    *("5f00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fec0::1"),
    *("ff02::1", "ff0e::1", "2606:4700:4700::1111%eth0", "::ffff:8.8.8.8%1"),
    *("", "localhost", "8.8.8.8.", " 8.8.8.8", "8.8.8", "134744072", "08.8.8.8", "[::1]", "8.8.8.8/32"),
]


def code_of(url: str, *, allow_http: bool = False, allow_private: bool = False) -> str | None:
    """Why it is refused; None where it is not."""
    refusal = refusal_of(url, allow_http=allow_http, allow_private=allow_private)
    return refusal.code if refusal else None


def refusal_of(url: str, *, allow_http: bool = False, allow_private: bool = False) -> BadAddress | None:
    try:
        check_url(url, allow_http=allow_http, allow_private=allow_private)
    except BadAddress as refusal:
        return refusal
    return None


def test_a_refusal_is_a_sentence_with_a_documented_code() -> None:
    for url in (NOT_PUBLIC[0], "http://hooks.example.com/", *(url for url, _ in MALFORMED)):
        refusal = refusal_of(url)
        assert refusal is not None, url
        assert str(refusal).startswith("`url` must "), url
        assert str(refusal).endswith("."), url
        assert refusal.code in VIOLATION_CODES, url


def test_a_private_address_is_refused_in_every_spelling() -> None:
    """Rule 9.15."""
    without_tls = [url.replace("https:", "http:") for url in NOT_PUBLIC]

    assert [url for url in NOT_PUBLIC if code_of(url) != "not_allowed"] == []
    assert [url for url in without_tls if code_of(url, allow_http=True) != "not_allowed"] == []


def test_a_private_address_is_accepted_if_private_networks_are_allowed() -> None:
    assert [url for url in NOT_PUBLIC if code_of(url, allow_private=True) is not None] == []


def test_a_malformed_or_hostile_address_is_always_refused() -> None:
    assert [(url, code_of(url)) for url, _ in MALFORMED] == MALFORMED
    assert [(url, code_of(url, allow_http=True, allow_private=True)) for url, _ in MALFORMED] == MALFORMED


def test_a_valid_address_is_split_into_its_parts() -> None:
    parsed = [(url, parse_url(url)) for url, _, _ in GOOD]

    assert [url for url, _, _ in GOOD if code_of(url) is not None] == []
    assert [(url, each, each.authority) for url, each in parsed] == [
        (url, Endpoint(*parts), authority) for url, parts, authority in GOOD
    ]


def test_a_private_host_is_normalised() -> None:
    hosts = [(url, parse_url(url).host) for url, _ in PRIVATE_BUT_WELL_FORMED]

    assert hosts == PRIVATE_BUT_WELL_FORMED
    assert [url for url, _ in hosts if code_of(url, allow_http=True, allow_private=True) is not None] == []


def test_http_is_accepted_only_if_it_is_allowed() -> None:
    url = "http://hooks.example.com/a"

    assert code_of(url) == "not_allowed"
    assert code_of(url, allow_private=True) == "not_allowed"
    assert code_of(url, allow_http=True) is None
    assert parse_url(url) == Endpoint("http", "hooks.example.com", 80, "/a")


@try_each("port", [1, 22, 81, 442, 444, 1023])
def test_low_ports_are_refused_even_if_private_networks_are_allowed(port: int) -> None:
    assert code_of(f"http://127.0.0.1:{port}/", allow_http=True, allow_private=True) == "not_allowed"


def test_an_address_has_at_most_2048_characters() -> None:
    longest = "https://hooks.example.com/".ljust(2048, "a")

    assert code_of(longest) is None
    assert code_of(longest + "a") == "too_long"


def test_an_ip_address_of_the_internet_is_public_and_no_other_one() -> None:
    assert [ip for ip in PUBLIC if not is_public(ip)] == []
    assert [ip for ip in NO_PUBLIC_ONES if is_public(ip)] == []


@given(st.ip_addresses(v=4))
def test_a_mapped_or_translated_address_is_as_public_as_the_one_inside(ip: object) -> None:
    assert is_public(f"::ffff:{ip}") == is_public(f"64:ff9b::{ip}") == is_public(str(ip))


@given(st.one_of(st.text(max_size=60), st.text(max_size=60).map("https://{}".format)))
def test_any_text_is_accepted_or_refused_without_another_error(url: str) -> None:
    code_of(url)
    code_of(url, allow_http=True, allow_private=True)


@given(st.from_regex(r"https://[0-9a-fx.]{1,20}/", fullmatch=True))
def test_an_accepted_address_never_has_a_private_ip_address_as_its_host(url: str) -> None:
    if code_of(url) is None:
        host = parse_url(url).host

        assert is_public(host) or not host.rpartition(".")[2].isdigit()
