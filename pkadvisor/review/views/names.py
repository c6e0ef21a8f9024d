"""What the name of a property says: whether it tells of a person, opens a door, counts up, or hashes from run to run.

Names are cut into words (``customerEmail``, ``customer_email`` → customer, email); accents and case are dropped. Only
the end of a name says what a value is: ``customerEmail`` is an e-mail address, ``emailTemplateId`` is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def _known(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASKS = _known("has is needs wants allow allows send use show hide verify verified count num")
"""First words of names whose values are truths or counts."""
_FORMS = _known("hash hashed sha sha1 sha256 md5 lower lowercase normalized normalised value text raw plain")
"""Last words that say in which form a value is."""
_ONE_FORM = _known("hash hashed sha sha1 sha256 md5 lower lowercase normalized normalised canonical")
"""Words that say that case is no matter any more."""
_HASHES = _known("hash hashed sha sha1 sha256 md5")

_EMAIL = _known(
    "email emailaddress emailaddr mail mailaddress mailaddr emailadresse mailadresse adressemail courriel "
    "correo correoelectronico emailadres upn userprincipalname"
)
_PERSONAL = _EMAIL | _known(
    "phone phonenumber phoneno telephone telephonenumber tel telno telnr mobilephone mobilenumber cellphone "
    "msisdn faxnumber telefon telefonnummer telefono telefone telefoonnummer handynummer numerotelephone "
    "celular ssn socialsecuritynumber socialsecurityno nationalid nationalinsurancenumber nino passport "
    "passportnumber passportno passnummer reisepassnummer dni cpf bsn pesel personnummer codicefiscale "
    "steuerid sozialversicherungsnummer driverslicense driverlicense driverlicence licenseplate licenceplate "
    "iban creditcard creditcardnumber creditcardno debitcard debitcardnumber debitcardno cardnumber cardno pan "
    "cardpan primaryaccountnumber paymentcard paymentcardnumber bankcard bankcardnumber ccnumber ccnum "
    "bankaccountnumber kreditkarte kreditkartennummer kontonummer "
    "birthdate dateofbirth dob birthday birthyear birthplace geburtsdatum geburtstag geburtsjahr geburtsort "
    "fechanacimiento fechadenacimiento datenaissance datedenaissance datanascita datanascimento geboortedatum "
    "firstname lastname surname fullname givenname familyname middlename maidenname forename personname "
    "patientname employeename studentname vorname nachname familienname prenom nomfamille "
    "nomdefamille apellido apellidos cognome sobrenome voornaam achternaam nombrecompleto nomecompleto address "
    "homeaddress streetaddress postaladdress mailingaddress shippingaddress billingaddress adresse anschrift "
    "direccion indirizzo endereco ip ipaddress ipaddr ipadresse"
)
_OF_CARDS = _known(
    "pan cardpan primaryaccountnumber creditcard creditcardnumber creditcardno debitcard debitcardnumber debitcardno "
    "cardnumber cardno paymentcard paymentcardnumber bankcard bankcardnumber ccnumber ccnum kreditkarte "
    "kreditkartennummer"
)
_OF_ACCOUNTS_AND_PAPERS = _known(
    "ssn socialsecuritynumber socialsecurityno nationalid nationalinsurancenumber nino passportnumber passportno "
    "passnummer reisepassnummer dni cpf bsn pesel personnummer codicefiscale steuerid sozialversicherungsnummer iban "
    "bankaccountnumber kontonummer"
)
_REGULATED = _OF_CARDS | _OF_ACCOUNTS_AND_PAPERS
"""Numbers that open an account or stand for a person before the law, such as those of payment cards."""
CARD_DIGITS_MIN = 12
"""Digits of the shortest number of a payment card (ISO/IEC 7812-1 counts from 8; issuers give out 12 to 19)."""
PAPER_DIGITS_MIN = 7
"""Digits of the shortest numbers of bank accounts, passports and identity papers."""
_OTHER_CARDS = _known(
    "access badge building business deck employee game gift graphics id key library loyalty member membership memory "
    "network parking patient playing punch rewards score sim smart staff student time transit travel voucher"
)
"""Words before ``card`` that make it none that pays, or before a number that is none of a card."""
_OF_MACHINES = _known(
    "mac memory wallet contract block web url bus device server host register modbus network start base "
    "virtual physical node token transaction hardware bluetooth ble dns gateway vm pod destination dst target "
    "sensor listen bind cluster subnet service storage site home page blob api"
)
"""Words before ``address`` and ``ip`` that make them those of a machine."""
_SECRET = _known(
    "password passwd pwd passphrase passwort kennwort motdepasse contrasena senha wachtwoord secret apikey "
    "accesskey secretkey privatekey accountkey sharedkey signingkey encryptionkey sas sastoken sasurl "
    "sharedaccesssignature connectionstring connstring connstr credential credentials accesstoken refreshtoken "
    "authtoken bearertoken apitoken sessiontoken resettoken securitytoken jwt otp cvv cvc"
)
_OTHER_TOKENS = _known(
    "continuation page paging next sync change delta concurrency cancellation word search text index lexical term nft "
    "push device csrf xsrf lock fencing"
)
_UNSTABLE = _known("hashcode gethashcode objecthash objecthashcode identityhashcode identityhash pyhash pythonhash")
_LOGIN = _EMAIL | _known("login loginname username benutzername signin screenname")
_FREE_TEXT = _known(
    "title subject comment comments description message note notes remark remarks body freetext betreff titel "
    "beschreibung kommentar nachricht bemerkung titre commentaire titulo descripcion comentario"
)
_SLASHED = _known("url uri href permalink path filepath fullpath pathname dateipfad dirpath directorypath folderpath")
_YEAR = _known("year jahr annee anno jaar yyyy")
_UNITS = {
    "year": _YEAR,
    "month": _known("month monat mois mes mese"),
    "week": _known("week woche semaine semana settimana"),
    "day": _known("day tag jour dia giorno date datum night nacht nuit noche notte"),
    "hour": _known("hour stunde heure hora ora"),
    "minute": _known("minute"),
    "second": _known("second sekunde"),
}
"""Last words of names, by the period that a value so named is."""
_CALENDAR = _known("month day hour minute second monat tag stunde sekunde mois jour heure mes dia hora mese giorno ora")
_MOMENTS = _known(
    "at time timestamp datetime ts start starts started begin begins began beginning end ends ended moment instant "
    "arrival departure checkin checkout appointment kickoff takeoff landing zeit zeitpunkt uhrzeit startzeit endzeit "
    "beginn anfang abfahrt ankunft abflug debut depart arrivee inicio inizio salida llegada hhmm hhmmss"
)
"""Last words of names of times of the day."""
_FORMED = _known("hhmm hhmmss yyyymmdd yyyymm yyyymmddhh yyyymmddhhmm yyyymmddhhmmss iso iso8601 utciso")
"""Last words of names of times that tell a form which sorts."""
_WALL = _known("localtime localdatetime wallclock walltime lokalzeit ortszeit")
_LOCAL = _WALL | _known("local lokal locale mez mesz cet cest edt pdt")
"""Words of names of times that follow the clock on the wall, forward in spring and back in autumn."""
_ZONES = (_LOCAL - _WALL) | _known("utc gmt tz")
_SPANS = _known("period window bucket slot interval span frame shift season quarter batch billing fiscal")
"""Words of names of times that begin or end a period, of which there is one entity."""
_COUNTERS = _known(
    "id seq sequence sequenceno sequencenumber serial serialno autoid identity rowid rownumber rownum "
    "autonumber counter number no nr"
)
_NOW = _known(
    "ts at timestamp time datetime created createdat createdon creationtime inserted insertedat posted postedat "
    "booked bookedat logged loggedat eventtime eventts received receivedat occurred occurredat arrived "
    "arrivedat recorded recordedat reported reportedat registeredat registered now utcnow"
)
_OF_CHANGES = _known("updated modified changed edited touched refreshed synced archived deleted expired closed")

_PIECES = _known("line lines item items detail details position positions part parts step steps entry entries row rows")
"""Last words of tables that hold what one thing is made of."""
_UNIQUE = _known(
    "serial serialno serialnumber imei imsi iccid vin isbn sku gtin ean barcode slug hostname fqdn nickname"
)
_NUMBERED = _known("id no nr number code key reference ref")
_OF_ONE = _known("external idempotency tracking confirmation booking invitation receipt legacy foreign correlation")
"""Words that make an id one of a single entity in another system."""

_MACHINES = _known(
    "sensor device meter turbine probe machine router station charger beacon thermostat inverter pump tracker camera "
    "gauge logger plc vehicle satellite zaehler geraet maschine anlage capteur appareil dispositivo"
)
"""Last words of names of what reports by a clock of its own."""


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    return tuple(w.lower() for w in _WORD.findall("".join(c for c in plain if not unicodedata.combining(c))))


def _ends(words_of_name: Iterable[str], known: frozenset[str]) -> tuple[str, ...] | None:
    """The words before the longest known end of a name; None where it ends in none."""
    every = tuple(words_of_name)
    for i in range(len(every)):
        if "".join(every[i:]) in known:
            return every[:i]
    return None


def _bare(name: str) -> tuple[str, ...]:
    """The words of a name without numbers and forms at its end."""
    parts = words(name)
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _FORMS):
        parts = parts[:-1]
    return parts


def personal(name: str) -> bool:
    """Whether values so named tell of a person: e-mail, telephone, identity, bank, birth, full names, addresses."""
    parts = _bare(name)
    before = _ends(parts, _PERSONAL)
    if before is None or parts[0] in _ASKS:
        return False
    of_machine = "".join(parts).endswith(("address", "ip", "addr")) and bool(set(parts) & _OF_MACHINES)
    return not of_machine or _ends(parts, _PERSONAL - {"address", "ip", "ipaddress", "ipaddr"}) is not None


def regulated_digits(name: str) -> int:
    """The fewest digits of the payment-card, account or identity number that a name says; 0 where it says none."""
    parts = _bare(name)
    before = _ends(parts, _REGULATED)
    if before is None or parts[0] in _ASKS or names_a_hash(name) or set(before) & _OTHER_CARDS:
        return 0
    return CARD_DIGITS_MIN if "".join(parts[len(before) :]) in _OF_CARDS else PAPER_DIGITS_MIN


def names_a_hash(name: str) -> bool:
    """Whether a name says that its values are hashes: ``emailHash``."""
    parts = words(name)
    return bool(set(parts[1:]) & _HASHES)


def secret(name: str) -> bool:
    """Whether values so named open a door: passwords, access keys, tokens of a session, connection strings."""
    parts = words(name)
    if not parts or parts[0] in _ASKS or names_a_hash(name):
        return False
    return _ends(_bare(name), _SECRET) is not None


def token(name: str) -> bool:
    """Whether values so named may let their bearer in; not the tokens of pages, locks and words."""
    parts = _bare(name)
    return bool(parts) and parts[-1] == "token" and not {*parts} & (_ASKS | _OTHER_TOKENS) and not names_a_hash(name)


def unstable_hash(name: str) -> bool:
    """Whether a name is that of a language's own hash, which other processes compute otherwise."""
    return _ends(words(name), _UNSTABLE) is not None


def login(name: str) -> bool:
    """Whether people type such values in any case, and nobody brought them into one: e-mail addresses, logins."""
    parts = _bare(name)
    if not parts or parts[0] in _ASKS or set(words(name)) & _ONE_FORM:
        return False
    return _ends(parts, _LOGIN) is not None


def free_text(name: str) -> bool:
    """Whether values so named are what people write."""
    parts = words(name)
    return bool(parts) and parts[0] not in _ASKS and parts[-1] in _FREE_TEXT


def slashed(name: str) -> bool:
    """Whether values so named nearly always hold a ``/``, which no key may: URLs and paths."""
    parts = words(name)
    return bool(parts) and parts[0] not in _ASKS and _ends(parts, _SLASHED) is not None


def year(name: str) -> bool:
    """Whether values so named are years, which have four digits."""
    parts = words(name)
    return bool(parts) and parts[-1] in _YEAR


_DATE_FORM = re.compile(
    "(?P<last>(dd_?mm|mm_?dd)_?yy(yy)?|mm_?yyyy|mm_?yy)|(?P<short>yy_?(mm(_?dd)?|ww)|yy)", re.IGNORECASE
)
"""Forms of dates in names: those that begin with the day or the month, and those with two digits for the year."""


def date_form(name: str) -> str:
    """``last`` where a name tells a date that ends with its year, as ``day_ddmmyyyy`` does; ``short`` where it tells
    one that begins with two digits for the year, as ``yyMMdd``; else empty."""
    for match in _DATE_FORM.finditer(name):
        before, text, after = name[: match.start()][-1:], match[0], name[match.end() :][:1]
        begins = not before.isalpha() or (before.islower() and text[0].isupper())
        if begins and (not after.isalpha() or (after.isupper() and text[-1].islower())):
            return str(match.lastgroup)
    return ""


def calendar(name: str) -> bool:
    """Whether values so named are months, days, hours, minutes or seconds: ordered numbers of one or two digits."""
    parts = words(name)
    return bool(parts) and parts[-1] in _CALENDAR


def period(name: str) -> str:
    """The unit (year … second) of which a time so named is one period, such as day for ``visit_date``; else empty."""
    last = words(name)[-1:]
    return next((unit for unit, known in _UNITS.items() if last and last[0] in known), "")


def moment(name: str) -> bool:
    """Whether a time so named is that of a clock and no period: ``startLocal``, ``departs_at``, ``played_local``; not
    ``slotStart``."""
    every = _bare(name)
    parts = tuple(word for word in every if word not in _ZONES)
    if parts != every and parts[-1:] and parts[-1].endswith("ed"):
        return True
    before = _ends(parts, _MOMENTS | _WALL)
    return before is not None and not {*before} & (_SPANS | frozenset().union(*_UNITS.values()))


def time_of_no_form(name: str) -> bool:
    """Whether a text so named is a date or a moment, and the name does not tell its form: ``air_date``, ``start``; not
    ``yyyymmdd`` nor ``hhmm``."""
    last = words(name)[-1:]
    if date_form(name) or (last and last[0] in _FORMED):
        return False
    return period(name) in ("day", "week", "month") or moment(name)


def local_time(name: str) -> bool:
    """Whether a time so named is that of the clock on the wall: ``start_local``; not ``localTimeUtc``."""
    parts = words(name)
    said = {*parts} | {"".join(pair) for pair in pairwise(parts)}
    return bool(said & _LOCAL) and not said & {"utc", "gmt"} and not period(name)


def machine(name: str) -> bool:
    """Whether a name is that of what reports at regular times: ``sensorId``, ``device``."""
    parts = [word for word in words(name) if word not in _NUMBERED]
    return bool(parts) and parts[-1] in _MACHINES


def counter_of(name: str, table: str) -> bool:
    """Whether a number so named is the running number of the table's own entities: ``id``, ``orderId`` in Orders."""
    parts = words(name)
    if _ends(parts, _COUNTERS) == ():
        return True
    if len(parts) < 2 or parts[-1] not in ("id", "no", "nr", "number", "num", "seq"):
        return False
    return _entity_of("".join(parts[:-1]), words(table))


def stands_for_entity(name: str, table: str) -> bool:
    """Whether a property is named as the entity itself: ``permit`` of Permits, ``mail`` of ArchivedMails."""
    return any(_entity_of("".join(words(name)), own) for own in (words(table), words(table)[-1:]))


def _entity_of(name: str, table: tuple[str, ...]) -> bool:
    return "".join(table) in (name, name + "s", name + "es", name[:-1] + "ies" if name.endswith("y") else name)


def numbered(name: str, table: str) -> bool:
    """Whether a name may be that of a running number within something else: ``requestNo``, or that of the table."""
    return words(name)[-1:] in (("no",), ("nr",), ("number",), ("num",), ("seq",)) or counter_of(name, table)


def part_of_aggregate(name: str, table: str) -> bool:
    """Whether entities of a table are a few parts of what an id so named stands for: ``orderId`` of OrderLines."""
    own, of = words(table), words(name)
    parent = of[:-1] if len(of) > 1 and of[-1] in ("id", "no", "nr", "number", "num") else ()
    return bool(parent) and own[: len(parent)] == parent and own[len(parent) :][-1:] in {(word,) for word in _PIECES}


def unique(name: str) -> bool:
    """Whether each entity has its own value by the name: e-mail addresses, serial numbers, ids of other systems."""
    parts = _bare(name)
    if not parts or parts[0] in _ASKS:
        return False
    return login(name) or _ends(parts, _UNIQUE) is not None or (parts[-1] in _NUMBERED and bool({*parts} & _OF_ONE))


def moment_of_arrival(name: str) -> bool:
    """Whether a time so named is that at which an entity comes: by its whole name, or as ``redeemedAt`` says what
    happened then, but for a change of an entity that there was before."""
    told = words(name)
    if _ends(told, _NOW) == () or "".join(told) in _NOW:
        return True
    return len(told) == 2 and told[0].endswith("ed") and told[1] in ("at", "on") and told[0] not in _OF_CHANGES
