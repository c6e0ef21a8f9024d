"""What names of properties say: found in every spelling, and not in names that only contain them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.review.views import names

PERSONAL = (
    "email", "customer email", "e mail address",
    "work phone number", "first name", "date of birth", "birthday", "iban",
    "passport number", "social security number", "client ip", "home address", "vorname", "geburtsdatum", "telefon",
    "prenom", "apellido", "codice fiscale", "server email address", "email hash", "phone 2",
)  # fmt: skip
ORDINARY = (
    "email template id", "has email", "mailbox size", "phone model", "name", "file name",
    "mac address", "wallet address",
    "server ip", "zip", "membership", "address count", "birth rate", "passport type", "tenant id", "email count",
    "city",
)  # fmt: skip
SECRET = ("password", "user password", "api key", "client secret", "connection string", "sas token", "refresh token")
NO_SECRET = ("password hash", "has password", "public key", "partition key", "secretary", "token type", "key", "sasha")


def _spellings(phrase: str) -> tuple[str, ...]:
    words = phrase.split()
    camel = words[0] + "".join(w.capitalize() for w in words[1:])
    pascal = "".join(w.capitalize() for w in words)
    return camel, pascal, "_".join(words), "-".join(words), "_".join(words).upper()


@given(st.sampled_from(PERSONAL), st.integers(0, 4))
def test_data_on_people_is_known_in_every_spelling(phrase: str, spelling: int) -> None:
    assert names.personal(_spellings(phrase)[spelling])


@given(st.sampled_from(ORDINARY), st.integers(0, 4))
def test_names_that_only_contain_such_words_are_ordinary(phrase: str, spelling: int) -> None:
    assert not names.personal(_spellings(phrase)[spelling])


@given(st.integers(0, 4), st.sampled_from([*((p, True) for p in SECRET), *((p, False) for p in NO_SECRET)]))
def test_secrets_are_told_from_what_sounds_like_them(spelling: int, named: tuple[str, bool]) -> None:
    phrase, is_secret = named
    assert names.secret(_spellings(phrase)[spelling]) is is_secret


REGULATED = ("card number", "credit card number", "payment card", "pan", "iban", "ssn", "passport no", "customer iban")
ORDINARY_CARDS = ("library card number", "sim card no", "has iban", "card number hash", "card type", "gift card no")


@given(st.integers(0, 4), st.sampled_from([*((p, True) for p in REGULATED), *((p, False) for p in ORDINARY_CARDS)]))
def test_numbers_of_payment_cards_are_told_from_those_of_other_cards(spelling: int, named: tuple[str, bool]) -> None:
    phrase, is_regulated = named
    assert bool(names.regulated_digits(_spellings(phrase)[spelling])) is is_regulated


@pytest.mark.parametrize(
    ("name", "table", "few"),
    [
        ("orderId", "OrderLines", True),
        ("invoice_no", "invoice_items", True),
        ("orderId", "Orders", False),
        ("tenantId", "TenantUsers", False),
        ("lineId", "OrderLines", False),
        ("id", "Lines", False),
    ],
)
def test_lines_of_an_order_are_parts_of_it(name: str, table: str, few: bool) -> None:
    assert names.part_of_aggregate(name, table) is few


@pytest.mark.parametrize(
    ("name", "alone"),
    [("email", True), ("serialNumber", True), ("externalId", True), ("customerId", False), ("hasEmail", False)],
)
def test_what_is_unique_by_its_name(name: str, alone: bool) -> None:
    assert names.unique(name) is alone


@pytest.mark.parametrize("name", ["continuationToken", "pageToken", "hasToken", "tokenType", "tokenHash"])
def test_tokens_of_pages_open_no_door(name: str) -> None:
    assert not names.token(name)
    assert names.token("inviteToken")
    assert names.token("token")


@pytest.mark.parametrize(
    ("name", "table", "counts"),
    [
        ("id", "Orders", True),
        ("orderId", "Orders", True),
        ("OrderNumber", "Order", True),
        ("entry_no", "Entries", True),
        ("seq", "Events", True),
        ("customerId", "Orders", False),
        ("deviceNumber", "Readings", False),
        ("total", "Orders", False),
    ],
)
def test_only_the_running_number_of_the_table_counts_up(name: str, table: str, counts: bool) -> None:
    assert names.counter_of(name, table) is counts


def test_accents_are_no_matter() -> None:
    assert names.personal("prénom")
    assert names.secret("contraseña")
    assert names.words("größeKlasse") == ("grosse", "klasse")


@given(st.text(max_size=30))
def test_any_name_is_read(name: str) -> None:
    asked = (names.personal, names.secret, names.token, names.login, names.free_text, names.year, names.calendar)
    assert all(
        isinstance(ask(name), bool) for ask in (*asked, names.unstable_hash, names.moment_of_arrival, names.slashed)
    )
    assert isinstance(names.counter_of(name, name), bool)
    assert all(word == word.lower() for word in names.words(name))


PERIODS = {"visit date": "day", "billing month": "month", "night": "day", "geburtsjahr jahr": "year", "hour": "hour"}
CLOCKED = ("start local", "played local", "starts at", "departure", "check in", "start time utc", "beginn")
UNCLOCKED = ("slot start", "window end", "valid from", "visit date", "shift start", "day", "format", "week start")


@given(st.integers(0, 4), st.sampled_from(sorted(PERIODS.items())))
def test_a_time_is_a_period_by_the_end_of_its_name(spelling: int, named: tuple[str, str]) -> None:
    assert names.period(_spellings(named[0])[spelling]) == named[1]


@given(st.integers(0, 4), st.sampled_from([*((p, True) for p in CLOCKED), *((p, False) for p in UNCLOCKED)]))
def test_times_of_a_clock_are_told_from_the_ends_of_a_period(spelling: int, named: tuple[str, bool]) -> None:
    assert names.moment(_spellings(named[0])[spelling]) is named[1]


ON_THE_WALL = ("start local", "played local", "local time", "localtime", "hora local", "ortszeit", "created cet")
NOT_ON_THE_WALL = ("local date", "local time utc", "starts at", "localized at", "gmt", "local day")


@given(st.integers(0, 4), st.sampled_from([*((p, True) for p in ON_THE_WALL), *((p, False) for p in NOT_ON_THE_WALL)]))
def test_local_times_are_told_from_days_and_from_utc(spelling: int, named: tuple[str, bool]) -> None:
    assert names.local_time(_spellings(named[0])[spelling]) is named[1]


MACHINES = ("sensor", "device id", "meter no", "charging station")
NO_MACHINES = ("customer", "sensor type", "device owner", "id", "gate", "station master")


@given(st.integers(0, 4), st.sampled_from([*((p, True) for p in MACHINES), *((p, False) for p in NO_MACHINES)]))
def test_machines_are_told_from_people_and_places(spelling: int, named: tuple[str, bool]) -> None:
    assert names.machine(_spellings(named[0])[spelling]) is named[1]
