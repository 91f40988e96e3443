"""What the demo begins with."""

import pytest

from foyer.demo.apiserver.resources import CONFIG_MAPS
from foyer.demo.apiserver.store import Store
from foyer.demo.contents import fill, first_version, furnish
from foyer.demo.people import PEOPLE, crowd
from tests.demo.fakes import NOTES, SECRETS, Cluster


def test_there_is_something_to_look_at_and_something_to_be_refused() -> None:
    cluster = Cluster(furnished=True)
    assert len(cluster.ask("GET", NOTES, as_="bob").json["items"]) == 4
    assert len(cluster.ask("GET", SECRETS).json["items"]) == 1
    assert cluster.ask("GET", SECRETS, as_="bob").status == 403


def test_a_new_start_counts_beyond_what_an_older_one_gave_out() -> None:
    older = Store(version=first_version(1000.5))
    furnish(older, 1000.5)
    newer = Store(version=first_version(1100.0))
    assert newer.version > older.version


@pytest.mark.parametrize("size", [300, 1024, 5000])
def test_filling_makes_so_many_objects_of_about_that_size(size: int) -> None:
    cluster = Cluster()
    fill(cluster.store, 3, size, cluster.clock())
    sizes = [len(entry.encoded) for entry in cluster.store.scan(CONFIG_MAPS)]
    assert len(sizes) == 3
    assert all(abs(found - size) <= 16 for found in sizes)


def test_nobody_has_the_same_address_or_subject() -> None:
    everybody = [*PEOPLE, *crowd(3)]
    assert len({person.email for person in everybody}) == len({person.subject for person in everybody}) == 5
