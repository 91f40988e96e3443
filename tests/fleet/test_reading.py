"""Fleet reads over scripted API servers: what is asked, in which order it is given, and what fails how."""

import asyncio
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.admission.estimates import GUESS
from foyer.exchange.ports import Answer
from foyer.fleet.oldest import cost
from foyer.fleet.reading import Read, Reading
from foyer.interruption import Reason
from foyer.protocol.events import Failure
from foyer.session.seal import IdToken
from tests.fleet.fleets import JSON, PATH, TOKEN, Fleet, Gates, Note, Server, listed, note, refused
from tests.support.allocations import allocations

# What is asked.


def test_every_target_is_asked_for_the_path_with_the_users_token_and_what_was_selected() -> None:
    fleet = Fleet(eu=Server([note("one")]), us=Server(authority=b"us.test"))
    fleet.list(urlencode({"labelSelector": "a=b", "fieldSelector": "c=d", "limit": 1}))
    for server in fleet.servers.values():
        [head] = server.asked[1:]  # behind the look that measures
        assert head.target == PATH + b"?limit=500&labelSelector=a%3Db&fieldSelector=c%3Dd"
        assert head.all(b"authorization") == [b"Bearer " + TOKEN]
        assert head.all(b"accept") == [b"application/json"]


def test_only_the_targets_that_were_named_are_asked() -> None:
    fleet = Fleet(eu=Server([note("one")]), us=Server([note("two")]))
    found = fleet.list("targets=us")
    assert (found.names, list(found.targets)) == (["us/two"], ["us"])
    assert fleet.servers["eu"].asked == []


def test_a_request_is_never_made_without_a_token() -> None:
    fleet = Fleet(eu=Server())
    with pytest.raises(AssertionError):
        Reading(fleet.common, fleet.servers, fleet.asked(), PATH, IdToken(b""), 1.0)


def test_a_list_is_read_page_by_page_each_within_what_is_left_of_the_one_deadline() -> None:
    clock = iter(range(100))
    server = Server([note(f"n{number}") for number in range(5)], page=2)
    fleet = Fleet(eu=server, now=lambda: float(next(clock)))
    assert len(fleet.list().items) == 5
    assert [head.target.partition(b"&")[2] for head in server.asked[1:]] == [
        b"",
        b"continue=2",
        b"continue=4",
    ]
    assert server.timeouts == [29.0, 28.0, 27.0, 26.0]


def test_every_target_is_asked_before_the_first_has_answered() -> None:
    asked: list[str] = []

    class Waits(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            asked.append(self.authority.decode())
            await everybody.wait()  # until there are three who do
            return Answer(200, JSON, listed([]))

    everybody = asyncio.Barrier(3)
    fleet = Fleet(a=Waits(authority=b"a"), b=Waits(authority=b"b"), c=Waits(authority=b"c"))
    assert list(fleet.list().targets) == ["a", "b", "c"]
    assert sorted(asked) == ["a", "a", "b", "b", "c", "c"]


# In which order it is given.

LETTERS = st.text("ab", min_size=1, max_size=2)
NOTES = st.lists(
    st.builds(note, LETTERS, st.sampled_from(["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]), LETTERS),
    unique_by=lambda item: (item["metadata"]["namespace"], item["metadata"]["name"]),  # type: ignore[index]
    max_size=12,
)


def in_order(**notes: list[Note]) -> list[dict[str, object]]:
    """All of them by age, target, namespace and name, each complete."""
    items: list[dict[str, object]] = [
        {"target": target, "object": {"kind": "Note", "apiVersion": "notes.example.com/v1", **item}}
        for target, listed_there in notes.items()
        for item in listed_there
    ]

    def place(item: dict[str, object]) -> tuple[object, ...]:
        metadata = item["object"]["metadata"]  # type: ignore[index]
        return metadata["creationTimestamp"], item["target"], metadata["namespace"], metadata["name"]

    return sorted(items, key=place)


@given(NOTES, NOTES, st.integers(1, 5))
def test_the_list_is_everything_in_order_and_each_item_is_complete(
    eu: list[Note], us: list[Note], page: int
) -> None:
    found = Fleet(us=Server(us, page), eu=Server(eu, page)).list()
    assert found.items == in_order(eu=eu, us=us)
    assert (found.complete, found.after, found.truncated) == (True, None, False)
    assert found.targets == {
        "us": {"name": "us", "outcome": "ok", "status": 200, "items": len(us)},
        "eu": {"name": "eu", "outcome": "ok", "status": 200, "items": len(eu)},
    }
    assert list(found.targets) == ["us", "eu"]
    assert {key: found.document[key] for key in ("kind", "apiVersion")} == {
        "kind": "FleetList",
        "apiVersion": "foyer/v1",
    }


@given(NOTES, NOTES, st.integers(1, 5), st.integers(1, 7), st.integers(1, 7))
def test_a_walk_gives_each_item_once_and_in_order(
    eu: list[Note], us: list[Note], page: int, limit: int, most: int
) -> None:
    fleet = Fleet(most=most, us=Server(us, page), eu=Server(eu, page))
    found = fleet.list(f"limit={limit}")
    walked = list(found.items)
    while found.after is not None:
        assert len(found.items) == min(limit, most)
        found = fleet.list(urlencode({"limit": limit, "continue": found.after}))
        walked += found.items
    assert walked == in_order(eu=eu, us=us)


def test_what_goes_on_is_a_position_so_a_deleted_item_and_a_new_one_are_no_trouble() -> None:
    notes = [note(name, f"2026-01-0{day}T00:00:00Z") for day, name in enumerate("abcd", 1)]
    server = Server(notes[:3])
    fleet = Fleet(eu=server)
    first = fleet.list("limit=2")
    server.notes = [notes[0], notes[2], notes[3]]
    second = fleet.list(urlencode({"limit": 2, "continue": first.after}))
    assert first.names + second.names == ["eu/a", "eu/b", "eu/c", "eu/d"]


def test_a_limit_is_no_truncation() -> None:
    found = Fleet(eu=Server([note("a"), note("b")])).list("limit=1")
    assert (found.names, found.complete, found.truncated) == (["eu/a"], True, False)
    assert found.after is not None
    exact = Fleet(eu=Server([note("a")])).list("limit=1")
    assert exact.after is None


# Truncation.


@pytest.mark.parametrize("query", ["", "limit=4"])
def test_more_items_than_a_fleet_list_may_have_are_cut_to_the_oldest_and_the_answer_says_so(
    query: str,
) -> None:
    notes = [note(name, f"2026-01-0{day}T00:00:00Z") for day, name in enumerate("dcba", 1)]
    found = Fleet(most=3, eu=Server(notes)).list(query)
    assert found.names == ["eu/d", "eu/c", "eu/b"]
    assert (found.complete, found.truncated) == (False, True)
    assert found.after is not None


def test_as_many_items_as_it_may_have_are_whole() -> None:
    found = Fleet(most=2, eu=Server([note("a"), note("b")])).list()
    assert (found.complete, found.truncated, found.after) == (True, False, None)


def test_more_than_the_pool_holds_is_cut_to_the_oldest_that_fit_and_a_walk_still_has_everything() -> None:
    notes = [note(f"n{number}", f"2026-01-{31 - number}T00:00:00Z", text="x" * 1000) for number in range(9)]
    gates = Gates(pool=4 * cost(1200))
    fleet = Fleet(gates=gates, eu=Server(notes, page=2))
    found = fleet.list()
    assert (found.complete, found.truncated) == (False, True)
    walked = list(found.items)
    while found.after is not None:
        assert found.truncated and 1 <= len(found.items) <= 5
        found = fleet.list(urlencode({"continue": found.after}))
        walked += found.items
    assert walked == in_order(eu=notes)
    assert gates.reserved == 0


def test_one_object_that_needs_more_than_the_pool_is_too_large_when_it_is_the_oldest() -> None:
    large = note("large", "2025-01-01T00:00:00Z", text="x" * 10_000)
    fleet = Fleet(gates=Gates(pool=10_000), eu=Server([note("small"), large]))
    found = fleet.refusal()
    assert (found.reason, found.reason.status) == (Reason.READ_TOO_LARGE, 422)
    assert "Narrow" in found.message and "-memory-pool" in found.message
    assert fleet.refusals["too-large"] == 1


def test_before_an_object_that_needs_more_than_the_pool_the_list_is_cut() -> None:
    large = note("large", "2027-01-01T00:00:00Z", text="x" * 10_000)
    fleet = Fleet(gates=Gates(pool=10_000), eu=Server([note("small"), large]))
    found = fleet.list()
    assert (found.names, found.truncated) == (["eu/small"], True)
    assert fleet.refusal(urlencode({"continue": found.after})).reason is Reason.READ_TOO_LARGE


def test_with_no_memory_left_for_one_object_a_read_may_come_back_later() -> None:
    gates = Gates(pool=10_000)
    gates.reserved = 10_000
    fleet = Fleet(gates=gates, eu=Server([note("one")]))
    found = fleet.refusal()
    assert (found.reason, found.retry_after, found.limit) == (Reason.ADMISSION_TIMED_OUT, 3, "memory")
    assert fleet.refusals == {"concurrency": 0, "memory": 1, "too-large": 0}


# What fails how.


def test_any_time_out_is_a_504_with_one_cause_per_failed_target() -> None:
    found = Fleet(
        eu=Server([note("one")]),
        us=Server(replies={1: Failure.TIMEOUT}),
        asia=Server(replies={1: refused(403, "no")}),
    ).refusal()
    assert (found.reason, found.reason.status) == (Reason.TARGET_TIMEOUT, 504)
    assert [(cause.reason, cause.field) for cause in found.causes] == [
        ("time-out", "us"),
        ("node-error", "asia"),
    ]


def test_an_error_alone_is_a_424() -> None:
    found = Fleet(eu=Server([note("one")]), us=Server(replies={1: refused(403, "no")})).refusal()
    assert (found.reason, found.reason.status) == (Reason.TARGET_ERROR, 424)
    assert [(cause.field, cause.message) for cause in found.causes] == [("us", "it answered 403: no")]


@pytest.mark.parametrize(
    ("reply", "outcome", "status"),
    [
        (Failure.TIMEOUT, "time-out", None),
        (Failure.TARGET_FULL, "time-out", None),
        (Failure.TOO_LARGE, "node-error", None),
        (Failure.CONNECTION, "node-error", None),
        (refused(401, "Unauthorized"), "node-error", 401),
        (refused(403, "forbidden"), "node-error", 403),
        (refused(410, "the provided continue parameter is too old"), "node-error", 410),
        (Answer(200, JSON, listed([7])), "node-error", 200),
        (Answer(200, JSON, b"{}"), "node-error", 200),
    ],
)
@pytest.mark.parametrize("at", [1, 2], ids=["first page", "later page"])
def test_partial_gives_the_others_items_and_says_why_without_the_rest(
    reply: Answer | Failure, outcome: str, status: int | None, at: int
) -> None:
    failing = Server([note(name) for name in "abcd"], page=2, replies={at: reply})
    found = Fleet(eu=Server([note("one")]), us=failing).list("partial=true")
    assert (found.names, found.complete, found.truncated) == (["eu/one"], False, False)
    told = found.targets["us"]
    assert (told["outcome"], told.get("status"), told["items"]) == (outcome, status, 0)
    assert told["error"]
    assert found.targets["eu"] == {"name": "eu", "outcome": "ok", "status": 200, "items": 1}


def test_partial_of_nothing_is_an_empty_list_that_is_not_complete() -> None:
    found = Fleet(eu=Server(replies={1: Failure.TLS})).list("partial=true")
    assert (found.items, found.complete) == ([], False)


def test_a_walk_goes_on_past_what_a_target_had_that_failed_after_all() -> None:
    old = [note(name, "2025-01-01T00:00:00Z") for name in "abcd"]
    us = Server(old, page=2, replies={2: Failure.RESET})
    fleet = Fleet(eu=Server([note("one"), note("two")]), us=us)
    first = fleet.list("limit=2&partial=true")
    assert (first.names, first.complete) == ([], False)
    assert first.after is not None
    us.replies = dict.fromkeys(range(100), refused(503, ""))
    second = fleet.list(urlencode({"limit": 2, "partial": "true", "continue": first.after}))
    assert (second.names, second.after) == (["eu/one", "eu/two"], None)


def test_a_deadline_that_has_passed_asks_nothing_more() -> None:
    times = iter([0.0, 0.0, 1.0, 31.0, 32.0])
    server = Server([note(name) for name in "abc"], page=2)
    found = Fleet(eu=server, now=lambda: next(times)).refusal()
    assert found.reason is Reason.TARGET_TIMEOUT
    assert len(server.asked) == 2


# Being let in.


def test_a_read_holds_a_place_at_each_target_and_memory_until_it_has_been_delivered() -> None:
    gates = Gates()
    found = Fleet(gates=gates, eu=Server([note("one")]), us=Server([note("two")])).read()
    assert isinstance(found, Read)
    assert (gates.places, gates.reserved) == (2, found_cost(found))
    found.held.close()
    assert (gates.places, gates.reserved) == (0, 0)


def found_cost(found: Read) -> int:
    return sum(cost(len(entry.text)) for entry in found.list.entries)


@pytest.mark.parametrize("reply", [Failure.RESET, Failure.TIMEOUT, refused(403, "")])
def test_a_read_that_fails_gives_all_of_it_back(reply: Answer | Failure) -> None:
    gates = Gates()
    Fleet(gates=gates, eu=Server(replies={1: reply}), us=Server([note("one")])).refusal()
    assert (gates.places, gates.reserved) == (0, 0)


def test_a_read_that_is_cancelled_gives_up_what_it_asks_and_gives_all_of_it_back() -> None:
    given_up: list[bytes] = []

    class Never(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            self.asked.append(args[0])  # type: ignore[arg-type]
            if len(self.asked) == 1:
                return Answer(200, JSON, listed([]))
            waiting.release()
            try:
                return await asyncio.Future()
            finally:
                given_up.append(self.authority)

    gates, waiting = Gates(), asyncio.Semaphore(0)
    fleet = Fleet(gates=gates, eu=Never(authority=b"eu"), us=Never(authority=b"us"), asia=Server([note("a")]))

    async def cancelled() -> None:
        task = asyncio.create_task(fleet.reading().read())
        for _ in range(2):
            await waiting.acquire()
        assert gates.places == 3
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert sorted(given_up) == [b"eu", b"us"]
    assert (gates.places, gates.reserved) == (0, 0)


@pytest.mark.parametrize("query", ["", "partial=true"])
def test_memory_that_is_not_granted_in_time_is_a_503(query: str) -> None:
    found = Fleet(gates=Gates(full=True), eu=Server(), us=Server()).refusal(query)
    assert (found.reason, found.reason.status) == (Reason.ADMISSION_TIMED_OUT, 503)
    assert (found.retry_after, found.limit) == (3, "memory")


def test_a_target_whose_gate_lets_nothing_in_is_a_503_of_all_or_nothing() -> None:
    fleet = Fleet(gates=Gates(shut=frozenset({"us"})), eu=Server(), us=Server())
    found = fleet.refusal()
    assert (found.reason, found.retry_after, found.limit) == (Reason.ADMISSION_TIMED_OUT, 3, "concurrency")
    assert [server.asked for server in fleet.servers.values()] == [[], []]


def test_for_part_of_it_the_others_are_read_and_that_target_is_said_to_be_full() -> None:
    gates = Gates(shut=frozenset({"us"}))
    fleet = Fleet(gates=gates, eu=Server([note("one")]), us=Server())
    found = fleet.list("partial=true")
    assert (found.names, found.complete) == (["eu/one"], False)
    assert found.targets["us"]["outcome"] == "time-out"
    assert "nothing was sent" in str(found.targets["us"]["error"])
    assert fleet.servers["us"].asked == []


def test_when_no_gate_lets_anything_in_part_of_it_is_a_503_as_well() -> None:
    found = Fleet(gates=Gates(shut=frozenset({"eu"})), eu=Server()).refusal("partial=true")
    assert found.reason is Reason.ADMISSION_TIMED_OUT


# How much it needs.


@settings(max_examples=20)
@given(st.integers(0, 30), st.integers(1, 1000))
def test_a_look_at_the_first_item_measures_a_list_of_equal_ones_to_within_its_separators(
    count: int, size: int
) -> None:
    gates = Gates()
    notes = [note(f"n{number:03}", text="x" * size) for number in range(count)]
    fleet = Fleet(gates=gates, eu=Server(notes, page=7), us=Server(notes[:1]))
    fleet.list()
    [measured], [taken] = gates.measured, gates.taken.values()
    assert measured is not None
    # A listed item lacks what it is completed with, and what is taken is of complete ones.
    assert measured <= taken <= measured + (count + 1) * 100


def test_no_more_is_measured_than_a_list_may_have() -> None:
    notes = [note(f"n{number:03}") for number in range(100)]
    for query, most in (("", 30), ("limit=7", 7)):
        gates = Gates()
        Fleet(gates=gates, most=30, eu=Server(notes)).list(query)
        [measured] = gates.measured
        assert measured is not None
        assert most * cost(60) < measured < most * cost(400)


def test_what_was_reserved_too_much_is_given_back_when_the_list_has_been_read() -> None:
    gates = Gates(first=10**9)
    found = Fleet(gates=gates, eu=Server([note("one")])).read()
    assert isinstance(found, Read)
    assert [gates.reserved] == list(gates.taken.values())
    found.held.close()
    assert gates.reserved == 0


def test_a_list_that_does_not_say_how_long_it_is_is_not_measured() -> None:
    gates = Gates()
    unsaid = Answer(200, JSON, listed([note("one")], **{"continue": "2"}))
    Fleet(gates=gates, eu=Server(replies={0: unsaid})).list()
    assert gates.measured == [None]
    Fleet(gates=gates, eu=Server(replies={0: unsaid}), us=Server()).list()
    assert gates.measured == [None, GUESS]


def test_a_target_that_is_slow_to_be_looked_at_does_not_keep_the_others_from_being_read() -> None:
    class Slow(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            return await asyncio.Future()

    class Quick(Server):
        async def ask(self, *args: Any, **kwargs: Any) -> Answer:
            if self.asked:
                listed_there.set()
            return await super().ask(*args, **kwargs)

    gates, listed_there = Gates(), asyncio.Event()
    fleet = Fleet(gates=gates, eu=Slow(), us=Quick([note("one")]))

    async def reading() -> None:
        task = asyncio.create_task(fleet.reading("partial=true", seconds=0.1).read())
        await listed_there.wait()
        task.cancel()

    asyncio.run(reading())
    assert gates.measured[0] is not None and gates.measured[0] > GUESS


def test_a_target_that_fails_when_it_is_measured_is_asked_all_the_same() -> None:
    gates = Gates()
    fleet = Fleet(gates=gates, eu=Server([note("one")], replies={0: Failure.RESET}))
    assert fleet.list().names == ["eu/one"]
    assert gates.measured == [0]


def test_a_read_of_another_list_is_another_scope() -> None:
    gates = Gates()
    fleet = Fleet(gates=gates, eu=Server([note("one")]), us=Server())
    for query in ("", "limit=1", "targets=eu", "labelSelector=a", "fieldSelector=a", "partial=true"):
        fleet.list(query)
    assert len(gates.taken) == 5  # what is left out when it fails takes nothing


def test_what_is_left_of_a_list_without_a_target_that_failed_says_nothing_of_it() -> None:
    gates = Gates()
    fleet = Fleet(gates=gates, eu=Server([note("one")]), us=Server(replies={1: Failure.RESET}))
    assert fleet.list("partial=true").names == ["eu/one"]
    assert gates.taken == {}


def test_what_was_left_behind_a_place_says_nothing_of_the_whole_list() -> None:
    gates = Gates()
    fleet = Fleet(gates=gates, eu=Server([note(f"n{number}") for number in range(9)]))
    whole = fleet.list("limit=5")
    [(scope, taken)] = gates.taken.items()
    fleet.list(urlencode({"limit": 5, "continue": whole.after}))
    assert gates.taken[scope] == taken


@pytest.mark.parametrize(("count", "size", "page"), [(500, 300, 500), (500, 4000, 500), (2000, 1000, 250)])
def test_a_list_needs_no_more_memory_than_is_reserved_for_it(count: int, size: int, page: int) -> None:
    """With a tenth for what every read needs, and what the scripted server keeps aside."""
    notes = [note(f"n{number:05}", text="x" * size) for number in range(count)]
    server = Server(notes, page)
    tokens = range(0, count, page)
    pages = [server._list(PATH + b"?limit=%d&continue=%d" % (page, at)).content for at in tokens]

    class Prepared(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            self.asked.append(args[0])  # type: ignore[arg-type]
            content = pages[max(0, len(self.asked) - 2)]
            # As it comes: in pieces that are joined.
            return Answer(
                200, JSON, b"".join([content[at : at + 16384] for at in range(0, len(content), 16384)])
            )

    gates = Gates()
    fleet = Fleet(gates=gates, eu=Prepared())
    with allocations() as made:
        found = fleet.read()
    assert isinstance(found, Read)
    assert len(found.list.entries) == count
    assert made.most < 1.1 * gates.reserved
    found.held.close()


def test_a_server_that_sends_more_than_it_was_asked_for_has_what_it_sends_and_takes_no_more() -> None:
    """It is asked for one item and for 500, and sends all it has."""
    many, most = 20_000, 50
    items = b",".join([b'{"metadata":{"name":"n%05d"}}' % number for number in range(many)])
    content = b'{"kind":"NoteList","apiVersion":"notes.example.com/v1","metadata":{},"items":[%b]}' % items

    class Generous(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            return Answer(200, JSON, content)

    gates = Gates()
    fleet = Fleet(gates=gates, most=most, eu=Generous())
    with allocations() as made:
        found = fleet.read()
    assert isinstance(found, Read)
    assert [entry.position.name for entry in found.list.entries] == [
        f"n{number:05}" for number in range(most)
    ]
    assert found.list.truncated
    assert gates.measured == [cost(len(b'{"metadata":{"name":"n00000"}}'), most)]
    assert made.most < len(content) / 4
    found.held.close()


def test_others_have_their_turns_while_a_large_page_is_read() -> None:
    turns = 0

    async def counting() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def turns_of(server: Server) -> int:
        nonlocal turns
        turns = 0
        others = asyncio.create_task(counting())
        found = await Fleet(eu=server).reading().read()
        others.cancel()
        assert isinstance(found, Read)
        return turns

    small, large = note("one"), [note(f"n{number}", text="x" * 100_000) for number in range(9)]
    assert asyncio.run(turns_of(Server(large))) >= asyncio.run(turns_of(Server([small]))) + 3


def test_a_fault_of_foyers_own_is_told_as_itself_and_gives_everything_back() -> None:
    class Broken(Server):
        async def ask(self, *args: object, **kwargs: object) -> Answer:
            raise ZeroDivisionError

    gates = Gates()
    with pytest.raises(ZeroDivisionError):
        Fleet(gates=gates, eu=Broken(), us=Server([note("one")])).read()
    assert (gates.places, gates.reserved) == (0, 0)
